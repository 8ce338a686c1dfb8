import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { ProxiedAnswer } from '../../../sandbox/kit/fault-proxy.ts';
import { openCalendars } from '../../../src/connectors/google-calendar/connector.ts';
import { googleCalendar } from '../../../src/connectors/google-calendar/index.ts';
import { prepareCalendar } from '../../../src/connectors/owner.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { TimeWindow } from '../../../src/core/model/time.ts';
import {
  createKit,
  createOperation,
  describeOutcome,
  itemWith,
  keyOf,
  MARK,
  signal,
  updateOperation,
} from '../../contract/contract-kit.ts';
import { openGoogleTarget } from '../../contract/google-calendar-target.ts';
import { containerOf } from '../../support/container-of.ts';

const WINDOW: TimeWindow = { fromAt: Date.parse('2027-02-01T00:00:00Z'), toAt: Date.parse('2027-05-01T00:00:00Z') };

const FEED = { method: /^GET$/, url: /\/events\?.*syncToken=/ };

const LISTING = { method: /^GET$/, url: /\/events\?.*privateExtendedProperty=/ };

const BATCH = { method: /^POST$/, url: /^\/batch\// };

async function openWorld() {
  const target = await openGoogleTarget();
  onTestFinished(() => target.close());
  const { sandbox, proxy, container } = target;
  const kit = createKit(target);
  const answers: string[] = [];
  const ask = (cursor: string | null) => kit.connector.changes(container, { cursor, window: WINDOW }, signal());
  /** Creates records and returns the cursor of a first fetch. */
  async function begin(...recordIds: string[]) {
    await kit.create(...recordIds);
    return (await ask(null)).cursor;
  }
  const edit = (recordId: string, title: string) => sandbox.editByHand(container, keyOf(recordId), { summary: title });
  /** Keeps the bodies of all answers from now on. */
  function listen() {
    const keep = (answer: ProxiedAnswer) => {
      answers.push(answer.body.toString());
      return answer;
    };
    proxy.add({ times: Number.POSITIVE_INFINITY, fault: { kind: 'rewrite', answer: keep } });
    return answers;
  }
  return { target, sandbox, proxy, container, kit, ask, begin, edit, listen };
}

function refusal(status: number, reason: string): ProxiedAnswer {
  const error = { code: status, message: reason, errors: [{ domain: 'calendar', reason, message: reason }] };
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ error }) };
}

test('an endless feed is abandoned, and a full read follows', async () => {
  const { proxy, begin, ask } = await openWorld();
  const cursor = await begin('a', 'b');
  let serial = 0;
  const another = (answer: ProxiedAnswer) => {
    serial += 1;
    return { ...answer, status: 200, body: JSON.stringify({ items: [], nextPageToken: `page-${serial}` }) };
  };
  proxy.add({ ...FEED, times: Number.POSITIVE_INFINITY, fault: { kind: 'rewrite', answer: another } });
  const { scope, items } = await ask(cursor);
  expect({ scope, count: items.length, serial }).toEqual({ scope: 'whole', count: 2, serial: 200 });
});

describe('a sync token', () => {
  test.each([
    [410, 'fullSyncRequired'],
    [410, 'updatedMinTooLongAgo'],
    [400, 'invalid'],
  ])('that is refused by %d %s causes a full read without a removal', async (status, reason) => {
    const { proxy, begin, ask, edit } = await openWorld();
    const cursor = await begin('a', 'b');
    proxy.add({ ...FEED, fault: { kind: 'answer', answer: refusal(status, reason) } });
    const whole = await ask(cursor);
    expect(whole).toMatchObject({ scope: 'whole', removed: [] });
    expect(whole.items).toHaveLength(2);
    edit('a', 'By hand');
    expect(await ask(whole.cursor)).toMatchObject({ scope: 'since', items: [{ key: keyOf('a') }], removed: [] });
  });

  test('that expires between its pages also causes a full read', async () => {
    const { target, proxy, begin, ask, kit } = await openWorld();
    const cursor = await begin('a');
    proxy.add({ ...FEED, after: 1, fault: { kind: 'answer', answer: refusal(410, 'fullSyncRequired') } });
    target.dialect.changesPageLength?.(2);
    await kit.create('b', 'c', 'd');
    const { scope, items } = await ask(cursor);
    expect({ scope, count: items.length }).toEqual({ scope: 'whole', count: 4 });
  });

  test('arrives only with the last page, so that an interrupted read is repeated', async () => {
    const { target, proxy, begin, ask, kit } = await openWorld();
    const cursor = await begin('a');
    // A page that is lost on a kept connection is requested once more at once.
    proxy.add({ ...FEED, after: 2, times: 2, fault: { kind: 'cut' } });
    target.dialect.changesPageLength?.(2);
    await kit.create('b', 'c', 'd', 'e', 'f');
    await expect(ask(cursor)).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
    expect((await ask(cursor)).items).toHaveLength(5);
  });

  test('that does not come leaves the next reading whole', async () => {
    const { proxy, begin, ask } = await openWorld();
    const cursor = await begin('a');
    const without = (answer: ProxiedAnswer) => ({ ...answer, body: JSON.stringify({ items: [] }) });
    proxy.add({ ...FEED, fault: { kind: 'rewrite', answer: without } });
    expect(await ask(cursor)).toEqual({ scope: 'since', items: [], removed: [], cursor: null });
    expect((await ask(null)).scope).toBe('whole');
  });

  test('is taken before the listing, so that changes in between are not lost', async () => {
    const { proxy, kit, ask, edit } = await openWorld();
    await kit.create('a', 'b');
    const editNow = (answer: ProxiedAnswer) => {
      edit('a', 'In between');
      return answer;
    };
    proxy.add({ ...LISTING, fault: { kind: 'rewrite', answer: editNow } });
    const { cursor } = await ask(null);
    expect(await ask(cursor)).toMatchObject({ items: [{ key: keyOf('a'), item: { title: 'In between' } }] });
  });

  test('is sent without a filter, which Google would refuse', async () => {
    const { proxy, begin, ask } = await openWorld();
    const cursor = await begin('a');
    proxy.forget();
    await ask(cursor);
    const [request] = proxy.requests;
    const names = [...new URL(request!.url, proxy.url).searchParams.keys()].sort();
    expect(names).toEqual(['fields', 'maxResults', 'syncToken']);
  });
});

