import { parseArgs } from 'node:util';
import { DIALECT_NAMES, startRestCrmSandbox } from './index.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4660' }, dialect: { type: 'string', default: 'espocrm' } },
});
const dialect = DIALECT_NAMES.find((name) => name === values.dialect);
if (dialect === undefined) throw new TypeError(`choose a dialect: ${DIALECT_NAMES.join(', ')}`);

const sandbox = await startRestCrmSandbox({ dialect, port: Number(values.port) });
process.stdout.write(`${dialect}: ${sandbox.apiUrl}
Key: ${sandbox.token}
Faults, counts, recording: ${sandbox.url}/__sandbox/ (see README.md)
`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void sandbox.close();
  });
}
