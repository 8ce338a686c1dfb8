import type { SandboxCommand } from '../kit/command.ts';
import { startSalesforceSandbox } from './index.ts';

/** Options of `npm run sandbox -- salesforce`. */
export const command: SandboxCommand = {
  options: {
    port: { about: 'port on 127.0.0.1; 0 takes a free one', default: 4650 },
    'person-accounts': { about: 'patients as accounts of one person', default: false },
  },
  start: async (given) => {
    const personAccounts = given.flag('person-accounts');
    const sandbox = await startSalesforceSandbox({ port: given.number('port'), personAccounts });
    const accessToken = sandbox.issueAccessToken();
    const { clientId, clientSecret = '' } = sandbox.application;
    const api = `${sandbox.url}/services/data/${sandbox.apiVersion}`;
    return {
      facts: {
        api,
        authorizeUrl: sandbox.authorizeUrl,
        tokenUrl: sandbox.tokenUrl,
        clientId,
        clientSecret,
        accessToken,
      },
      example: { url: `${api}/limits`, headers: { authorization: `Bearer ${accessToken}` } },
      adminUrl: sandbox.url,
      close: sandbox.close,
    };
  },
};
