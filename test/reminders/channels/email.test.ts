import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import ICAL from 'ical.js';
import PostalMime from 'postal-mime';
import { afterEach, describe, expect, test } from 'vitest';
import type { MailSandboxOptions } from '../../../sandbox/mail/index.ts';
import type { Reminder } from '../../../src/reminders/channels/channel.ts';
import { attempt, errorOf, type Opening, openChannel, PATIENT, reminderOf } from './bed.ts';
import { openEmailBed } from './email-bed.ts';

const CALLBACK = 'https://clinic.example/reminders/callbacks/studio-rossi/email';
const beds: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

async function open(options?: MailSandboxOptions) {
  const bed = await openEmailBed(options);
  beds.push(bed);
  return bed;
}

/** The one mail that a reminder becomes, read by another library than the one that wrote it. */
async function mailOf(reminder: Reminder, opening: Opening = {}, changes: object = {}) {
  const bed = await open();
  const channel = openChannel(bed, { ...opening, settings: { ...bed.settings, ...changes } });
  expect(await attempt(channel, reminder)).toEqual({ result: 'sent', reference: null });
  expect(bed.server.mails()).toHaveLength(1);
  const taken = bed.server.mails()[0]!;
  return { taken, mail: await PostalMime.parse(taken.raw), raw: taken.raw.toString('latin1') };
}

describe('a mail', () => {
  test('goes encrypted and with a login to the patient alone, from the sender that the clinic chose', async () => {
    const reminder = reminderOf({ sender: 'Studio "Rossi" & C.' });
    const { taken, mail } = await mailOf(reminder, {}, { replyTo: 'desk@clinic.example' });
    expect(taken).toMatchObject({
      from: 'reminders@clinic.example',
      to: [PATIENT.email],
      secure: true,
      user: 'reminders',
    });
    expect(mail).toMatchObject({
      from: { name: 'Studio "Rossi" & C.', address: 'reminders@clinic.example' },
      to: [{ address: PATIENT.email }],
      replyTo: [{ address: 'desk@clinic.example' }],
      subject: 'Promemoria',
      messageId: `<${reminder.id}@clinic.example>`,
    });
    expect(mail.headers).toContainEqual(expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }));
  });

  test('shows markup as text and fetches nothing', async () => {
    const text = '<script>alert(1)</script> <img src="https://track.example/1.png"> & \'x\'\nVia Roma\n\nשלום';
    const links = { confirm: 'https://c.example/?a=1&b="2"', cancel: 'https://c.example/2' };
    const { mail } = await mailOf(reminderOf({ text, subject: 'Chiamare </title><b>', links }));
    expect(mail.html).not.toMatch(/<(script|img|b|link)\b|url\(/);
    expect(mail.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(mail.html).toContain('&#39;x&#39;<br>Via Roma</p>');
    expect(mail.html).toContain('<p dir="auto">שלום</p>');
    expect(mail.html).toContain('<a href="https://c.example/?a=1&amp;b=&quot;2&quot;" rel="noreferrer">Conferma</a>');
    expect(mail.text).toContain('Conferma: https://c.example/?a=1&b="2"\nDisdici: https://c.example/2');
  });

  test.each(['\r\nBcc: thief@evil.example', '\nBcc: thief@evil.example', '\r\n\r\nBcc: thief@evil.example'])(
    'gains no header and no recipient by %j',
    async (injected) => {
      const { taken, mail } = await mailOf(reminderOf({ subject: `Domani${injected}`, sender: `Studio${injected}` }));
      expect(taken.to).toEqual([PATIENT.email]);
      expect(mail.bcc).toBeUndefined();
      expect(mail.from?.address).toBe('reminders@clinic.example');
      expect(mail.headers.map(({ key }) => key)).not.toContain('bcc');
      expect(mail.text).toContain('domani');
    },
  );

  test.each([
    'a@b.example\r\nRCPT TO:<thief@evil.example>',
    'a@b.example, thief@evil.example',
    'Anna <a@b.example>',
    'a b@c.example',
    '@b.example',
    'nobody',
    `${'a'.repeat(250)}@b.example`,
  ])('is not tried to %j', async (address) => {
    const bed = await open();
    const delivery = await attempt(openChannel(bed), reminderOf({}, { email: address }));
    expect(delivery).toMatchObject({ result: 'refused', code: 'address-invalid' });
    expect(bed.server.counts.value('CONNECT')).toBe(0);
  });

  test('carries the appointment for the own calendar: private, no invitation', async () => {
    const reminder = reminderOf({ calendarEntry: { title: 'Visita; "A", B', location: 'Via Roma 1,\nMilano' } });
    const { mail } = await mailOf(reminder);
    const [attached] = mail.attachments;
    expect(attached).toMatchObject({ filename: 'appointment.ics', mimeType: 'text/calendar' });
    const text = new TextDecoder().decode(attached?.content as ArrayBuffer);
    const calendar = new ICAL.Component(ICAL.parse(text));
    const event = new ICAL.Event(calendar.getFirstSubcomponent('vevent')!);
    expect(calendar.getFirstPropertyValue('method')).toBeNull();
    expect(event.component.getFirstPropertyValue('class')).toBe('PRIVATE');
    expect([event.uid, event.summary, event.location]).toEqual([
      `${reminder.id}@clinic-mirror`,
      'Visita; "A", B',
      'Via Roma 1,\nMilano',
    ]);
    expect([event.startDate, event.endDate].map((each) => each.toJSDate().toISOString())).toEqual([
      '2026-12-01T09:30:00.000Z',
      '2026-12-01T10:00:00.000Z',
    ]);
  });

  test('carries none where the clinic wants none', async () => {
    expect((await mailOf(reminderOf())).mail.attachments).toEqual([]);
  });
});

