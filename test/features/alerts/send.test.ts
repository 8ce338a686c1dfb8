import PostalMime from 'postal-mime';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type MailSandbox, startMailSandbox } from '../../../sandbox/mail/index.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import type { Problem } from '../../../src/core/model/problems.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import type { Digest } from '../../../src/features/alerts/digest.ts';
import { alertChannels } from '../../../src/features/alerts/send.ts';
import { message } from '../../../src/messages/message.ts';
import { alertsSection } from '../../../src/settings/delivery-schema.ts';
import { secretSchemas } from '../../../src/settings/secret-reference.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const SIGNING = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const http = createHttpClient({ userAgent: 'clinic-mirror', clock: Date.now });
const { signal } = new AbortController();

const ended: Problem = {
  tenant: 'belvedere',
  subject: 'connection doctor-2',
  code: 'login-ended',
  health: 'action-required',
  sinceAt: NOW - 3 * HOUR_MS,
  sentence: 'the connection has expired or was revoked: a new sign-in is required',
  next: 'clinic-mirror login belvedere doctor-2',
  breaksAt: null,
  nextTryAt: null,
  syncHealth: null,
  waiting: 14,
  texts: {
    subject: message('subject.login', { id: 'doctor-2' }),
    sentence: message('login-ended'),
    next: 'clinic-mirror login belvedere doctor-2',
  },
};
const held: Problem = {
  ...{ ...ended, tenant: 'aurora', subject: 'target room', code: 'on-hold', next: null, waiting: 0 },
  texts: { subject: message('subject.target', { id: 'room' }), sentence: message('login-ended'), next: null },
};
const digest: Digest = { begun: [ended], again: [held], over: [], others: 2 };

let mail: MailSandbox;
let receiver: Receiver;
let status = 202;
beforeEach(async () => {
  status = 202;
  mail = await startMailSandbox({ login: { user: 'alerts', password: 'correct horse battery' } });
  receiver = await startReceiver(() => ({ status }));
});
afterEach(async () => {
  await Promise.all([mail.close(), receiver.close()]);
});

function open(language: 'en' | 'it' = 'en') {
  const settings = alertsSection(secretSchemas({ env: { SMTP: 'correct horse battery', SIGNING }, dir: '/' })).parse({
    language,
    email: {
      host: mail.host,
      port: mail.port,
      login: { user: 'alerts', password: { env: 'SMTP' } },
      certificateAuthority: mail.certificate,
      from: 'mirror@clinic.example',
      to: ['first@clinic.example', 'second@clinic.example'],
    },
    webhook: { url: `${receiver.url}/alerts`, secrets: [{ env: 'SIGNING' }], allowPrivateAddresses: true },
  });
  return alertChannels(settings, http);
}

describe('by mail', () => {
  test('all recipients get the sentences, the start, the affected work and the next step', async () => {
    await open().get('email')!(digest, NOW, signal);
    const [arrived] = mail.mails();
    expect(arrived?.to).toEqual(['first@clinic.example', 'second@clinic.example']);
    const { subject, text } = await PostalMime.parse(arrived!.raw);
    expect(subject).toBe('clinic-mirror: 2 problems of 2 clinics');
    expect(text).toContain(
      'belvedere, connection doctor-2: the connection has expired or was revoked: a new sign-in is required (login-ended), for 3 hours, 14 pending changes\n  clinic-mirror login belvedere doctor-2\n',
    );
    expect(text).toContain('Action still required:');
    expect(text).toContain('2 other reported problems are unchanged.');
  });

  test('is in Italian if configured; codes and commands are not translated', async () => {
    await open('it').get('email')!(digest, NOW, signal);
    const { subject, text } = await PostalMime.parse(mail.mails()[0]!.raw);
    expect(subject).toBe('clinic-mirror: 2 problemi in 2 cliniche');
    expect(text).toContain(
      'belvedere, collegamento doctor-2: collegamento scaduto o revocato: è necessario un nuovo accesso (login-ended), da 3 ore, 14 modifiche in coda\n  clinic-mirror login belvedere doctor-2\n',
    );
    expect(text).toContain('Altri 2 problemi già segnalati sono invariati.');
  });

  test('a refusal by the server is an error that shows the responsible role', async () => {
    mail.faults.add({ match: { method: 'RCPT' }, fault: { kind: 'reply', code: 550 } });
    await expect(open().get('email')!(digest, NOW, signal)).rejects.toMatchObject({ code: 'recipient-refused' });
  });
});

describe('by webhook', () => {
  test('a signed message has the problems as data', async () => {
    await open().get('webhook')!(digest, Date.now(), signal);
    const [request] = receiver.requests;
    const told = new Webhook(SIGNING).verify(request!.body, request!.headers as Record<string, string>) as object;
    const { texts: _, ...problem } = ended;
    expect(told).toMatchObject({
      type: 'alerts.digest',
      data: { begun: { count: 1, problems: [problem] }, others: 2 },
    });
    expect(request!.body).not.toContain('"texts"');
  });

  test.each([
    [410, 'settings', 'webhook-gone'],
    [401, 'settings', 'webhook-unauthorized'],
    [503, 'remote', 'webhook-unavailable'],
  ])('an answer of %i is an error', async (answered, actor, code) => {
    status = answered;
    await expect(open().get('webhook')!(digest, NOW, signal)).rejects.toMatchObject({ actor, code });
  });

  test('an unreachable server is reported with its first 40 clinics, their number, and the total of waiting work', async () => {
    const clinics = Array.from({ length: 60 }, (_, index) => ({ tenant: `clinic-${index}`, waiting: 2 }));
    const away = { ...ended, tenant: null, code: 'server-away', tenants: clinics, waiting: 120 };
    await open().get('webhook')!({ ...digest, begun: [away] }, NOW, signal);
    const [told] = JSON.parse(receiver.requests[0]!.body).data.begun.problems;
    expect(told).toMatchObject({ code: 'server-away', waiting: 120, tenantCount: 60 });
    expect(told.tenants).toEqual(clinics.slice(0, 40));
  });

  test('a thousand problems are counted, and fit', async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({ ...ended, tenant: `clinic-${index}` }));
    await open().get('webhook')!({ ...digest, begun: many, again: many, over: many }, NOW, signal);
    expect(receiver.requests[0]!.body.length).toBeLessThan(20_000);
  });
});
