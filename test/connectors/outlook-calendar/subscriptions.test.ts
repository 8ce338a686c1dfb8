import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import { outlookCalendar } from '../../../src/connectors/outlook-calendar/index.ts';
import { readGraphNotification } from '../../../src/connectors/outlook-calendar/subscriptions.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { MARK, signal } from '../../contract/contract-kit.ts';
import { ACCOUNT, openOutlookTarget, refusal } from '../../contract/outlook-calendar-target.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const SECRET = 'a-secret_of-43-characters'.padEnd(43, 'x');
const CREATE = { method: /^POST$/, url: /\/subscriptions$/ };
const LIST = { method: /^GET$/, url: /\/subscriptions/ };

let target: Awaited<ReturnType<typeof openOutlookTarget>>;
let shared: SharedState;
let receiver: Receiver;
let count = 0;

beforeEach(async () => {
  shared = new SharedState();
  target = await openOutlookTarget();
  receiver = await startReceiver((request) => {
    const reading = readGraphNotification(request);
    return reading.kind === 'handshake' ? { status: 200, text: reading.answer } : {};
  });
});

afterEach(async () => {
  await receiver.close();
  await target.close();
});

interface Choice {
  mailbox?: string;
  token?: () => string;
}

function subscriptions({ mailbox = ACCOUNT, token = () => target.sandbox.issueAccessToken(ACCOUNT) }: Choice = {}) {
  const header = async () => `Bearer ${token()}`;
  const connector = outlookCalendar.open({
    settings: outlookCalendar.settingsSchema.parse({
      mailbox,
      calendar: { id: target.container },
      rootUrl: target.proxy.url,
    }),
    ownerTag: MARK,
    authorizer: { header, renew: header, quotaUser: null },
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now }),
    shared,
    log: silentLogger,
    clock: Date.now,
  });
  return connector.subscriptions!;
}

/** Uses a fresh id, and `/notifications` by default. */
function request({ path = '/notifications', lifeMs = 2 * DAY_MS } = {}) {
  count += 1;
  const id = count.toString(16).padStart(32, 'c0de');
  return { id, secret: SECRET, address: `${receiver.url}${path}/${id}`, expiresAt: Date.now() + lifeMs };
}

const open = (asked = request(), container = target.container) => subscriptions().open(container, asked, signal());
const answer = (status: number, code: string): ProxyFault => ({ kind: 'answer', answer: refusal(status, code) });
const requestsOf = (method: string) => target.proxy.requests.filter((each) => each.method === method);
const urls = () => target.sandbox.subscriptions().map(({ notificationUrl }) => notificationUrl);

