import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import { googleCalendar } from '../../../src/connectors/google-calendar/index.ts';
import { readGoogleNotification } from '../../../src/connectors/google-calendar/subscriptions.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { MARK, signal } from '../../contract/contract-kit.ts';
import { openGoogleTarget } from '../../contract/google-calendar-target.ts';
import { containerOf } from '../../support/container-of.ts';

const ACCOUNT = 'doctor@clinic.example';
const ID = 'c0de'.repeat(8);
const SECRET = 'a-secret_of-43-characters'.padEnd(43, 'x');
const ADDRESS = `http://127.0.0.1:9/notifications/google-calendar/${ID}`;
const WATCH = { method: /^POST$/, url: /\/events\/watch$/ };
const STOP = { method: /^POST$/, url: /\/channels\/stop$/ };

let target: Awaited<ReturnType<typeof openGoogleTarget>>;
let renewals = 0;

beforeEach(async () => {
  target = await openGoogleTarget();
  renewals = 0;
});

afterEach(() => target.close());

function subscriptions(calendar: { id: string } | { create: string } = { id: target.container }, scopes?: string[]) {
  const header = async () => `Bearer ${target.sandbox.issueAccessToken(ACCOUNT, scopes ? { scopes } : {})}`;
  const renew = () => {
    renewals += 1;
    return header();
  };
  const connector = googleCalendar.open({
    settings: googleCalendar.settingsSchema.parse({ calendar, rootUrl: target.proxy.url }),
    ownerTag: MARK,
    authorizer: { header, renew, quotaUser: null },
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now }),
    shared: new SharedState(),
    log: silentLogger,
    clock: Date.now,
  });
  return { ...connector.subscriptions!, container: () => containerOf(connector, null, signal()) };
}

function request(changes: { id?: string; address?: string; expiresAt?: number } = {}) {
  return { id: ID, secret: SECRET, address: ADDRESS, expiresAt: Date.now() + 2 * DAY_MS, ...changes };
}

const open = (changes = {}) => subscriptions().open(target.container, request(changes), signal());

function refusal(status: number, reason: string, domain = 'global'): ProxyFault {
  const message = `Refused for ${ACCOUNT}: ${ADDRESS}`;
  const error = { code: status, message, errors: [{ domain, reason, message }] };
  const body = JSON.stringify({ error });
  return { kind: 'answer', answer: { status, headers: { 'content-type': 'application/json' }, body } };
}

const watched = () => target.proxy.requests.filter(({ url }) => WATCH.url.test(url));

describe('a watch channel of a Google calendar', () => {
  test('is requested with the id, secret, URL and expiry of clinic-mirror', async () => {
    const asked = request({ expiresAt: Date.now() + DAY_MS + 0.5 });
    await subscriptions().open(target.container, asked, signal());
    expect(JSON.parse(watched()[0]!.body)).toEqual({
      id: ID,
      type: 'web_hook',
      address: ADDRESS,
      token: SECRET,
      expiration: String(Math.floor(asked.expiresAt)),
    });
    expect(target.sandbox.channels()).toMatchObject([{ id: ID, token: SECRET, calendarId: target.container }]);
  });

  test('on a calendar created by clinic-mirror needs only the permissions of that calendar', async () => {
    const calendar = { create: 'Appointments' };
    const needed = googleCalendar.neededScopes(googleCalendar.settingsSchema.parse({ calendar }), 'appointments');
    const own = subscriptions(calendar, [...needed]);
    const container = await own.container();
    const channel = await own.open(container, request(), signal());
    await own.close(channel, signal());
    expect(target.sandbox.channels()).toEqual([]);
  });

  test('without an end in the answer ends when we asked', async () => {
    target.proxy.add({
      ...WATCH,
      fault: {
        kind: 'rewrite',
        answer: (answer) => {
          const { expiration: _, ...rest } = JSON.parse(answer.body.toString());
          return { ...answer, body: JSON.stringify(rest) };
        },
      },
    });
    const asked = request();
    expect(await subscriptions().open(target.container, asked, signal())).toMatchObject({ expiresAt: asked.expiresAt });
  });

  test('that the vendor ends earlier reports the earlier expiry', async () => {
    const { expiresAt } = await open({ expiresAt: Date.now() + 300 * DAY_MS });
    expect(expiresAt).toBeLessThanOrEqual(Date.now() + 7 * DAY_MS);
    expect(expiresAt).toBeGreaterThan(Date.now() + 7 * DAY_MS - HOUR_MS);
  });

  test('is never prolonged, and that costs no request', async () => {
    const channel = await open();
    target.proxy.forget();
    expect(await subscriptions().extend(channel, Date.now() + DAY_MS, signal())).toBeNull();
    expect(target.proxy.requests).toEqual([]);
  });

  test('may coexist with a second one, and each is closed separately', async () => {
    const first = await open();
    const second = await open({ id: 'beef'.repeat(8) });
    await subscriptions().close(first, signal());
    expect(target.sandbox.channels()).toMatchObject([{ id: second.id }]);
  });

  test('that cannot be ended now is an error, and one that is gone is none', async () => {
    const channel = await open();
    target.proxy.add({ ...STOP, fault: refusal(503, 'backendError') });
    await expect(subscriptions().close(channel, signal())).rejects.toMatchObject({
      actor: 'remote',
      code: 'server-error',
    });
    await subscriptions().close(channel, signal());
    await subscriptions().close(channel, signal());
    expect(target.sandbox.channels()).toEqual([]);
  });
});

