import { parseArgs } from 'node:util';
import { startGraphSandbox } from './index.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4620' }, mailbox: { type: 'string', default: 'doctor@clinic.example' } },
});

const sandbox = await startGraphSandbox({ port: Number(values.port) });
sandbox.addMailbox(values.mailbox);
process.stdout.write(`Graph: ${sandbox.graphUrl}/v1.0
Issuer: ${sandbox.issuer}
Application: ${sandbox.application.clientId} / ${sandbox.application.clientSecret}
Mailbox: ${values.mailbox}
Faults, counts, recording and more: ${sandbox.url}/__sandbox/ (see README.md)
`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void sandbox.close();
  });
}