describe('a subscription to an Outlook calendar', () => {
  test('is requested with both URLs, the secret and the one calendar', async () => {
    const asked = request();
    await open(asked);
    expect(JSON.parse(requestsOf('POST')[0]!.body)).toEqual({
      changeType: 'created,updated,deleted',
      resource: `users/${ACCOUNT}/calendars/${target.container}/events`,
      notificationUrl: asked.address,
      lifecycleNotificationUrl: asked.address,
      expirationDateTime: new Date(asked.expiresAt).toISOString(),
      clientState: SECRET,
    });
  });

  test.each([
    ['me', `me/calendars/`],
    [ACCOUNT, `users/${ACCOUNT}/calendars/`],
  ])('of %s reports its own calendar and no other', async (mailbox, start) => {
    const other = target.sandbox.createCalendar(ACCOUNT, 'Another');
    await subscriptions({ mailbox }).open(target.container, request(), signal());
    expect(target.sandbox.subscriptions()[0]?.resource).toBe(`${start}${target.container}/events`);
    receiver.forget();
    const time = { dateTime: '2027-03-10T12:00:00', timeZone: 'UTC' };
    target.sandbox.addByHand(ACCOUNT, other, { subject: 'Elsewhere', start: time, end: time });
    await target.sandbox.notificationsSettled();
    expect(receiver.requests).toHaveLength(0);
  });

  test('whose URL answers the check wrongly is a configuration error, and is retried', async () => {
    const deaf = await startReceiver(() => ({ status: 200, text: 'hello' }));
    const call = open({ ...request(), address: `${deaf.url}/notifications/x` });
    await expect(call).rejects.toMatchObject({
      actor: 'settings',
      code: 'notification-address-refused',
      retry: 'later',
    });
    expect(deaf.requests).toHaveLength(1);
    await deaf.close();
    expect(urls()).toEqual([]);
  });

  test('is requested with a shorter life if the older limit applies, and renewed with the same life', async () => {
    target.sandbox.configure({ maxSubscriptionMinutes: 4_230 });
    const subscription = await open(request({ lifeMs: 30 * DAY_MS }));
    expect(subscription.expiresAt).toBeGreaterThan(Date.now() + 4_200 * MINUTE_MS);
    expect(requestsOf('POST')).toHaveLength(2);
    const extended = await subscriptions().extend(subscription, Date.now() + 30 * DAY_MS, signal());
    expect(extended?.expiresAt).toBeLessThan(Date.now() + 4_230 * MINUTE_MS);
    expect(requestsOf('PATCH')).toHaveLength(2);
  });

  test('for two days takes one request under either limit', async () => {
    target.sandbox.configure({ maxSubscriptionMinutes: 4_230 });
    await open();
    expect(target.proxy.requests).toHaveLength(1);
  });

  test('that is requested for a very short time lasts as long as the vendor reports', async () => {
    const { expiresAt } = await open(request({ lifeMs: MINUTE_MS }));
    expect(expiresAt).toBeGreaterThan(Date.now() + 44 * MINUTE_MS);
  });

  test('that the vendor has removed is not prolonged, and another takes its place', async () => {
    const asked = request();
    const subscription = await open(asked);
    target.sandbox.sendLifecycleEvent(subscription.handle, 'subscriptionRemoved');
    expect(await subscriptions().extend(subscription, Date.now() + DAY_MS, signal())).toBeNull();
    await subscriptions().close(subscription, signal());
    const next = request();
    await open(next);
    expect(urls()).toEqual([next.address]);
  });

  test('that cannot be renewed or closed now is reported and remains', async () => {
    const subscription = await open();
    const method = /^(PATCH|DELETE)$/;
    target.proxy.add({ method, fault: { kind: 'answer', answer: refusal(429, 'TooManyRequests', '9') } });
    const extending = subscriptions().extend(subscription, Date.now() + DAY_MS, signal());
    await expect(extending).rejects.toMatchObject({ code: 'rate-limited', retryAfterMs: 9_000 });
    target.proxy.add({ method, fault: answer(503, 'ServerBusy') });
    await expect(subscriptions().close(subscription, signal())).rejects.toMatchObject({ code: 'server-error' });
    expect(urls()).toHaveLength(1);
  });

  test.each(['reauthorizationRequired', 'subscriptionRemoved', 'missed'] as const)('tells of %s', async (event) => {
    const subscription = await open();
    await target.sandbox.notificationsSettled();
    receiver.forget();
    target.sandbox.sendLifecycleEvent(subscription.handle, event);
    await target.sandbox.notificationsSettled();
    const means = { reauthorizationRequired: 'extend', subscriptionRemoved: 'ended', missed: 'missed' };
    const events = [{ secret: SECRET, event: means[event] }];
    expect(receiver.requests.map(readGraphNotification)).toEqual([{ kind: 'events', events }]);
  });
});

