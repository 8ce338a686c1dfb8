import { describe, expect, it } from 'vitest';
import { type Answer, anEvent, type Bench, startBench } from './support.ts';

function ids(answer: Answer): string[] {
  return answer.body.items.map((item: { id: string }) => item.id);
}

/** Reads every page; the ids of each page and the last answer. */
async function readAll(call: Bench['call'], path: string): Promise<{ pages: string[][]; last: Answer }> {
  const pages: string[][] = [];
  let pageToken: string | undefined;
  for (;;) {
    const more = pageToken === undefined ? '' : `&pageToken=${pageToken}`;
    const last = await call('GET', path + more);
    expect(last.status).toBe(200);
    pages.push(ids(last));
    pageToken = last.body.nextPageToken;
    expect(last.body.nextSyncToken === undefined || pageToken === undefined).toBe(true);
    if (pageToken === undefined) {
      return { pages, last };
    }
  }
}

/** Five events, event1 to event5, on the first five days of March. */
async function withEvents(options = {}): Promise<Bench> {
  const bench = await startBench(options);
  for (let day = 1; day <= 5; day++) {
    const properties = { private: { owner: 'us', day: String(day) }, shared: { kind: day % 2 ? 'odd' : 'even' } };
    bench.sandbox.addByHand(
      bench.calendarId,
      anEvent({ id: `event${day}`, summary: `Visit ${day}`, extendedProperties: properties }, day),
    );
  }
  return bench;
}

describe('listing events', () => {
  it('answers a page with the calendar’s own data', async () => {
    const { call, events } = await withEvents();
    const { body } = await call('GET', events);
    expect(body).toMatchObject({
      kind: 'calendar#events',
      summary: 'Appointments',
      timeZone: 'Europe/Zurich',
      accessRole: 'owner',
      defaultReminders: [],
    });
    expect(body.items).toHaveLength(5);
  });

  it('answers times in the requested zone', async () => {
    const { call, events } = await withEvents();
    const { body } = await call('GET', `${events}?timeZone=America/New_York`);
    expect(body.items[0].start).toEqual({ dateTime: '2027-03-01T03:00:00-05:00', timeZone: 'Europe/Zurich' });
    expect((await call('GET', `${events}?timeZone=Nowhere`)).status).toBe(400);
  });

  it.each([
    ['privateExtendedProperty=day%3D2', ['event2']],
    ['privateExtendedProperty=owner%3Dus&privateExtendedProperty=day%3D3', ['event3']],
    ['privateExtendedProperty=owner%3Dus&sharedExtendedProperty=kind%3Deven', ['event2', 'event4']],
    ['sharedExtendedProperty=kind%3Dnone', []],
    ['iCalUID=event4%40google.com', ['event4']],
    ['q=visit%205', ['event5']],
    ['timeMin=2027-03-03T09:00:00Z', ['event4', 'event5']],
    ['timeMin=2027-03-03T08:59:59Z', ['event3', 'event4', 'event5']],
    ['timeMax=2027-03-02T08:00:00Z', ['event1']],
    ['timeMax=2027-03-02T08:00:01Z', ['event1', 'event2']],
    ['timeMin=2027-03-02T00:00:00Z&timeMax=2027-03-04T00:00:00%2B01:00', ['event2', 'event3']],
    ['eventTypes=focusTime', []],
  ])('filters by %s', async (query, expected) => {
    const { call, events } = await withEvents();
    expect(ids(await call('GET', `${events}?${query}`))).toEqual(expected);
  });

  it('finds by a property no longer after it was changed', async () => {
    const { call, events, sandbox, calendarId } = await withEvents();
    sandbox.editByHand(calendarId, 'event2', { extendedProperties: { private: { day: '7' } } });
    expect(ids(await call('GET', `${events}?privateExtendedProperty=day%3D2`))).toEqual([]);
    expect(ids(await call('GET', `${events}?privateExtendedProperty=day%3D7`))).toEqual(['event2']);
  });

  it.each([
    ['timeMin=2027-03-01', 'invalid'],
    ['timeMin=2027-03-01T00:00:00', 'invalid'],
    ['timeMin=2027-03-02T00:00:00Z&timeMax=2027-03-02T00:00:00Z', 'timeRangeEmpty'],
    ['orderBy=startTime', 'invalid'],
    ['orderBy=name', 'invalid'],
    ['maxResults=0', 'invalid'],
    ['maxResults=many', 'invalid'],
    ['privateExtendedProperty=novalue', 'invalid'],
    ['pageToken=nonsense', 'invalid'],
    ['syncToken=nonsense', 'invalid'],
    ['fields=items(id', 'invalidParameter'],
  ])('refuses %s', async (query, reason) => {
    const { call, events } = await withEvents();
    expect(await call('GET', `${events}?${query}`)).toMatchObject({ status: 400, reason });
  });

  it('orders by start and by last change', async () => {
    const { call, events, sandbox, calendarId } = await withEvents();
    sandbox.addByHand(calendarId, earlier());
    sandbox.editByHand(calendarId, 'event1', { summary: 'changed last' });
    const byStart = ids(await call('GET', `${events}?orderBy=startTime&singleEvents=true`));
    expect(byStart).toEqual(['first', 'event1', 'event2', 'event3', 'event4', 'event5']);
    expect(ids(await call('GET', `${events}?orderBy=updated`)).at(-1)).toBe('event1');
  });

  it('shows deleted events only when asked, with their details', async () => {
    const { call, events } = await withEvents();
    await call('DELETE', `${events}/event2`);
    expect(ids(await call('GET', events))).not.toContain('event2');
    const { body } = await call('GET', `${events}?showDeleted=true`);
    expect(body.items[1]).toMatchObject({ id: 'event2', status: 'cancelled', summary: 'Visit 2' });
  });

  it('answers changes since updatedMin, with deleted events', async () => {
    let now = 1_800_000_000_000;
    const { call, events } = await withEvents({ now: () => now });
    now += 60_000;
    const since = new Date(now).toISOString();
    await call('DELETE', `${events}/event3`);
    await call('PATCH', `${events}/event4`, { summary: 'x' });
    expect(ids(await call('GET', `${events}?updatedMin=${since}`))).toEqual(['event3', 'event4']);
  });

  it('refuses an updatedMin that lies too far back', async () => {
    const { call, events } = await withEvents();
    const answer = await call('GET', `${events}?updatedMin=2020-01-01T00:00:00Z`);
    expect(answer).toMatchObject({ status: 410, reason: 'updatedMinTooLongAgo' });
  });

  it('answers only the fields of the mask', async () => {
    const { call, events } = await withEvents();
    const mask = 'nextPageToken,items(id,extendedProperties/private/day)';
    const { body } = await call('GET', `${events}?maxResults=1&fields=${encodeURIComponent(mask)}`);
    expect(body).toEqual({
      nextPageToken: expect.any(String),
      items: [{ id: 'event1', extendedProperties: { private: { day: '1' } } }],
    });
  });
});

