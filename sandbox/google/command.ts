import type { SandboxCommand } from '../kit/command.ts';
import { startGoogleSandbox } from './index.ts';

/** How `npm run sandbox -- google` starts it. */
export const command: SandboxCommand = {
  options: {
    port: { about: 'port on 127.0.0.1; 0 takes a free one', default: 4610 },
    account: { about: 'email address of the existing account', default: 'doctor@clinic.example' },
  },
  start: async (given) => {
    const sandbox = await startGoogleSandbox({ port: given.number('port') });
    const account = given.text('account');
    const accessToken = sandbox.issueAccessToken(account);
    const { clientId, clientSecret } = sandbox.client;
    return {
      facts: {
        calendarApi: `${sandbox.calendarApiUrl}/calendar/v3`,
        issuer: sandbox.issuer,
        clientId,
        clientSecret,
        account,
        accessToken,
      },
      example: {
        url: `${sandbox.calendarApiUrl}/calendar/v3/users/me/calendarList`,
        headers: { authorization: `Bearer ${accessToken}` },
      },
      adminUrl: sandbox.url,
      close: sandbox.close,
    };
  },
};
