import { describe, expect, it } from 'vitest';
import { anEvent, type Bench, DOCTOR, property, startBench } from './support.ts';

const filter = (text: string): string => `$filter=${encodeURIComponent(text)}`;
const withProperty = (name: string, value: string): string =>
  filter(`singleValueExtendedProperties/Any(ep: ep/id eq '${property(name)}' and ep/value eq '${value}')`);

/** All pages of a list, and how many there were. */
async function readAll({ call }: Bench, path: string): Promise<{ subjects: string[]; pages: number }> {
  const subjects: string[] = [];
  let pages = 0;
  for (let next: string | undefined = path; next !== undefined; pages++) {
    const { body } = await call('GET', next);
    subjects.push(...body.value.map((event: { subject: string }) => event.subject));
    next = body['@odata.nextLink'];
  }
  return { subjects, pages };
}

async function startWithDays(days: number): Promise<Bench> {
  const bench = await startBench();
  for (let day = 1; day <= days; day++) {
    const singleValueExtendedProperties = [
      { id: property('MirrorMark'), value: 'ours' },
      { id: property('MirrorKey'), value: `Key-${day}` },
    ];
    bench.sandbox.addByHand(DOCTOR, 'default', anEvent({ subject: `Day ${day}`, singleValueExtendedProperties }, day));
  }
  return bench;
}

