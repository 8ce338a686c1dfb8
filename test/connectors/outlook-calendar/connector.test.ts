import { describe, expect, onTestFinished, test } from 'vitest';
import type { ProxiedAnswer } from '../../../sandbox/kit/fault-proxy.ts';
import { DAY_MS, type TimeWindow } from '../../../src/core/model/time.ts';
import { createKit, createOperation, itemWith, keyOf, signal, updateOperation } from '../../contract/contract-kit.ts';
import { ACCOUNT, openOutlookTarget, refusal } from '../../contract/outlook-calendar-target.ts';

const WINDOW: TimeWindow = { fromAt: Date.parse('2027-02-01T00:00:00Z'), toAt: Date.parse('2027-05-01T00:00:00Z') };
const DELTA = { method: /^GET$/, url: /\/calendarView\/delta\?/ };
const LISTING = { method: /^GET$/, url: /\/events\?.*singleValueExtendedProperties/ };
const FOREVER = { times: Number.POSITIVE_INFINITY };

async function openWorld() {
  const target = await openOutlookTarget();
  onTestFinished(() => target.close());
  const { sandbox, proxy, container } = target;
  const kit = createKit(target);
  const ask = (cursor: string | null, window = WINDOW) =>
    kit.connector.changes(container, { cursor, window }, signal());
  /** Creates records and returns the cursor of a first fetch. */
  async function begin(...recordIds: string[]) {
    await kit.create(...recordIds);
    return (await ask(null)).cursor;
  }
  const edit = async (recordId: string, title: string) =>
    sandbox.editByHand(ACCOUNT, (await kit.object(recordId)).remoteId, { subject: title });
  return { target, sandbox, proxy, container, kit, ask, begin, edit };
}

/** Requests one event per page. */
function smallPages<Request extends { headers: Record<string, string> }>(request: Request): Request {
  const prefer = (request.headers.prefer ?? '').replace(/maxpagesize=\d+/, 'maxpagesize=1');
  return { ...request, headers: { ...request.headers, prefer } };
}

/** Changes the page of a list. */
function changePage(change: (page: { value: object[]; [link: string]: unknown }) => object) {
  return (answer: ProxiedAnswer): ProxiedAnswer => ({
    ...answer,
    body: JSON.stringify(change(JSON.parse(answer.body.toString()))),
  });
}

describe('a delta link that is lost', () => {
  test.each([
    [410, 'resyncRequired'],
    [410, 'SyncStateNotFound'],
    [404, 'syncStateNotFound'],
    [400, 'syncStateInvalid'],
    [403, 'resyncRequired'],
    [400, 'BadRequest'],
  ])('with %d %s causes a full read and a new link', async (status, code) => {
    const { proxy, begin, ask, edit } = await openWorld();
    const cursor = await begin('a', 'b');
    const location = 'https://elsewhere.example/v1.0/me/calendarView/delta';
    const { headers, body } = refusal(status, code);
    proxy.add({ ...DELTA, fault: { kind: 'answer', answer: { status, headers: { ...headers, location }, body } } });
    const whole = await ask(cursor);
    expect(whole.scope).toBe('whole');
    expect(whole.items).toHaveLength(2);
    await edit('a', 'By hand');
    expect(await ask(whole.cursor)).toMatchObject({ scope: 'since', items: [{ key: keyOf('a') }], removed: [] });
  });

  test.each(['gone', 'not-found'] as const)('as the service ends it (%s), without anything removed', async (end) => {
    const { sandbox, begin, ask, kit } = await openWorld();
    const cursor = await begin('a', 'b');
    sandbox.deleteByHand(ACCOUNT, (await kit.object('b')).remoteId);
    sandbox.expireDeltaTokens(end);
    expect(await ask(cursor)).toMatchObject({ scope: 'whole', items: [{ key: keyOf('a') }], removed: [] });
  });

  test('in the middle of a round also causes a full read', async () => {
    const { target, proxy, begin, ask, kit } = await openWorld();
    const cursor = await begin('a');
    proxy.add({ ...DELTA, after: 1, fault: { kind: 'answer', answer: refusal(410, 'resyncRequired') } });
    target.dialect.changesPageLength?.(2);
    await kit.create('b', 'c', 'd');
    const { scope, items } = await ask(cursor);
    expect({ scope, count: items.length }).toEqual({ scope: 'whole', count: 4 });
  });
});

