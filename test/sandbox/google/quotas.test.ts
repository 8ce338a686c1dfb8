import { describe, expect, it } from 'vitest';
import { serviceAccountToken } from './service-account-token.ts';
import { anEvent, DOCTOR, startBench } from './support.ts';

describe('quota units', () => {
  it('are one for each call and three for a patch', async () => {
    const { call, events, sandbox } = await startBench();
    const units = async (method: string, path: string, body?: unknown): Promise<number> => {
      const before = sandbox.counts.quotaUnits;
      await call(method, path, body);
      return sandbox.counts.quotaUnits - before;
    };
    expect(await units('POST', events, anEvent({ id: 'event' }))).toBe(1);
    expect(await units('PUT', `${events}/event`, anEvent())).toBe(1);
    expect(await units('PATCH', `${events}/event`, {})).toBe(3);
    expect(await units('GET', `${events}/event`)).toBe(1);
    expect(await units('GET', events)).toBe(1);
    expect(await units('DELETE', `${events}/event`)).toBe(1);
    expect(await units('DELETE', `${events}/event`)).toBe(1);
    expect(sandbox.counts.quotaUnitsOf(DOCTOR)).toBe(9);
    expect(sandbox.counts.httpRequests).toBe(7);
  });
});

describe('the limit per user', () => {
  it('slides: units come back a minute after they were spent', async () => {
    let now = 1_800_000_000_000;
    const { call, events, sandbox, as } = await startBench({ quotaPerUserPerMinute: 4, now: () => now });
    await call('POST', events, anEvent({ id: 'event' }));
    now += 30_000;
    expect((await call('PATCH', `${events}/event`, {})).status).toBe(200);
    const refused = await call('GET', events);
    expect(refused).toMatchObject({ status: 403, reason: 'userRateLimitExceeded' });
    expect(refused.body.error.errors[0].domain).toBe('usageLimits');
    const other = as(sandbox.issueAccessToken('other@clinic.example'));
    expect((await other('GET', '/calendars/primary/events')).status).toBe(200);
    now += 30_000;
    expect((await call('GET', events)).status).toBe(200);
    expect((await call('GET', events)).status).toBe(403);
    expect(sandbox.counts.quotaRefusals).toBe(2);
    expect(sandbox.counts.quotaUnits).toBe(6);
  });

  it('answers 429 with the same reason when so configured', async () => {
    const { call, events } = await startBench({ quotaPerUserPerMinute: 0, rateLimitStatus: 429 });
    expect(await call('GET', events)).toMatchObject({ status: 429, reason: 'userRateLimitExceeded' });
  });

  it('applies to the service account, unless quotaUser distinguishes users', async () => {
    const { sandbox, as, events } = await startBench({ quotaPerUserPerMinute: 1 });
    const robot = 'robot@project.iam.gserviceaccount.example';
    const keyFile = sandbox.createServiceAccount(robot, { subjects: 'all', scopes: ['calendar'] });
    const call = as((await serviceAccountToken(keyFile, { sub: DOCTOR })).access_token);
    expect((await call('GET', events)).status).toBe(200);
    expect((await call('GET', events)).status).toBe(403);
    expect((await call('GET', `${events}?quotaUser=tenant-1`)).status).toBe(200);
    expect((await call('GET', `${events}?quotaUser=tenant-1`)).status).toBe(403);
    expect((await call('GET', events, undefined, { 'x-goog-quota-user': 'tenant-2' })).status).toBe(200);
    expect((await call('GET', `${events}?quotaUser=${'x'.repeat(41)}`)).status).toBe(400);
    expect(sandbox.counts.quotaUnitsOf(robot)).toBe(1);
    expect(sandbox.counts.quotaUnitsOf('tenant-1')).toBe(1);
  });

  it('ignores quotaUser with the token of a user', async () => {
    const { call, events } = await startBench({ quotaPerUserPerMinute: 1 });
    expect((await call('GET', `${events}?quotaUser=a`)).status).toBe(200);
    expect((await call('GET', `${events}?quotaUser=b`)).status).toBe(403);
  });
});

describe('the limit per project', () => {
  it('is shared by all users of the project', async () => {
    const clients = [{}, { clientId: 'elsewhere', project: 'another' }];
    const { sandbox, call, as, events } = await startBench({ quotaPerProjectPerMinute: 2, clients });
    const other = as(sandbox.issueAccessToken('other@clinic.example'));
    await call('GET', events);
    await other('GET', '/calendars/primary/events');
    expect(await call('GET', events)).toMatchObject({ status: 403, reason: 'rateLimitExceeded' });
    const elsewhere = as(sandbox.issueAccessToken(DOCTOR, { clientId: 'elsewhere' }));
    expect((await elsewhere('GET', events)).status).toBe(200);
  });
});

describe('other limits', () => {
  it('of quick writes to one calendar', async () => {
    let now = 1_800_000_000_000;
    const { call, events } = await startBench({ calendarWritesPerSecond: 2, now: () => now });
    await call('POST', events, anEvent());
    await call('POST', events, anEvent());
    expect(await call('POST', events, anEvent())).toMatchObject({ status: 403, reason: 'rateLimitExceeded' });
    expect((await call('GET', events)).status).toBe(200);
    expect((await call('POST', '/calendars/primary/events', anEvent())).status).toBe(200);
    now += 1000;
    expect((await call('POST', events, anEvent())).status).toBe(200);
  });

  it('of new calendars in a day', async () => {
    const { call, sandbox } = await startBench({ newCalendarsPerDay: 1 });
    await call('POST', '/calendars', { summary: 'one' });
    sandbox.counts.reset();
    expect(await call('POST', '/calendars', { summary: 'two' })).toMatchObject({
      status: 403,
      reason: 'quotaExceeded',
    });
  });

  it.each([
    ['rate-limit', 'rateLimitExceeded', 403],
    ['user-rate-limit', 'userRateLimitExceeded', 403],
    ['daily-limit', 'dailyLimitExceeded', 403],
    ['use-limit', 'quotaExceeded', 200],
  ])('by the fault %s', async (kind, reason, readStatus) => {
    const { call, events, sandbox } = await startBench();
    sandbox.faults.add({ match: { client: DOCTOR }, fault: { kind } });
    const refused = await call('POST', events, anEvent());
    expect(refused).toMatchObject({ status: 403, reason });
    expect(refused.body.error.errors[0].domain).toBe('usageLimits');
    expect((await call('GET', events)).status).toBe(readStatus);
    expect(sandbox.faults.list()[0]?.applied).toBeGreaterThan(0);
  });
});