describe('wanting no more mails', () => {
  const headersOf = async (opening: Opening, changes: object) => {
    const reminder = reminderOf();
    const { mail } = await mailOf(reminder, opening, changes);
    const value = (key: string) => mail.headers.find((header) => header.key === key)?.value ?? null;
    return { id: reminder.id, list: value('list-unsubscribe'), post: value('list-unsubscribe-post') };
  };

  test('is said by mail', async () => {
    expect(await headersOf({}, { unsubscribe: 'stop@clinic.example' })).toMatchObject({
      list: '<mailto:stop@clinic.example?subject=unsubscribe>',
      post: null,
    });
  });

  test('is said by one click, where there is an address for it', async () => {
    const { id, list, post } = await headersOf({ callbackUrl: CALLBACK }, {});
    expect([list, post]).toEqual([`<${CALLBACK}?reminder=${id}>`, 'List-Unsubscribe=One-Click']);
  });

  test('is not said by one click without encryption, and not at all without an address', async () => {
    expect(await headersOf({ callbackUrl: 'http://clinic.example/x' }, {})).toMatchObject({ list: null, post: null });
    expect(await headersOf({}, {})).toMatchObject({ list: null, post: null });
  });

  const multipart = '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n';
  test.each(['List-Unsubscribe=One-Click', multipart])('takes a click: %j', async (body) => {
    const channel = openChannel(await open(), { callbackUrl: CALLBACK });
    const { id } = reminderOf();
    expect(channel.takeCallback?.({ method: 'POST', query: `?reminder=${id}`, headers: {}, body })).toEqual({
      status: 204,
      events: [{ kind: 'opted-out', who: { reminderId: id } }],
    });
  });

  test.each([
    ['a program that only looks', 'GET', `?reminder=${'0'.repeat(32)}`, '', 405],
    ['a click for no reminder', 'POST', '', 'List-Unsubscribe=One-Click', 400],
    ['a click for what is no id', 'POST', '?reminder=../../x', 'List-Unsubscribe=One-Click', 400],
    ['something else', 'POST', `?reminder=${'0'.repeat(32)}`, 'x=List-Unsubscribe', 400],
  ])('is not %s', async (_, method, query, body, status) => {
    const channel = openChannel(await open(), { callbackUrl: CALLBACK });
    expect(channel.takeCallback?.({ method, query, headers: {}, body })).toEqual({ status, events: [] });
  });
});

describe('what the mail server says', () => {
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
  ])('at %s with %i is for good', async (method, reply, code) => {
    expect(await replied(method, reply)).toEqual({ result: 'refused', code, optedOut: false, channelGone: false });
  });

  test.each([
    ['AUTH', 535, 'smtp-login-refused'],
    ['MAIL', 530, 'smtp-sender-refused'],
    ['MAIL', 550, 'smtp-sender-refused'],
  ])('at %s with %i asks for a person', async (method, reply, code) => {
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
  ])('%s leaves open what became of it', async (_, kind, kept) => {
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

  test('is left out for a server nearby, when the settings say so', async () => {
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

  test('may not be left out for a server elsewhere', async () => {
    const bed = await open();
    const settings = { ...bed.settings, host: 'mail.clinic.example', security: 'none' };
    expect(() => openChannel(bed, { settings })).toThrow('in clear');
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

test('a login is asked of a server that knows none: a person must look', async () => {
  const bed = await open({ security: 'none' });
  const settings = { ...bed.settings, login: { user: 'u', password: { env: 'SMTP_PASSWORD' } } };
  expect(await errorOf(attempt(openChannel(bed, { settings }), reminderOf()))).toMatchObject({
    actor: 'settings',
    code: 'smtp-login-refused',
  });
});