describe('a delta round', () => {
  test('that replays and repeats changes reports each object once, in its current state', async () => {
    const { target, sandbox, begin, ask, kit, edit } = await openWorld();
    const cursor = await begin('a', 'b', 'c');
    sandbox.configure({ deltaReplays: true });
    target.dialect.changesPageLength?.(1);
    await edit('a', 'Once');
    await edit('b', 'By hand');
    await edit('a', 'Twice');
    const { scope, items, cursor: next } = await ask(cursor);
    expect(scope).toBe('since');
    const titles = new Map(items.map(({ key, item }) => [key, item?.title]));
    expect(titles.size).toBe(items.length);
    expect([titles.get(keyOf('a')), titles.get(keyOf('b'))]).toEqual(['Twice', 'By hand']);
    const replayed = await ask(next);
    const asTheyAre = await kit.readAll();
    expect(replayed).toMatchObject({ scope: 'since', removed: [] });
    for (const item of replayed.items) expect(asTheyAre).toContainEqual(item);
  });

  test('that contains an event as both changed and removed is resolved by a check', async () => {
    const { proxy, begin, ask, kit, edit } = await openWorld();
    const cursor = await begin('a', 'b');
    const gone = await kit.object('b');
    await kit.target.server.deleteByHand(gone.remoteId);
    await edit('a', 'By hand');
    const { remoteId } = await kit.object('a');
    proxy.add({
      ...DELTA,
      fault: {
        kind: 'rewrite',
        answer: changePage(({ value, ...links }) => {
          const removed = { id: remoteId, '@removed': { reason: 'deleted' } };
          return { ...links, value: [...value, removed, { id: gone.remoteId, subject: 'Replayed' }] };
        }),
      },
    });
    const { items, removed } = await ask(cursor);
    expect(items).toMatchObject([{ key: keyOf('a'), item: { title: 'By hand' } }]);
    expect(removed).toEqual([gone.remoteId]);
  });

  test('that reports an event outside of its window as removed keeps the event', async () => {
    const { begin, ask, kit } = await openWorld();
    const cursor = await begin('a');
    const { remoteId } = await kit.object('a');
    const [a] = await kit.readAll();
    const time = { kind: 'timed', start: '2026-06-10T09:00:00+02:00', end: '2026-06-10T10:00:00+02:00' } as const;
    const moved = itemWith({ time: { ...time, zone: 'Europe/Rome' } });
    await kit.attempt([updateOperation('a', moved, a!.versionTag, remoteId)]);
    expect(await ask(cursor)).toMatchObject({ items: [{ remoteId, item: moved }], removed: [] });
  });

  test('reports an event that a user moved to another calendar as removed', async () => {
    const { sandbox, begin, ask, kit } = await openWorld();
    const cursor = await begin('a', 'b');
    const { remoteId } = await kit.object('a');
    sandbox.moveByHand(ACCOUNT, remoteId, 'default');
    expect(await ask(cursor)).toMatchObject({ scope: 'since', items: [], removed: [remoteId] });
  });

  test('begins before the listing, so that changes in between are not lost', async () => {
    const { sandbox, proxy, ask, kit } = await openWorld();
    await kit.create('a', 'b');
    const { remoteId } = await kit.object('a');
    const editNow = (answer: ProxiedAnswer) => {
      sandbox.editByHand(ACCOUNT, remoteId, { subject: 'In between' });
      return answer;
    };
    proxy.add({ ...LISTING, fault: { kind: 'rewrite', answer: editNow } });
    const { cursor } = await ask(null);
    expect(await ask(cursor)).toMatchObject({ items: [{ key: keyOf('a'), item: { title: 'In between' } }] });
  });

  test('that leads in a circle, or to no page, causes a full read, also in the first round', async () => {
    const { proxy, begin, ask } = await openWorld();
    const cursor = await begin('a');
    for (const link of ['same', 'https://graph.microsoft.com/v2.0/nowhere', 'nonsense']) {
      for (const from of [cursor, null]) {
        proxy.add({
          ...DELTA,
          times: 2,
          fault: {
            kind: 'rewrite',
            answer: (answer, { url }) =>
              changePage(() => ({ value: [], '@odata.nextLink': link === 'same' ? `http://x${url}` : link }))(answer),
          },
        });
        expect(await ask(from)).toMatchObject({ scope: 'whole', items: [{ key: keyOf('a') }], cursor: null });
        proxy.clear();
      }
    }
    expect(await ask(cursor)).toMatchObject({ scope: 'since', items: [] });
  });
});