describe('the feed of a calendar that others use too', () => {
  test('never carries what is theirs: neither at the beginning nor when they change it', async () => {
    const { sandbox, container, begin, ask, edit, listen, target } = await openWorld();
    const foreign = await target.server.putForeign('Their secret');
    const answers = listen();
    const cursor = await begin('a');
    sandbox.editByHand(container, foreign, { summary: 'Their secret, changed', description: 'More of it' });
    edit('a', 'By hand');
    const second = await ask(cursor);
    expect(second).toMatchObject({ items: [{ key: keyOf('a'), item: { title: 'By hand' } }], removed: [foreign] });
    expect(answers.length).toBeGreaterThan(3);
    expect(answers.join()).not.toMatch(/secret|More of it/);
    expect(answers.join()).toContain('By hand');
  });

  test('reports events that were deleted during the read as removed', async () => {
    const { sandbox, proxy, container, begin, ask, edit } = await openWorld();
    const cursor = await begin('a', 'b');
    edit('a', 'By hand');
    edit('b', 'By hand');
    const deleteFirst = (request: { method: string; url: string; headers: Record<string, string>; body: string }) => {
      sandbox.deleteByHand(container, keyOf('a'));
      return request;
    };
    proxy.add({ ...BATCH, fault: { kind: 'rewrite', request: deleteFirst } });
    expect(await ask(cursor)).toMatchObject({ items: [{ key: keyOf('b') }], removed: [keyOf('a')] });
  });

  test('fails as a whole when one of the changed events cannot be read', async () => {
    const { sandbox, begin, ask, edit } = await openWorld();
    const cursor = await begin('a', 'b');
    edit('a', 'By hand');
    edit('b', 'By hand');
    const match = { path: `/events/${keyOf('b')}` };
    sandbox.faults.add({ match, times: 1, fault: { kind: 'status', status: 503 } });
    await expect(ask(cursor)).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
    expect((await ask(cursor)).items).toHaveLength(2);
  });

  test('after a first sync costs a listing, not a call for each event', async () => {
    const { sandbox, begin, ask, kit } = await openWorld();
    const cursor = await begin('a');
    await kit.create(...Array.from({ length: 150 }, (_, index) => `r${index}`));
    const before = sandbox.counts.quotaUnits;
    const { scope, items } = await ask(cursor);
    expect({ scope, count: items.length }).toEqual({ scope: 'whole', count: 151 });
    expect(sandbox.counts.quotaUnits - before).toBe(2);
  });
});

describe('what a write stored', () => {
  test.each([
    ['respelt', { summary: 'APPOINTMENT' }, { title: 'APPOINTMENT' }],
    [
      'rounded',
      { end: { dateTime: '2027-03-10T00:45:00-08:00', timeZone: 'Europe/Rome' } },
      { time: { end: '2027-03-10T09:45:00+01:00' } },
    ],
    ['public', { visibility: 'public' }, undefined],
    ['given a guest', { attendees: [{ email: 'someone@example.com' }] }, { title: 'Changed' }],
    ['no longer marked', { extendedProperties: {} }, { title: 'Changed' }],
  ])('is reported when it was %s, unless it is no longer an item of clinic-mirror', async (_name, fields, stored) => {
    const { kit, proxy } = await openWorld();
    const [created] = await kit.create('a');
    expect(created).toMatchObject({ stored: itemWith() });
    const rewrite = (answer: ProxiedAnswer): ProxiedAnswer => ({
      ...answer,
      body: answer.body.toString().replace(/\{.*\}/s, (event) => JSON.stringify({ ...JSON.parse(event), ...fields })),
    });
    proxy.add({ ...BATCH, fault: { kind: 'rewrite', answer: rewrite } });
    const [outcome] = await kit.attempt([updateOperation('a', itemWith({ title: 'Changed' }), created!.versionTag)]);
    expect(outcome).toMatchObject({ result: 'written', effect: 'updated', ...(stored && { stored }) });
    if (stored === undefined) expect(outcome).not.toHaveProperty('stored');
  });

  test('of an adopted or unchanged event equals the existing event', async () => {
    const { kit } = await openWorld();
    await kit.create('a');
    const [outcome] = await kit.attempt([createOperation('a')]);
    expect(outcome).toMatchObject({ effect: 'adopted', stored: itemWith() });
  });
});

