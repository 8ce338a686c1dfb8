import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { googleCalendar } from '../../../src/connectors/google-calendar/index.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/http/client.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import { createOperation, describeOutcome, MARK, signal } from '../../contract/contract-kit.ts';
import { openGoogleTarget } from '../../contract/google-calendar-target.ts';

const ACCOUNT = 'person@clinic.example';

let target: Awaited<ReturnType<typeof openGoogleTarget>>;

beforeEach(async () => {
  target = await openGoogleTarget();
  target.sandbox.addAccount(ACCOUNT);
});

afterEach(() => target.close());

function open(calendar: { id: string } | { create: string }, scopes?: readonly string[]) {
  const token = target.sandbox.issueAccessToken(ACCOUNT, scopes === undefined ? {} : { scopes: [...scopes] });
  const header = async () => `Bearer ${token}`;
  return googleCalendar.open({
    settings: googleCalendar.settingsSchema.parse({ calendar, rootUrl: target.proxy.url }),
    ownerTag: MARK,
    authorizer: { header, renew: header, quotaUser: null },
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now }),
    shared: new SharedState(),
    log: silentLogger,
    clock: Date.now,
  });
}

function scopesFor(calendar: { id: string } | { create: string }) {
  return googleCalendar.neededScopes(googleCalendar.settingsSchema.parse({ calendar }), 'appointments');
}

describe('the calendar of a Google target', () => {
  test('primary is the calendar of the account', async () => {
    expect(await open({ id: 'primary' }).prepare(null, signal())).toBe(ACCOUNT);
  });

  test('a configured calendar that the account cannot see is a matter of settings', async () => {
    const worker = open({ id: target.container });
    await expect(worker.prepare(null, signal())).rejects.toMatchObject({ actor: 'settings', code: 'calendar-gone' });
  });

  test('a calendar that the account may only read is a matter of settings when written to', async () => {
    target.sandbox.setRole(target.container, ACCOUNT, 'reader');
    const worker = open({ id: target.container });
    await worker.prepare(null, signal());
    const call = worker.apply(target.container, [createOperation('a')], signal());
    await expect(call).rejects.toMatchObject({ actor: 'settings', code: 'calendar-forbidden', retry: 'never' });
  });

  test('is found again among more calendars than a page holds', async () => {
    for (let index = 0; index < 260; index += 1) target.sandbox.createCalendar(ACCOUNT, `Other ${index}`);
    const container = await open({ create: 'Appointments' }).prepare(null, signal());
    target.proxy.forget();
    expect(await open({ create: 'Another name' }).prepare(null, signal())).toBe(container);
    expect(target.proxy.requests.map((request) => request.method)).toEqual(['GET', 'GET']);
  });

  test('is found again by its owner tag when the remembered one is gone', async () => {
    const container = await open({ create: 'Appointments' }).prepare(null, signal());
    expect(await open({ create: 'Appointments' }).prepare('c_gone@group.calendar.google.com', signal())).toBe(
      container,
    );
  });

  test('tells nobody and says in its description what it is', async () => {
    await open({ create: 'Appointments' }).prepare(null, signal());
    const made = target.proxy.requests.find((request) => request.method === 'POST');
    expect(JSON.parse(made?.body ?? '')).toEqual({
      summary: 'Appointments',
      description: `Kept by clinic-mirror, which finds this calendar by the next line.\n[clinic-mirror ${MARK}]`,
    });
    expect(target.proxy.requests.every((request) => !request.url.includes('/acl'))).toBe(true);
    expect(target.sandbox.counts.mails).toBe(0);
  });

  test('the usage limit on new calendars pauses for an hour', async () => {
    target.sandbox.configure({ newCalendarsPerDay: 0 });
    const call = open({ create: 'Appointments' }).prepare(null, signal());
    await expect(call).rejects.toMatchObject({ actor: 'remote', code: 'usage-limit', retryAfterMs: 3_600_000 });
  });
});

describe('permissions', () => {
  test.each([{ create: 'Appointments' }, { id: 'primary' }])('those asked for are enough: %o', async (calendar) => {
    const worker = open(calendar, scopesFor(calendar));
    const container = await worker.prepare(null, signal());
    expect(await worker.prepare(container, signal())).toBe(container);
    const [outcome] = await worker.apply(container, [createOperation('a')], signal());
    expect(describeOutcome(outcome)).toBe('written created');
    let read = 0;
    for await (const page of worker.read(container, null, signal())) read += page.length;
    expect(read).toBe(1);
    expect(await worker.find(container, [createOperation('never').key], signal())).toEqual([]);
  });

  test.each([{ create: 'Appointments' }, { id: 'primary' }])('each of them is needed: %o', async (calendar) => {
    for (const missing of scopesFor(calendar)) {
      const scopes = scopesFor(calendar).filter((scope) => scope !== missing);
      const worker = open(calendar, scopes);
      const whole = async () => {
        const container = await worker.prepare(null, signal());
        await worker.apply(container, [createOperation('a')], signal());
      };
      await expect(whole(), missing).rejects.toMatchObject({ actor: 'authorization', code: 'scope-missing' });
    }
  });
});
