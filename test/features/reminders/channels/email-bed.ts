import PostalMime from 'postal-mime';
import { type MailSandbox, type MailSandboxOptions, startMailSandbox } from '../../../../sandbox/mail/index.ts';
import { email } from '../../../../src/features/reminders/channels/email/index.ts';
import type { ChannelBed } from './bed.ts';

const LOGIN = { user: 'reminders', password: 'correct horse battery' };

/** A mail channel and the server before it. */
export async function openEmailBed(
  options: MailSandboxOptions = { login: LOGIN },
): Promise<ChannelBed & { server: MailSandbox }> {
  const server = await startMailSandbox(options);
  const { faults } = server;
  const once = (method: string, fault: Parameters<typeof faults.add>[0]['fault']) => () =>
    void faults.add({ times: 1, match: { method }, fault });
  const settings = {
    host: server.host,
    port: server.port,
    security: options.security ?? 'starttls',
    ...(options.login === undefined ? {} : { login: { user: options.login.user, password: { env: 'SMTP_PASSWORD' } } }),
    certificateAuthority: server.certificate,
    from: 'reminders@clinic.example',
  };
  return {
    module: email,
    server,
    settings,
    env: { SMTP_PASSWORD: LOGIN.password },
    wrongLogin: { settings, env: { SMTP_PASSWORD: 'wrong horse' } },
    async arrived() {
      const mails = await Promise.all(server.mails().map(({ raw }) => PostalMime.parse(raw)));
      return mails.map(({ messageId, text }) => ({ id: messageId?.slice(1, 33) ?? null, text: text ?? '' }));
    },
    addresses: () => [],
    spoil: {
      lostAnswer: once('DATA', { kind: 'lost-answer' }),
      refuseForGood: once('RCPT', { kind: 'reply', code: 550 }),
      throttle: once('RCPT', { kind: 'reply', code: 451 }),
      cutBefore: once('CONNECT', { kind: 'cut' }),
      garbage: once('DATA', { kind: 'garbage' }),
      stall: once('DATA', { kind: 'latency', ms: 1_500 }),
      breakDown: once('MAIL', { kind: 'reply', code: 421 }),
    },
    close: () => server.close(),
  };
}
