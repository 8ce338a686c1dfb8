import type { SandboxCommand } from '../kit/command.ts';
import { DIALECT_NAMES, startRestCrmSandbox } from './index.ts';

/** Options and start of `npm run sandbox -- rest-crm`. */
export const command: SandboxCommand = {
  options: {
    port: { about: 'port on 127.0.0.1; 0 takes a free one', default: 4660 },
    dialect: { about: 'which CRM it speaks as', default: 'espocrm', choices: DIALECT_NAMES },
  },
  start: async (given) => {
    const dialect = given.choice('dialect', DIALECT_NAMES);
    const sandbox = await startRestCrmSandbox({ dialect, port: given.number('port') });
    const { apiUrl, login, example } = sandbox;
    const body = example.body === undefined ? {} : { body: JSON.stringify(example.body) };
    const json = example.body === undefined ? {} : { 'content-type': 'application/json' };
    return {
      facts: { dialect, api: apiUrl, header: `${login.header}: ${login.value}` },
      example: { url: `${apiUrl}${example.path}`, headers: { [login.header]: login.value, ...json }, ...body },
      adminUrl: sandbox.url,
      close: sandbox.close,
    };
  },
};
