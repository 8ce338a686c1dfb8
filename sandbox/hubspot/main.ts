import { parseArgs } from 'node:util';
import { startHubSpotSandbox } from './index.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '4640' } } });

const sandbox = await startHubSpotSandbox({ port: Number(values.port) });
process.stdout.write(`HubSpot: ${sandbox.apiUrl}
Private app: ${sandbox.issuePrivateToken()}
App: ${sandbox.application.clientId} / ${sandbox.application.clientSecret}
Install: ${sandbox.authorizeUrl}
Tokens: ${sandbox.tokenUrl}
Faults, counts, recording and more: ${sandbox.url}/__sandbox/ (see README.md)
`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void sandbox.close();
  });
}