describe('a round without an end', () => {
  test('is abandoned after a few repeated pages, and a full read follows: in the first round and in later rounds', async () => {
    const { sandbox, proxy, begin, ask, edit } = await openWorld();
    const cursor = await begin('a', 'b');
    await edit('a', 'By hand');
    sandbox.faults.add({ fault: { kind: 'delta-endless' } });
    for (const from of [cursor, null]) {
      proxy.forget();
      const { scope, items, cursor: next } = await ask(from);
      expect({ scope, count: items.length, next }).toEqual({ scope: 'whole', count: 2, next: null });
      expect(proxy.requests.filter(({ url }) => DELTA.url.test(url)).length).toBeLessThanOrEqual(6);
    }
  });

  test('of pages that name something new each time is given up too, in the end', async () => {
    const { proxy, begin, ask } = await openWorld();
    const cursor = await begin('a');
    let serial = 0;
    const another = (answer: ProxiedAnswer, { url }: { url: string }) => {
      serial += 1;
      const page = { value: [{ id: `stranger-${serial}` }], '@odata.nextLink': `https://x${url}&n=${serial}` };
      return changePage(() => page)(answer);
    };
    proxy.add({ ...DELTA, ...FOREVER, fault: { kind: 'rewrite', answer: another } });
    expect(await ask(cursor)).toMatchObject({ scope: 'whole', items: [{ key: keyOf('a') }], cursor: null });
    expect(serial).toBe(500);
  });

  test('excludes a few empty pages, and one repeated page', async () => {
    const { proxy, begin, ask, edit } = await openWorld();
    const cursor = await begin('a');
    await edit('a', 'By hand');
    for (const [index, values] of ['none', 'none', 'none', 'same', 'same', 'none'].entries()) {
      const before = (answer: ProxiedAnswer, { url }: { url: string }) =>
        changePage(({ value }) => ({
          value: values === 'same' ? value : [],
          '@odata.nextLink': `https://x${url}&page${index}=1`,
        }))(answer);
      proxy.add({ ...DELTA, fault: { kind: 'rewrite', answer: before } });
    }
    expect(await ask(cursor)).toMatchObject({ scope: 'since', items: [{ key: keyOf('a') }] });
  });
});

describe('a delta link', () => {
  test('that names another host is followed on the configured host: credentials go to no other host', async () => {
    const { proxy, begin, ask, kit, edit } = await openWorld();
    const elsewhere = changePage((page) => {
      const links = Object.entries(page).filter(([name]) => name.endsWith('Link'));
      const moved = links.map(([name, link]) => [name, String(link).replace(/^http:..[^/]+/, 'https://evil.example')]);
      return { ...page, ...Object.fromEntries(moved) };
    });
    proxy.add({ ...DELTA, ...FOREVER, fault: { kind: 'rewrite', answer: elsewhere } });
    const cursor = await begin('a');
    await edit('a', 'By hand');
    proxy.forget();
    expect(await ask(cursor)).toMatchObject({ scope: 'since', items: [{ key: keyOf('a') }] });
    expect(proxy.requests.filter(({ url }) => DELTA.url.test(url))).toHaveLength(1);
    expect(Buffer.from(cursor ?? '', 'base64url').toString()).not.toContain('evil');
    expect(await kit.objects()).toHaveLength(1);
  });

  test('is valid for a window that moves with the days, and not for a window outside of its range', async () => {
    const { begin, ask } = await openWorld();
    const cursor = await begin('a');
    const movedBy = (days: number) => ({ fromAt: WINDOW.fromAt + days * DAY_MS, toAt: WINDOW.toAt + days * DAY_MS });
    expect((await ask(cursor, movedBy(2))).scope).toBe('since');
    const whole = await ask(cursor, movedBy(4));
    expect(whole).toMatchObject({ scope: 'whole', items: [{ key: keyOf('a') }] });
    expect((await ask(whole.cursor, movedBy(6))).scope).toBe('since');
    expect((await ask(cursor, movedBy(-1))).scope).toBe('whole');
  });

  test('that is too long to keep leaves every reading whole', async () => {
    const { proxy, begin, ask } = await openWorld();
    const longer = changePage((page) => ({
      ...page,
      '@odata.deltaLink': `${page['@odata.deltaLink']}${'x'.repeat(9_000)}`,
    }));
    proxy.add({ ...DELTA, fault: { kind: 'rewrite', answer: longer } });
    expect(await begin('a')).toBeNull();
    expect((await ask(null)).scope).toBe('whole');
  });
});

