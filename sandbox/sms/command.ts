import type { SandboxCommand } from '../kit/command.ts';
import { startSmsSandbox } from './index.ts';

/** How `npm run sandbox -- sms` starts it. */
export const command: SandboxCommand = {
  options: { port: { about: 'port on 127.0.0.1; 0 takes a free one', default: 4670 } },
  start: async (given) => {
    const sandbox = await startSmsSandbox({ port: given.number('port') });
    const { url, accountSid, authToken, messagingServiceSid, from } = sandbox;
    const login = Buffer.from(`${accountSid}:${authToken}`).toString('base64');
    const messages = `${url}/2010-04-01/Accounts/${accountSid}/Messages.json`;
    return {
      facts: { api: url, accountSid, authToken, messagingServiceSid, from, phones: `${url}/__sandbox/messages` },
      example: {
        url: messages,
        headers: { authorization: `Basic ${login}` },
        body: new URLSearchParams({
          To: '+393331234567',
          From: from,
          Body: 'Your appointment is tomorrow.',
        }).toString(),
      },
      adminUrl: url,
      close: sandbox.close,
    };
  },
};
