import { describe, expect, it } from 'vitest';
import { anEvent, type Bench, DOCTOR, IMMUTABLE, startBench } from './support.ts';

const MARCH = 'startDateTime=2027-03-01T00:00:00Z&endDateTime=2027-04-01T00:00:00Z';
const FIRST = `/me/calendarView/delta?${MARCH}`;

interface Item {
  id: string;
  subject?: string;
  '@removed'?: { reason: string };
}

/** One round, followed to its end. */
async function round({ call }: Bench, path: string, prefer = IMMUTABLE.prefer) {
  const items: Item[] = [];
  let pages = 0;
  for (let link = path; ; ) {
    const { status, body } = await call('GET', link, undefined, { prefer });
    expect(status).toBe(200);
    items.push(...body.value);
    pages += 1;
    if (body['@odata.deltaLink'] !== undefined) {
      return { items, pages, deltaLink: String(body['@odata.deltaLink']) };
    }
    link = body['@odata.nextLink'];
  }
}

function seen(items: Item[]): string[] {
  return items.map((item) => (item['@removed'] ? `-${item['@removed'].reason}` : (item.subject ?? '?')));
}

describe('delta', () => {
  it('returns all events in the window once, then only changes', async () => {
    const bench = await startBench();
    const { sandbox } = bench;
    const made = [1, 2, 3].map((day) => sandbox.addByHand(DOCTOR, 'default', anEvent({ subject: `Day ${day}` }, day)));
    const start = { dateTime: '2027-05-01T09:00:00', timeZone: 'UTC' };
    const outside = sandbox.addByHand(DOCTOR, 'default', anEvent({ start, end: start }));
    const first = await round(bench, FIRST);
    expect(seen(first.items)).toEqual(['Day 1', 'Day 2', 'Day 3']);
    expect(seen((await round(bench, first.deltaLink)).items)).toEqual([]);

    sandbox.editByHand(DOCTOR, made[0]!.id, { subject: 'Changed' });
    sandbox.editByHand(DOCTOR, made[0]!.id, { subject: 'Changed twice' });
    sandbox.deleteByHand(DOCTOR, made[1]!.id);
    sandbox.editByHand(DOCTOR, outside.id, { subject: 'Still outside' });
    sandbox.editByHand(DOCTOR, made[2]!.id, { start, end: start });
    const second = await round(bench, first.deltaLink);
    expect(seen(second.items)).toEqual(['Changed twice', '-deleted', '-deleted', '-deleted']);
    expect(second.items.map(({ id }) => id)).toEqual([made[0]!.id, made[1]!.id, outside.id, made[2]!.id]);
    expect(await round(bench, first.deltaLink)).toMatchObject({ items: second.items });
    expect((await round(bench, second.deltaLink)).items).toEqual([]);
  });

  it('comes in pages of the size that is preferred', async () => {
    const bench = await startBench();
    for (let day = 1; day <= 12; day++) {
      bench.sandbox.addByHand(DOCTOR, 'default', anEvent({ subject: `Day ${day}` }, day));
    }
    expect(await round(bench, FIRST)).toMatchObject({ pages: 2 });
    const small = await round(bench, FIRST, 'odata.maxpagesize=5');
    expect(small.pages).toBe(3);
    expect(small.items).toHaveLength(12);
  });

  it('returns no extended properties except the transactionId, and accepts no query options', async () => {
    const bench = await startBench();
    await bench.call('POST', '/me/events', anEvent({ transactionId: 'key-1' }));
    expect((await round(bench, FIRST)).items).toMatchObject([{ transactionId: 'key-1' }]);
    for (const option of ['$select=subject', '$expand=x', '$filter=x', '$orderby=x', '$search=x']) {
      expect((await bench.call('GET', `${FIRST}&${option}`)).status).toBe(400);
    }
    expect((await bench.call('GET', '/me/calendarView/delta')).status).toBe(400);
  });

  it('returns a move as a removal of the old id, and in the other calendar as the new id', async () => {
    const bench = await startBench();
    const { sandbox } = bench;
    const other = sandbox.createCalendar(DOCTOR, 'Other');
    const event = sandbox.addByHand(DOCTOR, 'default', anEvent());
    const path = `/me/calendars/${other}/calendarView/delta?${MARCH}`;
    const [mine, theirs] = [await round(bench, FIRST, 'x=y'), await round(bench, path, 'x=y')];
    const moved = sandbox.moveByHand(DOCTOR, event.id, other);
    expect((await round(bench, mine.deltaLink, 'x=y')).items).toMatchObject([{ id: event.restId, '@removed': {} }]);
    expect((await round(bench, theirs.deltaLink, 'x=y')).items).toMatchObject([{ id: moved.restId }]);
    expect((await round(bench, mine.deltaLink)).items).toMatchObject([{ id: event.id, '@removed': {} }]);
    sandbox.moveByHand(DOCTOR, event.id, 'default');
    expect(seen((await round(bench, mine.deltaLink)).items)).toEqual(['Appointment']);
    expect(seen((await round(bench, mine.deltaLink, 'x=y')).items)).toEqual(['-deleted', 'Appointment']);
  });

  it('repeats itself when so configured', async () => {
    const bench = await startBench({ deltaReplays: true, deltaPageSize: 2 });
    for (const day of [1, 2, 3]) {
      bench.sandbox.addByHand(DOCTOR, 'default', anEvent({ subject: `Day ${day}` }, day));
    }
    const first = await round(bench, FIRST);
    expect(seen(first.items)).toEqual(['Day 1', 'Day 2', 'Day 2', 'Day 3']);
    expect((await round(bench, first.deltaLink)).items.length).toBeGreaterThan(0);
  });

  it('ends on demand: gone with a Location, or without its state', async () => {
    const bench = await startBench();
    const { call, sandbox } = bench;
    const first = await round(bench, FIRST);
    sandbox.expireDeltaTokens();
    const gone = await call('GET', first.deltaLink);
    expect(gone.status).toBe(410);
    expect(gone.headers.get('location')).toBe(`${sandbox.graphUrl}/v1.0/me/calendarView/delta`);
    const second = await round(bench, FIRST);
    sandbox.expireDeltaTokens('not-found');
    expect(await call('GET', second.deltaLink)).toMatchObject({ status: 404, code: 'syncStateNotFound' });
    const third = await round(bench, FIRST);
    sandbox.faults.add({ times: 1, fault: { kind: 'delta-gone' } });
    sandbox.faults.add({ times: 1, fault: { kind: 'delta-state-not-found' } });
    expect((await call('GET', third.deltaLink)).status).toBe(410);
    expect((await call('GET', third.deltaLink)).status).toBe(404);
    expect((await call('GET', third.deltaLink)).status).toBe(200);
  });

  it('leads to the same page for ever, or forbids the second one, on demand', async () => {
    const bench = await startBench();
    const { call, sandbox } = bench;
    await call('POST', '/me/events', anEvent());
    const endless = sandbox.faults.add({ fault: { kind: 'delta-endless' } });
    const first = await call('GET', FIRST);
    const second = await call('GET', first.body['@odata.nextLink']);
    expect(second.body.value).toEqual(first.body.value);
    expect(second.body['@odata.nextLink']).not.toBe(first.body['@odata.nextLink']);
    for (const page of [first, second]) expect(page.body).not.toHaveProperty(['@odata.deltaLink']);
    for (const id of endless) sandbox.faults.remove(id);
    sandbox.faults.add({ fault: { kind: 'delta-next-forbidden' } });
    expect((await call('GET', FIRST)).status).toBe(200);
    expect(await call('GET', second.body['@odata.nextLink'])).toMatchObject({ status: 403, code: 'ErrorAccessDenied' });
  });

  it('takes no link of another mailbox, and none that it never made', async () => {
    const bench = await startBench();
    const { as, sandbox } = bench;
    const { deltaLink } = await round(bench, FIRST);
    const other = as(sandbox.issueAccessToken('nurse@clinic.example'));
    expect(await other('GET', deltaLink)).toMatchObject({ status: 400, code: 'syncStateInvalid' });
    for (const token of ['$deltatoken=nonsense', '$deltatoken=e30', '$skiptoken=r99.0']) {
      const answer = await bench.call('GET', `/me/calendarView/delta?${token}`);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
  });
});