describe('a calendar', () => {
  test.each([
    [400, 'ErrorInvalidRequest'],
    [404, 'ResourceNotFound'],
    [405, 'MethodNotAllowed'],
    [501, 'NotImplemented'],
    [403, 'ErrorAccessDenied'],
  ])('that offers no delta (%d %s) is read whole each time', async (status, code) => {
    const { proxy, begin, ask } = await openWorld();
    proxy.add({ ...DELTA, ...FOREVER, fault: { kind: 'answer', answer: refusal(status, code) } });
    expect(await begin('a', 'b')).toBeNull();
    const { scope, items, cursor } = await ask(null);
    expect({ scope, count: items.length, cursor }).toEqual({ scope: 'whole', count: 2, cursor: null });
  });

  test('of which only the first page of delta may be read, as of a shared one, is read whole each time', async () => {
    const { sandbox, begin, ask, proxy } = await openWorld();
    proxy.add({ ...DELTA, ...FOREVER, fault: { kind: 'rewrite', request: smallPages } });
    sandbox.faults.add({ fault: { kind: 'delta-next-forbidden' } });
    expect(await begin('a', 'b', 'c')).toBeNull();
    expect(await ask(null)).toMatchObject({ scope: 'whole', items: [{}, {}, {}], cursor: null });
  });

  test('that cannot be read is reported', async () => {
    const { proxy, begin, ask } = await openWorld();
    const cursor = await begin('a');
    for (const match of [DELTA, LISTING]) {
      proxy.add({ ...match, ...FOREVER, fault: { kind: 'answer', answer: refusal(403, 'ErrorAccessDenied') } });
    }
    await expect(ask(cursor)).rejects.toMatchObject({ code: 'calendar-forbidden' });
  });

  test.each([
    [429, 'ApplicationThrottled', 'rate-limited'],
    [503, 'ServerBusy', 'server-error'],
    [401, 'InvalidAuthenticationToken', 'login-refused'],
  ])('whose delta is refused for now (%d %s) is not read whole for it', async (status, code, expected) => {
    const { proxy, begin, ask } = await openWorld();
    const cursor = await begin('a');
    proxy.add({ ...DELTA, ...FOREVER, fault: { kind: 'answer', answer: refusal(status, code) } });
    proxy.forget();
    await expect(ask(cursor)).rejects.toMatchObject({ code: expected });
    expect(proxy.requests.every(({ url }) => DELTA.url.test(url))).toBe(true);
  });

  test('with many foreign events is queried for them in batches, and their data is not kept', async () => {
    const { sandbox, proxy, container, begin, ask } = await openWorld();
    const cursor = await begin('a');
    const time = { dateTime: '2027-03-11T09:00:00', timeZone: 'UTC' };
    for (let count = 0; count < 45; count += 1) {
      sandbox.addByHand(ACCOUNT, container, { subject: `Stranger ${count}`, start: time, end: time });
    }
    proxy.forget();
    const { scope, items, removed } = await ask(cursor);
    expect({ scope, items, removed: removed.length }).toEqual({ scope: 'since', items: [], removed: 45 });
    expect(proxy.requests).toHaveLength(1 + Math.ceil(45 / 20));
    expect(JSON.stringify({ removed })).not.toContain('Stranger');
  });
});

describe('what a write stored', () => {
  test('equals the answer of the write, in the spelling of the mailbox', async () => {
    const { kit, sandbox } = await openWorld();
    sandbox.configure({ normalizeBodies: true });
    const [outcome] = await kit.attempt([createOperation('a', itemWith({ description: 'a < b & c\nd' }))]);
    const [read] = await kit.readAll();
    expect(outcome).toMatchObject({ stored: read?.item });
  });

  test.each([
    ['was respelt', { subject: 'APPOINTMENT' }, { title: 'APPOINTMENT' }],
    [
      'was rounded',
      { end: { dateTime: '2027-03-10T08:45:00.0000000', timeZone: 'UTC' } },
      { time: { end: '2027-03-10T09:45:00+01:00' } },
    ],
    ['is not private', { sensitivity: 'normal' }, { visibility: 'default' }],
    ['has times in another zone', { start: { dateTime: '2027-03-10T03:00:00', timeZone: 'Central' } }, undefined],
  ])('shows what %s, or nothing when it is no item', async (_name, fields, stored) => {
    const { kit, proxy } = await openWorld();
    const rewrite = (answer: ProxiedAnswer): ProxiedAnswer => {
      const { responses } = JSON.parse(answer.body.toString()) as { responses: { body: object }[] };
      const changed = responses.map((part) => ({ ...part, body: { ...part.body, ...fields } }));
      return { ...answer, body: JSON.stringify({ responses: changed }) };
    };
    proxy.add({ method: /^POST$/, url: /\/\$batch$/, fault: { kind: 'rewrite', answer: rewrite } });
    const [outcome] = await kit.attempt([createOperation('a')]);
    expect(outcome).toMatchObject({ result: 'written', effect: 'created', ...(stored && { stored }) });
    if (stored === undefined) expect(outcome).not.toHaveProperty('stored');
  });
});
