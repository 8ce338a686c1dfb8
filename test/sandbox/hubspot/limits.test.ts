import { describe, expect, it } from 'vitest';
import { CONTACTS, startBench } from './support.ts';

const MIDNIGHT = Date.parse('2027-03-02T00:00:00+01:00');

describe('ten seconds', () => {
  it('hold so many calls of a private app, in a window that rolls', async () => {
    let now = MIDNIGHT - 60_000;
    const { call, sandbox } = await startBench({ now: () => now, tenSecondlyPrivate: 3 });
    const get = () => call('GET', CONTACTS);
    const first = await get();
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-hubspot-ratelimit-max': '3',
      'x-hubspot-ratelimit-remaining': '2',
      'x-hubspot-ratelimit-interval-milliseconds': '10000',
      'x-hubspot-ratelimit-daily': '250000',
      'x-hubspot-ratelimit-daily-remaining': '249999',
    });
    now += 5000;
    await get();
    await get();
    const refused = await get();
    expect(refused).toMatchObject({
      status: 429,
      body: {
        status: 'error',
        errorType: 'RATE_LIMIT',
        policyName: 'TEN_SECONDLY_ROLLING',
        message: 'You have reached your ten_secondly_rolling limit.',
      },
    });
    expect(refused.headers.get('retry-after')).toBeNull();
    now += 5000;
    expect((await get()).status).toBe(200);
    expect((await get()).status).toBe(429);
    expect(sandbox.counts).toMatchObject({ throttled: 2, errors: 2, httpRequests: 6 });
  });

  it('are per app, and an app with OAuth gets no daily figures', async () => {
    const { call, as, sandbox } = await startBench({ tenSecondlyPrivate: 1, tenSecondlyOAuth: 2 });
    const other = as(sandbox.issuePrivateToken());
    const oauth = as(sandbox.issueAccessToken());
    expect((await call('GET', CONTACTS)).status).toBe(200);
    expect((await call('GET', CONTACTS)).status).toBe(429);
    expect((await other('GET', CONTACTS)).status).toBe(200);
    const told = await oauth('GET', CONTACTS);
    expect(told.headers.get('x-hubspot-ratelimit-max')).toBe('2');
    expect(told.headers.get('x-hubspot-ratelimit-daily')).toBeNull();
    expect((await as(sandbox.issueAccessToken())('GET', CONTACTS)).status).toBe(200);
    expect((await oauth('GET', CONTACTS)).status).toBe(429);
  });

  it('may be reported with Retry-After', async () => {
    const { call } = await startBench({ tenSecondlyPrivate: 0, retryAfterOn429: true, now: () => MIDNIGHT });
    expect((await call('GET', CONTACTS)).headers.get('retry-after')).toBe('10');
  });
});

describe('a day', () => {
  it('holds so many calls of all private apps, and begins at the account’s midnight', async () => {
    let now = MIDNIGHT - 1000;
    const { call, as, sandbox } = await startBench({ now: () => now, dailyPrivate: 2, timeZone: 'Europe/Zurich' });
    const other = as(sandbox.issuePrivateToken());
    await call('GET', CONTACTS);
    expect((await other('GET', CONTACTS)).headers.get('x-hubspot-ratelimit-daily-remaining')).toBe('0');
    expect(await call('GET', CONTACTS)).toMatchObject({
      status: 429,
      body: { policyName: 'DAILY', message: 'You have reached your daily limit.' },
    });
    expect((await as(sandbox.issueAccessToken())('GET', CONTACTS)).status).toBe(200);
    now = MIDNIGHT - 1;
    expect((await call('GET', CONTACTS)).status).toBe(429);
    now = MIDNIGHT;
    expect((await call('GET', CONTACTS)).status).toBe(200);
    expect(sandbox.counts.throttledDaily).toBe(2);
  });

  it('can be limited for OAuth too, and while it runs', async () => {
    const { as, sandbox } = await startBench();
    const call = as(sandbox.issueAccessToken());
    expect((await call('GET', CONTACTS)).status).toBe(200);
    sandbox.configure({ dailyOAuth: 1 });
    expect((await call('GET', CONTACTS)).body.policyName).toBe('DAILY');
  });

  it('is reported with the account', async () => {
    const { call, sandbox } = await startBench({ timeZone: 'America/New_York' });
    for (const version of ['v3', '2026-03']) {
      expect((await call('GET', `/account-info/${version}/details`)).body).toMatchObject({
        portalId: sandbox.portalId,
        timeZone: 'America/New_York',
      });
    }
  });
});

describe('too many rows in a request', () => {
  it('lock the object type for two seconds', async () => {
    let now = MIDNIGHT;
    const { upsert, call, sandbox } = await startBench({ now: () => now, rowsBeforeLock: 3 });
    expect((await upsert({ key: 'a' }, { key: 'b' })).status).toBe(200);
    now += 999;
    expect((await upsert({ key: 'c' }, { key: 'd' })).status).toBe(200);
    now += 1999;
    expect((await upsert({ key: 'e' })).status).toBe(423);
    expect((await call('GET', CONTACTS)).status).toBe(200);
    now += 1;
    expect((await upsert({ key: 'e' })).status).toBe(200);
    expect(sandbox.counts.locked).toBe(1);
    expect(sandbox.records('contacts')).toHaveLength(5);
  });

  it('can be set by a test', async () => {
    let now = MIDNIGHT;
    const { upsert, sandbox } = await startBench({ now: () => now });
    sandbox.lock('contacts', 2000);
    expect((await upsert({ key: 'a' })).status).toBe(423);
    now += 2000;
    expect((await upsert({ key: 'a' })).status).toBe(200);
  });
});

describe('a migration', () => {
  it('answers 477 with Retry-After until it is over', async () => {
    let now = MIDNIGHT;
    const { upsert, sandbox } = await startBench({ now: () => now });
    sandbox.migrate(86_400_000);
    const refused = await upsert({ key: 'a' });
    expect(refused.status).toBe(477);
    expect(refused.headers.get('retry-after')).toBe('86400');
    now += 86_400_000;
    expect((await upsert({ key: 'a' })).status).toBe(200);
  });
});

describe('an injected status', () => {
  it('carries the vendor’s body', async () => {
    const { call, sandbox } = await startBench();
    for (const status of [423, 502, 503, 521]) {
      sandbox.faults.add({ times: 1, fault: { kind: 'status', status } });
      expect(await call('GET', CONTACTS)).toMatchObject({ status, body: { status: 'error' } });
    }
  });
});
