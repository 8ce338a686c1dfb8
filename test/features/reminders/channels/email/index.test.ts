import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { MailSandboxOptions } from '../../../../../sandbox/mail/index.ts';
import { attempt, errorOf, openChannel, openEmailBed, PATIENT, reminderOf } from '../bed.ts';

const beds: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

async function open(options?: MailSandboxOptions) {
  const bed = await openEmailBed(options);
  beds.push(bed);
  return bed;
}

describe('the state of the mail server', () => {
  test.each([
    ['CONNECT', 421, 'failed'],
    ['CONNECT', 554, 'failed'],
    ['MAIL', 421, 'failed'],
    ['RCPT', 421, 'answered'],
    ['RCPT', 451, 'answered'],
    ['DATA', 421, 'answered'],
    ['RCPT', 550, 'answered'],
    ['AUTH', 535, 'answered'],
  ])('is reported after %s with %i: it has %s', async (method, code, expected) => {
    const bed = await open();
    bed.server.faults.add({ match: { method }, fault: { kind: 'reply', code } });
    const heard: string[][] = [];
    const httpClient = { observeHost: (host: string, state: string) => void heard.push([host, state]) };
    await attempt(openChannel(bed, { httpClient }), reminderOf()).catch(() => {});
    expect(heard).toEqual([[`${bed.server.host}:${bed.server.port}`, expected]]);
  });

  test('is reported as answered for an accepted mail and as failed for a closed port', async () => {
    const bed = await open();
    const heard: string[] = [];
    const httpClient = { observeHost: (_: string, state: string) => void heard.push(state) };
    const channel = openChannel(bed, { httpClient });
    await attempt(channel, reminderOf());
    await bed.server.close();
    beds.splice(0);
    await attempt(channel, reminderOf());
    expect(heard).toEqual(['answered', 'failed']);
  });
});

const WITHOUT_UTF8 = { utf8: false, login: { user: 'reminders', password: 'correct horse battery' } };

describe('the address of a patient', () => {
  const mailTo = async (email: string, options?: MailSandboxOptions) => {
    const bed = await open(options);
    const delivery = await attempt(
      openChannel(bed, options === undefined ? {} : { settings: bed.settings }),
      reminderOf({}, { email }),
    );
    return { delivery, mails: bed.server.mails() };
  };

  test('in an internationalised domain is delivered, in punycode', async () => {
    const { delivery, mails } = await mailTo('zenobia@bücher.example', WITHOUT_UTF8);
    expect(delivery).toEqual({ result: 'sent', reference: null });
    // The sandbox shows the domain of the envelope in Unicode.
    expect(mails).toMatchObject([{ to: ['zenobia@bücher.example'] }]);
    expect(mails[0]?.raw.toString()).toContain('To: zenobia@xn--bcher-kva.example');
  });

  test('with an internationalised local part is delivered by a server that offers it', async () => {
    const { delivery, mails } = await mailTo('josé@bücher.example');
    expect(delivery).toEqual({ result: 'sent', reference: null });
    expect(mails).toHaveLength(1);
    expect(mails[0]?.to).toEqual(['josé@bücher.example']);
    expect(mails[0]?.raw.toString()).toContain('To: josé@bücher.example');
  });

  test('with an internationalised local part is not handed to another server', async () => {
    const { delivery, mails } = await mailTo('josé@bücher.example', WITHOUT_UTF8);
    expect(delivery).toMatchObject({ result: 'refused', code: 'smtp-utf8-missing' });
    expect(mails).toEqual([]);
  });

  test.each(['a@x, b@x', 'Mario <m@x.example>'])('%j cannot be used, and no server is called', async (email) => {
    const { delivery } = await mailTo(email);
    expect(delivery).toMatchObject({ result: 'refused', code: 'address-invalid' });
  });
});

describe('an answer of the mail server', () => {
  async function replied(method: string, code: number) {
    const bed = await open();
    bed.server.faults.add({ match: { method }, fault: { kind: 'reply', code } });
    const delivery = attempt(openChannel(bed), reminderOf());
    await delivery.catch(() => {});
    expect(bed.server.mails()).toEqual([]);
    return delivery;
  }

  test.each([
    ['CONNECT', 421],
    ['CONNECT', 554],
    ['AUTH', 454],
    ['MAIL', 421],
    ['MAIL', 452],
    ['RCPT', 450],
    ['RCPT', 451],
    ['DATA', 451],
  ])('at %s with %i comes later', async (method, code) => {
    expect(await replied(method, code)).toEqual({ result: 'later', code: 'smtp-busy', retryAfterMs: null });
  });

  test.each([
    ['RCPT', 550, 'recipient-refused'],
    ['RCPT', 553, 'recipient-refused'],
    ['DATA', 554, 'mail-refused'],
  ])('at %s with %i is permanent', async (method, reply, code) => {
    expect(await replied(method, reply)).toEqual({ result: 'refused', code, optedOut: false, channelGone: false });
  });

  test.each([
    ['AUTH', 535, 'smtp-login-refused'],
    ['MAIL', 530, 'smtp-sender-refused'],
    ['MAIL', 550, 'smtp-sender-refused'],
  ])('at %s with %i requires action', async (method, reply, code) => {
    expect(await errorOf(replied(method, reply))).toMatchObject({ actor: 'settings', code, retry: 'later' });
  });
});