describe('a calendar that has a subscription already', () => {
  test('receives a new one instead of a lost one of clinic-mirror', async () => {
    await open();
    const next = request();
    await open(next);
    expect(urls()).toEqual([next.address]);
  });

  test('keeps the one of another installation, and reports it', async () => {
    const theirs = request({ path: '/other/notifications' });
    await open(theirs);
    await expect(open()).rejects.toMatchObject({ actor: 'settings', code: 'notifications-taken', retry: 'never' });
    expect(urls()).toEqual([theirs.address]);
  });

  test('keeps those of other calendars', async () => {
    const other = target.sandbox.createCalendar(ACCOUNT, 'Another');
    const elsewhere = request();
    await open(elsewhere, other);
    await open();
    const next = request();
    await open(next);
    expect(urls().sort()).toEqual([elsewhere.address, next.address].sort());
  });

  test('is found on a later page of the list, among others', async () => {
    const lost = await open();
    const page = (value: unknown[], nextLink?: string): ProxyFault => {
      const body = JSON.stringify({ value, ...(nextLink === undefined ? {} : { '@odata.nextLink': nextLink }) });
      return { kind: 'answer', answer: { status: 200, headers: { 'content-type': 'application/json' }, body } };
    };
    const strange = { id: 'x', resource: '/%E0%A4%A', notificationUrl: lost.id, expirationDateTime: 'never' };
    const link = 'https://graph.microsoft.com/v1.0/subscriptions?$skiptoken=next';
    target.proxy.add({ ...LIST, fault: page([null, {}, strange], link) });
    const next = request();
    await open(next);
    expect(requestsOf('GET')).toHaveLength(2);
    expect(urls()).toEqual([next.address]);
  });
});

describe('a subscription of which no answer came', () => {
  test.each<[string, ProxyFault]>([
    ['is lost', { kind: 'lost-answer' }],
    ['is cut short', { kind: 'cut-body' }],
    [
      'is a page of a proxy',
      { kind: 'rewrite', answer: () => ({ status: 502, headers: { 'content-type': 'text/html' }, body: '<html>' }) },
    ],
  ])('is found when the answer %s', async (_, fault) => {
    target.proxy.add({ ...CREATE, fault });
    const asked = request();
    const subscription = await open(asked);
    expect(target.sandbox.subscriptions()).toMatchObject([{ id: subscription.handle, notificationUrl: asked.address }]);
    expect(Math.abs(subscription.expiresAt - asked.expiresAt)).toBeLessThan(1_000);
    expect(requestsOf('POST')).toHaveLength(1);
  });

  test('is reported as uncertain if it is absent or the lookup fails; a later attempt leaves one', async () => {
    target.proxy.add({ ...CREATE, fault: { kind: 'cut' } });
    await expect(open()).rejects.toMatchObject({ actor: 'remote', ambiguous: true });
    target.proxy.add({ ...CREATE, fault: { kind: 'lost-answer' } });
    target.proxy.add({ ...LIST, fault: answer(503, 'ServerBusy') });
    await expect(open()).rejects.toMatchObject({ actor: 'remote', ambiguous: true });
    expect(urls()).toHaveLength(1);
    const next = request();
    await open(next);
    expect(urls()).toEqual([next.address]);
  });
});

