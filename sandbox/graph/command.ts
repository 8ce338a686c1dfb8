import type { SandboxCommand } from '../kit/command.ts';
import { startGraphSandbox } from './index.ts';

/** How `npm run sandbox -- graph` starts it. */
export const command: SandboxCommand = {
  options: {
    port: { about: 'port on 127.0.0.1; 0 takes a free one', default: 4620 },
    mailbox: { about: 'email address of the existing mailbox', default: 'doctor@clinic.example' },
  },
  start: async (given) => {
    const sandbox = await startGraphSandbox({ port: given.number('port') });
    const mailbox = given.text('mailbox');
    sandbox.addMailbox(mailbox);
    const accessToken = sandbox.issueAccessToken(mailbox);
    const { clientId, clientSecret = '' } = sandbox.application;
    return {
      facts: {
        graphApi: `${sandbox.graphUrl}/v1.0`,
        issuer: sandbox.issuer,
        tenantId: sandbox.tenantId,
        clientId,
        clientSecret,
        mailbox,
        accessToken,
      },
      example: {
        url: `${sandbox.graphUrl}/v1.0/me/calendars`,
        headers: { authorization: `Bearer ${accessToken}` },
      },
      adminUrl: sandbox.url,
      close: sandbox.close,
    };
  },
};