describe('a channel of which no answer came', () => {
  test.each<[string, ProxyFault]>([
    ['was carried out', { kind: 'lost-answer' }],
    ['was carried out, and half of the answer came', { kind: 'cut-body' }],
    ['was not carried out', { kind: 'cut' }],
    ['met a portal', { kind: 'html' }],
    ['met a server failing', refusal(503, 'backendError')],
  ])('leaves one channel when it %s', async (_, fault) => {
    target.proxy.add({ ...WATCH, fault });
    const channel = await open();
    expect(channel.id).toBe(ID);
    expect(target.sandbox.channels()).toMatchObject([{ id: `${ID}-2`, address: ADDRESS, token: SECRET }]);
    await subscriptions().close(channel, signal());
    expect(target.sandbox.channels()).toEqual([]);
  });

  test('remains open if it cannot be closed: it expires, and hints arrive twice until then', async () => {
    target.proxy.add({ ...WATCH, fault: { kind: 'lost-answer' } });
    target.proxy.add({ ...STOP, fault: refusal(503, 'backendError') });
    await open();
    expect(target.sandbox.channels()).toHaveLength(2);
    for (const { expiresAt } of target.sandbox.channels()) expect(expiresAt).toBeLessThan(Date.now() + 3 * DAY_MS);
  });

  test('is reported as uncertain if the second request has no answer either', async () => {
    target.proxy.add({ ...WATCH, times: 2, fault: { kind: 'lost-answer' } });
    await expect(open()).rejects.toMatchObject({ actor: 'remote', ambiguous: true });
    expect(watched()).toHaveLength(2);
  });

  test('is reported as uncertain after two unreadable answers', async () => {
    const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"kind":"api#channel"}' };
    target.proxy.add({ ...WATCH, times: 2, fault: { kind: 'answer', answer } });
    await expect(open()).rejects.toMatchObject({ code: 'unexpected-answer', ambiguous: true });
  });
});

describe('a refused channel', () => {
  test.each([401, 400])(
    'for its URL, with status %i, is a configuration error and not a connection error',
    async (status) => {
      target.proxy.add({ ...WATCH, times: 9, fault: refusal(status, 'push.webhookUrlUnauthorized') });
      await expect(open()).rejects.toMatchObject({
        actor: 'settings',
        code: 'notification-address-refused',
        retry: 'never',
      });
      expect(renewals).toBe(0);
      expect(watched()).toHaveLength(1);
    },
  );

  test('for a URL without https', async () => {
    const call = open({ address: 'http://outside.example/notifications/x' });
    await expect(call).rejects.toMatchObject({ actor: 'settings', code: 'notification-address-refused' });
  });

  test.each([
    [400, 'pushNotSupportedForRequestedResource', 'calendar', 'settings', 'notifications-unsupported'],
    [400, 'somethingNew', 'global', 'remote', 'notifications-refused'],
    [403, 'quotaExceeded', 'usageLimits', 'remote', 'usage-limit'],
    [403, 'insufficientPermissions', 'global', 'authorization', 'scope-missing'],
    [429, 'rateLimitExceeded', 'usageLimits', 'remote', 'rate-limited'],
  ])('with %i %s is requested once', async (status, reason, domain, actor, code) => {
    target.proxy.add({ ...WATCH, times: 9, fault: refusal(status, reason, domain) });
    await expect(open()).rejects.toMatchObject({ actor, code });
    expect(watched()).toHaveLength(1);
  });

  test('shows neither the account nor the URL', async () => {
    target.proxy.add({ ...WATCH, times: 9, fault: refusal(400, 'invalid') });
    const error = asMirrorError(await open().catch((thrown: unknown) => thrown));
    expect(`${error.message} ${error.remedy} ${error.stack}`).not.toMatch(/@clinic|127\.0\.0\.1|c0de/);
  });
});

const read = (headers: Record<string, string | undefined>, body = '') =>
  readGoogleNotification({ query: new URLSearchParams(), headers, body });

describe('what Google posts', () => {
  test.each([
    ['sync', 'opened'],
    ['exists', 'changed'],
    ['not_exists', 'changed'],
  ])('%s means %s, under the secret', (state, event) => {
    const headers = { 'x-goog-resource-state': state, 'x-goog-channel-token': 'secret', 'x-goog-channel-id': 'other' };
    expect(read(headers, 'whatever')).toEqual({ kind: 'events', events: [{ secret: 'secret', event }] });
  });

  test.each([
    [{}],
    [{ 'x-goog-resource-state': 'exists' }],
    [{ 'x-goog-channel-token': 'secret' }],
    [{ 'x-goog-resource-state': 'update', 'x-goog-channel-token': 'secret' }],
    [{ 'x-goog-resource-state': 'constructor', 'x-goog-channel-token': 'secret' }],
  ])('%j is unreadable', (headers) => {
    expect(read(headers)).toEqual({ kind: 'unreadable' });
  });

  test('never throws, whatever comes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), fc.string(), fc.string(), (headers, state, body) => {
        const { kind } = read({ ...headers, 'x-goog-resource-state': state }, body);
        expect(['events', 'unreadable']).toContain(kind);
      }),
    );
  });
});
