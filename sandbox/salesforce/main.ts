import { parseArgs } from 'node:util';
import { startSalesforceSandbox } from './index.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4650' }, 'person-accounts': { type: 'boolean', default: false } },
});

const sandbox = await startSalesforceSandbox({
  port: Number(values.port),
  personAccounts: values['person-accounts'],
});
process.stdout.write(`Salesforce: ${sandbox.url}/services/data/${sandbox.apiVersion}
Login: ${sandbox.loginUrl}
Application: ${sandbox.application.clientId} / ${sandbox.application.clientSecret}
Faults, counts, recording and more: ${sandbox.url}/__sandbox/ (see README.md)
`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void sandbox.close();
  });
}