describe('a list', () => {
  it('has pages of ten, or of the requested size', async () => {
    const bench = await startWithDays(21);
    expect(await readAll(bench, '/me/events')).toMatchObject({ pages: 3 });
    const asked = await readAll(bench, '/me/calendar/events?$top=7&$select=subject');
    expect(asked.pages).toBe(3);
    expect(new Set(asked.subjects).size).toBe(21);
    expect((await bench.call('GET', '/me/events?$top=5&$skip=20&$count=true')).body).toMatchObject({
      '@odata.count': 21,
      value: [{ subject: 'Day 21' }],
    });
    expect((await bench.call('GET', '/me/events?$top=1001')).status).toBe(400);
  });

  it('shows the fields that are selected, and refuses others', async () => {
    const { call } = await startWithDays(1);
    const { body } = await call('GET', '/me/events?$select=subject,start');
    expect(Object.keys(body.value[0]).sort()).toEqual(['@odata.etag', 'id', 'start', 'subject']);
    expect((await call('GET', '/me/events?$select=summary')).status).toBe(400);
  });

  it('is filtered by an extended property, whose name has a case and whose value has none', async () => {
    const bench = await startWithDays(12);
    const all = await readAll(bench, `/me/events?${withProperty('MirrorMark', 'OURS')}&$top=5`);
    expect(all).toMatchObject({ pages: 3 });
    expect(all.subjects).toHaveLength(12);
    expect((await readAll(bench, `/me/events?${withProperty('MirrorKey', 'kEY-3')}`)).subjects).toEqual(['Day 3']);
    expect((await readAll(bench, `/me/events?${withProperty('mirrorKey', 'Key-3')}`)).subjects).toEqual([]);
    const any = filter(`singleValueExtendedProperties/any(p:p/id eq '${property('MirrorKey')}' and p/value ne null)`);
    expect((await readAll(bench, `/me/events?${any}`)).subjects).toHaveLength(12);
  });

  it('forgets a value that was changed, and an event that was moved or deleted', async () => {
    const bench = await startWithDays(3);
    const { sandbox } = bench;
    const [first, second, third] = sandbox.events(DOCTOR, 'default');
    const value = { id: property('MirrorKey'), value: 'new' };
    sandbox.editByHand(DOCTOR, first!.id, { singleValueExtendedProperties: [value] });
    sandbox.moveByHand(DOCTOR, second!.id, sandbox.createCalendar(DOCTOR, 'Other'));
    sandbox.deleteByHand(DOCTOR, third!.id);
    expect((await readAll(bench, `/me/events?${withProperty('MirrorKey', 'new')}`)).subjects).toEqual(['Day 1']);
    for (const day of [1, 2, 3]) {
      expect((await readAll(bench, `/me/events?${withProperty('MirrorKey', `Key-${day}`)}`)).subjects).toEqual([]);
    }
    sandbox.editByHand(DOCTOR, first!.id, {
      singleValueExtendedProperties: [{ id: property('MirrorMark'), value: null }],
    });
    expect((await readAll(bench, `/me/events?${withProperty('MirrorMark', 'ours')}`)).subjects).toEqual([]);
  });

  it.each([
    [`start/dateTime ge '2027-03-03T00:00:00' and end/dateTime lt '2027-03-05T00:00:00'`, ['Day 3', 'Day 4']],
    [`start/dateTime lt '2027-03-02T09:00:00Z' or subject eq 'Day 5'`, ['Day 1', 'Day 5']],
    [`(subject eq 'Day 2' or subject eq 'Day 3') and isAllDay eq false`, ['Day 2', 'Day 3']],
    ['createdDateTime lt 2020-01-01T00:00:00Z', []],
    [`subject eq 'it''s'`, []],
  ])('is filtered by %s', async (text, subjects) => {
    const bench = await startWithDays(5);
    expect((await readAll(bench, `/me/events?${filter(text)}`)).subjects).toEqual(subjects);
  });

  it('takes a filter of property and time together', async () => {
    const bench = await startWithDays(5);
    const both = `${decodeURIComponent(withProperty('MirrorMark', 'ours')).slice('$filter='.length)} and start/dateTime ge '2027-03-04T00:00:00'`;
    expect((await readAll(bench, `/me/events?${filter(both)}`)).subjects).toEqual(['Day 4', 'Day 5']);
  });

  it.each([
    'subject',
    `subject eq 'a`,
    `subject eq 'a' and`,
    `start/dateTime ge 'soon'`,
    `startswith(subject, 'Day')`,
    `colour eq 'red'`,
    `singleValueExtendedProperties/Any(ep: ep/value eq 'x')`,
  ])('refuses the filter %s', async (text) => {
    const { call } = await startWithDays(1);
    expect((await call('GET', `/me/events?${filter(text)}`)).status).toBe(400);
  });

  it('is ordered on demand', async () => {
    const bench = await startWithDays(3);
    const path = `/me/events?$orderby=${encodeURIComponent('start/dateTime desc')}&$top=2`;
    expect((await readAll(bench, path)).subjects).toEqual(['Day 3', 'Day 2', 'Day 1']);
  });

  it('of a calendar view contains the events that overlap the window, in order', async () => {
    const bench = await startWithDays(4);
    bench.sandbox.addByHand(DOCTOR, 'default', anEvent({ subject: 'Early' }, 1));
    const view = '/me/calendarView?startDateTime=2027-03-01T09:30:00Z&endDateTime=2027-03-03T09:00:00';
    expect((await readAll(bench, view)).subjects).toEqual(['Day 1', 'Early', 'Day 2']);
    expect((await bench.call('GET', '/me/calendarView?startDateTime=2027-03-01')).status).toBe(400);
  });
});

describe('5,000 events', () => {
  it('are found by key and fetched completely within the time of a test', async () => {
    const bench = await startBench();
    const { sandbox, call } = bench;
    for (let number = 0; number < 5_000; number++) {
      const singleValueExtendedProperties = [
        { id: property('MirrorMark'), value: 'ours' },
        { id: property('MirrorKey'), value: `key-${number}` },
      ];
      sandbox.addByHand(DOCTOR, 'default', anEvent({ singleValueExtendedProperties }, 1 + (number % 28)));
    }
    for (let number = 0; number < 100; number++) {
      const { body } = await call('GET', `/me/events?${withProperty('MirrorKey', `key-${number * 50}`)}`);
      expect(body.value).toHaveLength(1);
    }
    const all = await readAll(bench, `/me/events?${withProperty('MirrorMark', 'ours')}&$top=1000`);
    expect(all).toMatchObject({ pages: 5 });
    expect(all.subjects).toHaveLength(5_000);
  });
});