describe('a connection that ends', () => {
  test.each(['CONNECT', 'AUTH', 'MAIL', 'RCPT'])('at %s shows that nothing was sent', async (method) => {
    const bed = await open();
    bed.server.faults.add({ match: { method }, fault: { kind: 'cut' } });
    expect(await attempt(openChannel(bed), reminderOf())).toEqual({
      result: 'later',
      code: 'connection-failed',
      retryAfterMs: null,
    });
  });

  test.each([
    ['before the server kept the mail', 'cut', 0],
    ['after the server kept the mail', 'lost-answer', 1],
  ])('%s leaves the outcome unknown', async (_, kind, kept) => {
    const bed = await open();
    bed.server.faults.add({ match: { method: 'DATA' }, fault: { kind } });
    expect(await attempt(openChannel(bed), reminderOf())).toEqual({ result: 'unknown', code: 'smtp-answer-lost' });
    expect(bed.server.counts.value(`mail:${PATIENT.email}`)).toBe(kept);
  });

  test.each([
    ['RCPT', { result: 'later', code: 'timeout', retryAfterMs: null }],
    ['DATA', { result: 'unknown', code: 'smtp-answer-lost' }],
  ])('because the server is too slow at %s', async (method, expected) => {
    const bed = await open();
    bed.server.faults.add({ match: { method }, fault: { kind: 'latency', ms: 2_000 } });
    const settings = { ...bed.settings, timeoutSeconds: 1 };
    expect(await attempt(openChannel(bed, { settings }), reminderOf())).toEqual(expected);
  });
});

describe('encryption', () => {
  test('from the first byte', async () => {
    const bed = await open({ security: 'tls' });
    expect(await attempt(openChannel(bed), reminderOf())).toMatchObject({ result: 'sent' });
    expect(bed.server.mails()[0]?.secure).toBe(true);
  });

  test('may be omitted for a server nearby, if the settings allow it', async () => {
    const bed = await open({ security: 'none' });
    expect(await attempt(openChannel(bed), reminderOf())).toMatchObject({ result: 'sent' });
    expect(bed.server.mails()[0]?.secure).toBe(false);
  });

  test('is never left out because the server offers none', async () => {
    const bed = await open({ security: 'none', login: { user: 'u', password: 'secret words' } });
    const settings = { ...bed.settings, security: 'starttls' };
    const error = await errorOf(attempt(openChannel(bed, { settings }), reminderOf()));
    expect(error).toMatchObject({ actor: 'settings', code: 'smtp-tls-failed' });
    expect([bed.server.counts.value('AUTH'), bed.server.counts.value('MAIL')]).toEqual([0, 0]);
  });

  test.each(['starttls', 'tls'] as const)('by %s with a certificate that is not trusted is none', async (security) => {
    const bed = await open({ security });
    const { certificateAuthority: _, ...settings } = bed.settings as { certificateAuthority: string };
    const error = await errorOf(attempt(openChannel(bed, { settings }), reminderOf()));
    expect(error).toMatchObject({ actor: 'settings', code: 'smtp-tls-failed' });
    expect(bed.server.counts.value('MAIL')).toBe(0);
  });

  test('must not be omitted for a remote server', async () => {
    const bed = await open();
    const settings = { ...bed.settings, host: 'mail.clinic.example', security: 'none' };
    expect(() => openChannel(bed, { settings })).toThrow('without encryption');
  });
});

/** Speaks up to STARTTLS, or not at all, then says nothing more. */
async function openSilentServer(security: string) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    if (security === 'starttls') socket.write('220 silent.example\r\n');
    socket.on('data', (data) => {
      const line = data.toString('latin1');
      if (line.startsWith('EHLO')) socket.write('250-silent.example\r\n250 STARTTLS\r\n');
      else if (line.startsWith('STARTTLS')) socket.write('220 go ahead\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  beds.push({
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return (server.address() as AddressInfo).port;
}

test.each(['starttls', 'tls'])(
  'a server that is silent while encryption by %s begins is tried later',
  async (security) => {
    const bed = await open();
    const settings = { ...bed.settings, port: await openSilentServer(security), security, timeoutSeconds: 1 };
    expect(await attempt(openChannel(bed, { settings }), reminderOf())).toEqual({
      result: 'later',
      code: 'timeout',
      retryAfterMs: null,
    });
  },
);

test('credentials for a server that supports none require action', async () => {
  const bed = await open({ security: 'none' });
  const settings = { ...bed.settings, login: { user: 'u', password: { env: 'SMTP_PASSWORD' } } };
  expect(await errorOf(attempt(openChannel(bed, { settings }), reminderOf()))).toMatchObject({
    actor: 'settings',
    code: 'smtp-login-refused',
  });
});