function earlier(): Record<string, unknown> {
  return {
    id: 'first',
    start: { dateTime: '2027-02-28T09:00:00Z' },
    end: { dateTime: '2027-02-28T10:00:00Z' },
  };
}

describe('pages', () => {
  it('are cut by maxResults, with a sync token on the last one only', async () => {
    const { call, events } = await withEvents();
    const { pages, last } = await readAll(call, `${events}?maxResults=2`);
    expect(pages).toEqual([['event1', 'event2'], ['event3', 'event4'], ['event5']]);
    expect(last.body.nextSyncToken).toEqual(expect.any(String));
  });

  it('end without an extra page when the last is exactly full', async () => {
    const { call, events } = await withEvents();
    expect((await readAll(call, `${events}?maxResults=5`)).pages).toHaveLength(1);
  });

  it('can come empty or short before more', async () => {
    const { call, events, sandbox } = await withEvents({ pageShape: 'empty' });
    const empty = await readAll(call, `${events}?maxResults=3`);
    expect(empty.pages.map((page) => page.length)).toEqual([0, 3, 0, 2]);
    sandbox.configure({ pageShape: 'short' });
    const short = await readAll(call, `${events}?maxResults=3`);
    expect(short.pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(empty.pages.flat()).toEqual(short.pages.flat());
  });

  it('must be requested with the parameters of the first page', async () => {
    const { call, events } = await withEvents();
    const { nextPageToken } = (await call('GET', `${events}?maxResults=2`)).body;
    const other = `${events}?maxResults=2&showDeleted=true&pageToken=${nextPageToken}`;
    expect(await call('GET', other)).toMatchObject({ status: 400, reason: 'invalid' });
    expect(ids(await call('GET', `${events}?maxResults=9&pageToken=${nextPageToken}`))).toHaveLength(3);
  });

  it('hold 250 by default and 2,500 at most', async () => {
    const { call, events, sandbox, calendarId } = await startBench();
    for (let count = 0; count < 2600; count++) {
      sandbox.addByHand(calendarId, anEvent());
    }
    expect(ids(await call('GET', events))).toHaveLength(250);
    expect(ids(await call('GET', `${events}?maxResults=9999`))).toHaveLength(2500);
  });

  it('miss no change between them: the sync token covers changes since the first page', async () => {
    const { call, events } = await withEvents();
    const { nextPageToken } = (await call('GET', `${events}?maxResults=4`)).body;
    await call('PATCH', `${events}/event1`, { summary: 'changed between the pages' });
    const last = await call('GET', `${events}?maxResults=4&pageToken=${nextPageToken}`);
    expect(ids(last)).toEqual(['event5']);
    const { nextSyncToken } = last.body;
    expect(ids(await call('GET', `${events}?syncToken=${nextSyncToken}`))).toEqual(['event1']);
  });
});

describe('sync tokens', () => {
  async function synced(query = ''): Promise<Bench & { token: string }> {
    const bench = await withEvents();
    const { nextSyncToken } = (await bench.call('GET', `${bench.events}?${query}`)).body;
    return { ...bench, token: nextSyncToken };
  }

  it('answer each changed event once, deleted ones as bare tombstones', async () => {
    const { call, events, token } = await synced();
    await call('PATCH', `${events}/event4`, { summary: 'one' });
    await call('PATCH', `${events}/event4`, { summary: 'two' });
    await call('DELETE', `${events}/event2`);
    await call('POST', events, anEvent({ id: 'fresh' }));
    const { body } = await call('GET', `${events}?syncToken=${token}`);
    expect(body.items).toMatchObject([{ id: 'event4', summary: 'two' }, { id: 'event2' }, { id: 'fresh' }]);
    expect(Object.keys(body.items[1]).sort()).toEqual(['etag', 'id', 'kind', 'status']);
    const next = await call('GET', `${events}?syncToken=${body.nextSyncToken}`);
    expect(next.body.items).toEqual([]);
    expect(next.body.nextSyncToken).toEqual(expect.any(String));
  });

  it('show deleted events in full when the first list asked for them', async () => {
    const { call, events, token } = await synced('showDeleted=true');
    await call('DELETE', `${events}/event2`);
    const { body } = await call('GET', `${events}?showDeleted=true&syncToken=${token}`);
    expect(body.items).toMatchObject([{ id: 'event2', status: 'cancelled', summary: 'Visit 2' }]);
  });

  it('page like any list', async () => {
    const { call, events, token, sandbox, calendarId } = await synced();
    for (const day of [1, 2, 3]) {
      sandbox.editByHand(calendarId, `event${day}`, { summary: 'x' });
    }
    const { pages } = await readAll(call, `${events}?maxResults=2&syncToken=${token}`);
    expect(pages).toEqual([['event1', 'event2'], ['event3']]);
  });

  it.each([
    'iCalUID=x',
    'orderBy=updated',
    'privateExtendedProperty=a%3Db',
    'q=x',
    'sharedExtendedProperty=a%3Db',
    'timeMin=2027-01-01T00:00:00Z',
    'timeMax=2027-01-01T00:00:00Z',
    'updatedMin=2027-01-01T00:00:00Z',
    'showDeleted=false',
    'singleEvents=true',
    'showDeleted=true',
  ])('refuse %s', async (query) => {
    const { call, events, token } = await synced();
    expect(await call('GET', `${events}?syncToken=${token}&${query}`)).toMatchObject({
      status: 400,
      reason: 'invalid',
    });
  });

  it('are not given for a list that they could not continue', async () => {
    expect((await synced('privateExtendedProperty=owner%3Dus')).token).toBeUndefined();
    expect((await synced('orderBy=updated')).token).toBeUndefined();
    expect((await synced('timeMin=2027-03-02T00:00:00Z')).token).toEqual(expect.any(String));
  });

  it('belong to one calendar', async () => {
    const { call, token } = await synced();
    expect((await call('GET', `/calendars/primary/events?syncToken=${token}`)).status).toBe(400);
  });

  it('die on demand, by fault, with age and when the access list changes', async () => {
    let now = 1_800_000_000_000;
    const { call, events, sandbox, calendarId, as } = await withEvents({ now: () => now });
    const dead = { status: 410, reason: 'fullSyncRequired' };
    const fresh = async (): Promise<string> => `${events}?syncToken=${(await call('GET', events)).body.nextSyncToken}`;

    const onDemand = await fresh();
    sandbox.expireSyncTokens();
    const refused = await call('GET', onDemand);
    expect(refused).toMatchObject(dead);
    expect(refused.body.error.errors[0]).toMatchObject({ domain: 'calendar', location: 'syncToken' });

    const byFault = await fresh();
    sandbox.faults.add({ times: 1, fault: { kind: 'sync-token-expired' } });
    expect(await call('GET', byFault)).toMatchObject(dead);
    expect((await call('GET', byFault)).status).toBe(200);

    const byAccess = await fresh();
    sandbox.setRole(calendarId, 'reader@clinic.example', 'reader');
    expect(await call('GET', byAccess)).toMatchObject(dead);

    const byAge = await fresh();
    now += 29 * 86_400_000;
    expect(await as(sandbox.issueAccessToken('doctor@clinic.example'))('GET', byAge)).toMatchObject(dead);
  });
});
