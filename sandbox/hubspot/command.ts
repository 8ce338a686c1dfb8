import type { SandboxCommand } from '../kit/command.ts';
import { startHubSpotSandbox } from './index.ts';

/** How `npm run sandbox -- hubspot` starts it. */
export const command: SandboxCommand = {
  options: { port: { about: 'port on 127.0.0.1; 0 takes a free one', default: 4640 } },
  start: async (given) => {
    const sandbox = await startHubSpotSandbox({ port: given.number('port') });
    const privateAppToken = sandbox.issuePrivateToken();
    const { clientId, clientSecret } = sandbox.application;
    return {
      facts: {
        api: sandbox.apiUrl,
        authorizeUrl: sandbox.authorizeUrl,
        tokenUrl: sandbox.tokenUrl,
        clientId,
        clientSecret,
        privateAppToken,
      },
      example: {
        url: `${sandbox.apiUrl}/crm/v3/objects/contacts`,
        headers: { authorization: `Bearer ${privateAppToken}` },
      },
      adminUrl: sandbox.url,
      close: sandbox.close,
    };
  },
};