/** An account whose calendars are all made before any of their makers gets an answer. */
function accountWhereAllCreateAtOnce(workers: number) {
  const items: { id: string; description: string }[] = [];
  const answer = (body: unknown) => ({ status: 200, body, retryAfterMs: null });
  const everybodyCreated = Promise.withResolvers<void>();
  return {
    items,
    get: async () => ({ status: 404, body: undefined, retryAfterMs: null }),
    list: async () => answer({ items: [...items] }),
    async insert({ description }: { description: string }) {
      const made = { id: `c_${workers - items.length}`, description };
      items.push(made);
      if (items.length === workers) everybodyCreated.resolve();
      await everybodyCreated.promise;
      return answer(made);
    },
  };
}

test('workers that create their calendar at the same moment agree on the one with the lowest id', async () => {
  const account = accountWhereAllCreateAtOnce(3);
  const prepare = (ownerTag: string) =>
    prepareCalendar(openCalendars(account, ownerTag, null), { create: 'Appointments' }, null, { creates: true });
  expect(await Promise.all(['ownerTag', 'ownerTag', 'ownerTag'].map(prepare))).toEqual(['c_1', 'c_1', 'c_1']);
  expect(await prepare('ownerTag')).toBe('c_1');
  expect(account.items).toHaveLength(3);
});

describe('a calendar at the sandbox', () => {
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
      expect(await containerOf(open({ id: 'primary' }), null, signal())).toBe(ACCOUNT);
    });

    test('a configured calendar that the account cannot see is a matter of settings', async () => {
      const worker = open({ id: target.container });
      await expect(containerOf(worker, null, signal())).rejects.toMatchObject({
        actor: 'settings',
        code: 'calendar-gone',
      });
    });

    test('a calendar that the account may only read is a matter of settings when written to', async () => {
      target.sandbox.setRole(target.container, ACCOUNT, 'reader');
      const worker = open({ id: target.container });
      await containerOf(worker, null, signal());
      const call = worker.apply(target.container, [createOperation('a')], signal());
      await expect(call).rejects.toMatchObject({ actor: 'settings', code: 'calendar-forbidden', retry: 'never' });
    });

    test('is found again among more calendars than a page holds', async () => {
      for (let index = 0; index < 260; index += 1) target.sandbox.createCalendar(ACCOUNT, `Other ${index}`);
      const container = await containerOf(open({ create: 'Appointments' }), null, signal());
      target.proxy.forget();
      expect(await containerOf(open({ create: 'Another name' }), null, signal())).toBe(container);
      expect(target.proxy.requests.map((request) => request.method)).toEqual(['GET', 'GET']);
    });

    test('is found again by its owner tag when the remembered one is gone', async () => {
      const container = await containerOf(open({ create: 'Appointments' }), null, signal());
      expect(await containerOf(open({ create: 'Appointments' }), 'c_gone@group.calendar.google.com', signal())).toBe(
        container,
      );
    });

    test('is shared with no one and shows its purpose in its description', async () => {
      await containerOf(open({ create: 'Appointments' }), null, signal());
      const made = target.proxy.requests.find((request) => request.method === 'POST');
      expect(JSON.parse(made?.body ?? '')).toEqual({
        summary: 'Appointments',
        description: `Managed by clinic-mirror, which identifies this calendar by the next line.\n[clinic-mirror ${MARK}]`,
      });
      expect(target.proxy.requests.every((request) => !request.url.includes('/acl'))).toBe(true);
      expect(target.sandbox.counts.mails).toBe(0);
    });

    test('the usage limit on new calendars pauses for an hour', async () => {
      target.sandbox.configure({ newCalendarsPerDay: 0 });
      const call = containerOf(open({ create: 'Appointments' }), null, signal());
      await expect(call).rejects.toMatchObject({ actor: 'remote', code: 'usage-limit', retryAfterMs: 3_600_000 });
    });
  });

  describe('permissions', () => {
    test.each([{ create: 'Appointments' }, { id: 'primary' }])('those asked for are enough: %o', async (calendar) => {
      const worker = open(calendar, scopesFor(calendar));
      const container = await containerOf(worker, null, signal());
      expect(await containerOf(worker, container, signal())).toBe(container);
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
          const container = await containerOf(worker, null, signal());
          await worker.apply(container, [createOperation('a')], signal());
        };
        await expect(whole(), missing).rejects.toMatchObject({ actor: 'authorization', code: 'scope-missing' });
      }
    });
  });
});
