import { lookup } from 'node:dns';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type MailSandboxOptions, startMailSandbox } from '../../../sandbox/mail/index.ts';
import { handOver } from '../../../src/core/mail/smtp.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { MailServer } from '../../../src/settings/delivery-schema.ts';
import { Secret } from '../../../src/settings/secret-reference.ts';

const ADDRESS = 'zenobia@patient.example';
const LOGIN = { user: 'mirror', password: 'correct horse' };

async function openServer(options: MailSandboxOptions = { login: LOGIN }) {
  const server = await startMailSandbox(options);
  onTestFinished(() => server.close());
  const settings: MailServer = {
    ...{
      host: server.host,
      port: server.port,
      security: 'starttls',
      from: 'reminders@clinic.example',
      timeoutSeconds: 5,
    },
    certificateAuthority: new Secret(server.certificate),
    login: { user: LOGIN.user, password: new Secret(LOGIN.password) },
  };
  const mail = { to: [ADDRESS], message: Buffer.from('Subject: x\r\n\r\ntext\r\n') };
  const send = (changes: Partial<MailServer> = {}, signal = new AbortController().signal, find = lookup) =>
    handOver({ ...settings, ...changes }, mail, find as never, signal);
  return { server, send };
}

describe('a mail', () => {
  test('is delivered after authentication, under a name that does not identify the host', async () => {
    const { server, send } = await openServer();
    expect(await send()).toEqual({ done: true });
    expect(server.mails()).toHaveLength(1);
  });

  test.each([
    ['CONNECT', 554, false],
    ['AUTH', 535, false],
    ['MAIL', 550, false],
    ['RCPT', 451, false],
    ['DATA', 554, true],
  ])(
    'that is refused at %s with %i reports the reply, and whether the mail was partly sent',
    async (method, code, handedOver) => {
      const { server, send } = await openServer();
      server.faults.add({ match: { method }, fault: { kind: 'reply', code } });
      expect(await send()).toMatchObject({ done: false, handedOver, failure: { reply: code } });
    },
  );

  test('whose answer was lost was partly sent, and no failure contains the recipient', async () => {
    const { server, send } = await openServer();
    server.faults.add({ match: { method: 'DATA' }, fault: { kind: 'lost-answer' } });
    const result = await send();
    expect(result).toMatchObject({ done: false, handedOver: true, failure: { reply: null } });
    expect(JSON.stringify(result)).not.toContain(ADDRESS);
  });

  test('is not sent in clear where encryption is required and the server offers none', async () => {
    const { server, send } = await openServer({ security: 'none' });
    expect(await send()).toMatchObject({ done: false, handedOver: false });
    expect(server.counts.value('MAIL')).toBe(0);
  });

  test('is abandoned when the signal aborts, and a refused server address is thrown: nothing was sent', async () => {
    const { server, send } = await openServer();
    expect(await send({}, AbortSignal.abort())).toMatchObject({ done: false, handedOver: false });
    const refused = new MirrorError('x', { actor: 'settings', code: 'address-refused', retry: 'never' });
    const find = ((_host: string, _options: object, done: (error: Error) => void) => done(refused)) as never;
    await expect(send({ host: 'mail.clinic.example' }, new AbortController().signal, find)).rejects.toBe(refused);
    expect(server.counts.value('MAIL')).toBe(0);
  });

  test('to a closed port fails at the connection', async () => {
    const { server, send } = await openServer();
    await server.close();
    expect(await send()).toMatchObject({ done: false, handedOver: false, failure: { reply: null, command: 'CONN' } });
  });
});
