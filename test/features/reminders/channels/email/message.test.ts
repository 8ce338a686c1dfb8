import ICAL from 'ical.js';
import PostalMime from 'postal-mime';
import { afterEach, describe, expect, test } from 'vitest';
import type { Reminder } from '../../../../../src/features/reminders/channels/channel.ts';
import { attempt, type Opening, openChannel, openEmailBed, PATIENT, reminderOf, unsubscribeProof } from '../bed.ts';

const CALLBACK = 'https://clinic.example/reminders/callbacks/studio-rossi/email';
const beds: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

async function open() {
  const bed = await openEmailBed();
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
  test('is sent encrypted and authenticated to the patient only, from the sender of the clinic', async () => {
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
    const link = { url: 'https://c.example/?a=1&b="2"', cancels: false };
    const { mail } = await mailOf(reminderOf({ text, subject: 'Chiamare </title><b>', link }));
    expect(mail.html).not.toMatch(/<(script|img|b|link)\b|url\(/);
    expect(mail.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(mail.html).toContain('&#39;x&#39;<br>Via Roma</p>');
    expect(mail.html).toContain('<p dir="auto">שלום</p>');
    expect(mail.html).toContain('<a href="https://c.example/?a=1&amp;b=&quot;2&quot;" rel="noreferrer">Conferma</a>');
    expect(mail.text).toContain('Conferma: https://c.example/?a=1&b="2"');
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

  test('carries none if the clinic disables it', async () => {
    expect((await mailOf(reminderOf())).mail.attachments).toEqual([]);
  });
});

describe('a header to unsubscribe', () => {
  const headersOf = async (opening: Opening, changes: object) => {
    const reminder = reminderOf();
    const { mail } = await mailOf(reminder, opening, changes);
    const value = (key: string) => mail.headers.find((header) => header.key === key)?.value ?? null;
    return { id: reminder.id, list: value('list-unsubscribe'), post: value('list-unsubscribe-post') };
  };

  test('contains a mail address', async () => {
    expect(await headersOf({}, { unsubscribe: 'stop@clinic.example' })).toMatchObject({
      list: '<mailto:stop@clinic.example?subject=unsubscribe>',
      post: null,
    });
  });

  test('contains a URL for one click, if there is one', async () => {
    const { id, list, post } = await headersOf({ callbackUrl: CALLBACK }, {});
    expect([list, post]).toEqual([
      `<${CALLBACK}?reminder=${id}&proof=${unsubscribeProof(id)}>`,
      'List-Unsubscribe=One-Click',
    ]);
  });

  test('has no one-click URL without encryption, and is absent without a mail address', async () => {
    expect(await headersOf({ callbackUrl: 'http://clinic.example/x' }, {})).toMatchObject({ list: null, post: null });
    expect(await headersOf({}, {})).toMatchObject({ list: null, post: null });
  });

  const multipart = '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n';
  test.each(['List-Unsubscribe=One-Click', multipart])('takes a click: %j', async (body) => {
    const channel = openChannel(await open(), { callbackUrl: CALLBACK });
    const { id } = reminderOf();
    const query = `?reminder=${id}&proof=${unsubscribeProof(id)}`;
    expect(channel.takeCallback?.({ method: 'POST', query, headers: {}, body })).toEqual({
      status: 204,
      events: [{ kind: 'opted-out', who: { reminderId: id } }],
    });
  });

  const PROVED = `?reminder=${'0'.repeat(32)}&proof=${unsubscribeProof('0'.repeat(32))}`;
  test.each([
    ['a program that only looks', 'GET', PROVED, '', 405],
    ['a click for no reminder', 'POST', '', 'List-Unsubscribe=One-Click', 400],
    ['a click for what is no id', 'POST', '?reminder=../../x', 'List-Unsubscribe=One-Click', 400],
    ['something else', 'POST', PROVED, 'x=List-Unsubscribe', 400],
  ])('is not %s', async (_, method, query, body, status) => {
    const channel = openChannel(await open(), { callbackUrl: CALLBACK });
    expect(channel.takeCallback?.({ method, query, headers: {}, body })).toEqual({ status, events: [] });
  });
});