describe('a refused subscription', () => {
  test("to another user's mailbox, under a user's connection, is a configuration error; an application is allowed", async () => {
    const person = 'assistant@clinic.example';
    target.sandbox.addMailbox(person);
    target.sandbox.shareMailbox(ACCOUNT, person);
    const scopes = ['Calendars.ReadWrite.Shared'];
    const shared = subscriptions({ token: () => target.sandbox.issueAccessToken(person, { scopes }) });
    const call = shared.open(target.container, request(), signal());
    await expect(call).rejects.toMatchObject({ actor: 'settings', code: 'notifications-forbidden', retry: 'never' });
    const application = subscriptions({ token: () => target.sandbox.issueAppToken() });
    await application.open(target.container, request(), signal());
    expect(urls()).toHaveLength(1);
  });

  test.each([
    [400, 'InvalidRequest', 'remote', 'notifications-refused'],
    [403, 'ErrorAccessDenied', 'settings', 'notifications-forbidden'],
    [403, 'Authorization_RequestDenied', 'authorization', 'scope-missing'],
    [404, 'ExtensionError', 'settings', 'calendar-gone'],
    [404, 'MailboxNotEnabledForRESTAPI', 'settings', 'mailbox-unlicensed'],
    [429, 'ApplicationThrottled', 'remote', 'rate-limited'],
  ])('with %i %s is requested once', async (status, code, actor, told) => {
    target.proxy.add({ ...CREATE, times: 9, fault: answer(status, code) });
    await expect(open()).rejects.toMatchObject({ actor, code: told });
    expect(target.proxy.requests).toHaveLength(1);
  });

  test('shows neither the mailbox nor the URL', async () => {
    target.proxy.add({ ...CREATE, times: 9, fault: answer(400, 'ValidationError') });
    const error = asMirrorError(await open().catch((thrown: unknown) => thrown));
    expect(`${error.message} ${error.remedy} ${error.stack}`).not.toMatch(/@clinic|127\.0\.0\.1|c0de/);
  });

  test('goes through as one request of the mailbox at a time', async () => {
    await Promise.all([open(), subscriptions().extend(await open(), Date.now() + HOUR_MS, signal())]);
    expect(target.proxy.maxInFlight).toBe(1);
  });
});

const read = (body: unknown, query = '') =>
  readGraphNotification({
    query: new URLSearchParams(query),
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const change = (secret: string, changes: object = {}) => ({
  subscriptionId: 'a',
  changeType: 'updated',
  clientState: secret,
  resource: 'Users/x/Events/y',
  ...changes,
});

describe('the validation of a URL', () => {
  test.each([
    ['Validation%3A+Testing+client', 'Validation: Testing client'],
    ['a%2Bb%25c%26d%3De', 'a+b%c&d=e'],
    ['100%', '100%'],
    ['%C3%BC%3Cscript%3E', 'ü<script>'],
  ])('%s expects its token back, decoded once', (token, answer) => {
    expect(read('', `validationToken=${token}`)).toEqual({ kind: 'handshake', answer });
  });

  test('answers any token in decoded form', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (token) => {
        const query = `validationToken=${encodeURIComponent(token)}`;
        expect(read('', query)).toEqual({ kind: 'handshake', answer: token });
      }),
    );
  });
});

describe('what Graph posts', () => {
  test('may hold several notifications, each with its own secret', () => {
    const value = [change('one'), change('two', { changeType: 'deleted' }), change('one', { changeType: 'created' })];
    expect(read({ value, validationTokens: ['x'] })).toEqual({
      kind: 'events',
      events: ['one', 'two', 'one'].map((secret) => ({ secret, event: 'changed' })),
    });
  });

  test.each([
    ['reauthorizationRequired', 'extend'],
    ['subscriptionRemoved', 'ended'],
    ['missed', 'missed'],
  ])('%s of a lifecycle means %s', (lifecycleEvent, event) => {
    const value = [{ subscriptionId: 'a', clientState: 'secret', lifecycleEvent }];
    expect(read({ value })).toEqual({ kind: 'events', events: [{ secret: 'secret', event }] });
  });

  test('is read as far as it can be: what is odd spoils nothing', () => {
    const odd = [null, 7, 'x', {}, { clientState: 'secret' }, { clientState: 5, changeType: 'updated' }];
    const unknown = { clientState: 'secret', lifecycleEvent: 'somethingNew', changeType: 'updated' };
    const value = [...odd, unknown, change(''), change('secret', { clientState: null }), change('good')];
    expect(read({ value })).toEqual({ kind: 'events', events: [{ secret: 'good', event: 'changed' }] });
    expect(read({ value: odd })).toEqual({ kind: 'unreadable' });
  });

  test('never throws, whatever comes', () => {
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json({ maxDepth: 2 }).map((value) => `{"value":[${value}]}`),
    );
    fc.assert(
      fc.property(body, fc.string(), (text, query) => {
        expect(['handshake', 'events', 'unreadable']).toContain(read(text, query).kind);
      }),
    );
  });
});
