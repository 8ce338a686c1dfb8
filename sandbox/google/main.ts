import { parseArgs } from 'node:util';
import { startGoogleSandbox } from './index.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4610' }, account: { type: 'string', default: 'doctor@clinic.example' } },
});

const sandbox = await startGoogleSandbox({ port: Number(values.port) });
sandbox.addAccount(values.account);
process.stdout.write(`Calendar API and OAuth: ${sandbox.url}
OAuth client: ${sandbox.client.clientId} / ${sandbox.client.clientSecret}
Account: ${values.account}
Faults, counts, recording and more: ${sandbox.url}/__sandbox/ (see README.md)
`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void sandbox.close();
  });
}
