import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { sharedTexts } from '../../../src/clinic/read/snapshot.ts';
import type { Appointment } from '../../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, overlaps } from '../../../src/core/model/time.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { changedSince, NOW, openRememberingClinic, type Row, rowOf, told, withEtags } from '../remembering-clinic.ts';
import { startScriptedServer } from '../scripted-server.ts';

const WINDOW = { fromAt: Date.parse('2026-03-01T00:00:00Z'), toAt: Date.parse('2026-03-03T00:00:00Z') };

/** Two calls of one day each. */
const TWO_DAYS: WrittenProfile = { paging: { style: 'none' }, appointments: { window: { maxDays: 1, format: 'utc' } } };

function row(id: string, more: object = {}) {
  const time = { start: '2026-03-01T10:00:00Z', end: '2026-03-01T11:00:00Z' };
  return { id, agendaId: 'g', status: 'Booked', ...time, ...more };
}

/** Reads from a server that sends these answers in order. */
async function snapshotOf(answers: unknown[], written: WrittenProfile, agendaIds: string[] | null = null) {
  const left = [...answers];
  await using server = await startScriptedServer(() => ({ json: left.shift() }));
  const { client } = openClient(server.url, profileOf(written));
  const snapshot = await client.readAppointments('t', { agendaIds, window: WINDOW }, unhurried());
  expect(left).toEqual([]);
  return { snapshot, requests: server.requests };
}

async function statusAfter(first: object, second: object) {
  const { snapshot } = await snapshotOf([[row('a', first)], [row('a', second)]], TWO_DAYS);
  expect(snapshot.completeness).toBe('complete');
  return { status: snapshot.records.get('a')?.status, unusable: snapshot.unusable.map(({ code }) => code) };
}

describe('a record that comes twice', () => {
  const early = '2026-02-01T10:00:00Z';
  const late = '2026-02-02T10:00:00Z';

  it('is kept in its latest version, in either order', async () => {
    const newer = { status: 'Cancelled', updatedAt: late };
    const older = { status: 'Booked', updatedAt: early };
    expect(await statusAfter(older, newer)).toEqual({ status: 'cancelled', unusable: [] });
    expect(await statusAfter(newer, older)).toEqual({ status: 'cancelled', unusable: [] });
  });

  it('is kept as last read if no version is known to be newer', async () => {
    expect((await statusAfter({ status: 'Booked' }, { status: 'Confirmed' })).status).toBe('confirmed');
    const same = { updatedAt: early };
    expect((await statusAfter({ ...same }, { ...same, status: 'Confirmed' })).status).toBe('confirmed');
  });

  it('is either kept or unusable, as last read, never both', async () => {
    expect(await statusAfter({ start: '?' }, {})).toEqual({ status: 'booked', unusable: [] });
    expect(await statusAfter({}, { start: '?' })).toEqual({ status: undefined, unusable: ['bad-time'] });
  });
});

describe('records that the server sends outside the question', () => {
  it('is left out: other agendas, other days, however it filters', async () => {
    const rows = [
      row('in'),
      row('other-agenda', { agendaId: 'h' }),
      row('ends-at-the-start', { start: '2026-02-28T23:00:00Z', end: '2026-03-01T00:00:00Z' }),
      row('across-the-start', { start: '2026-02-28T23:00:00Z', end: '2026-03-01T00:00:01Z' }),
      row('of-no-length-at-the-start', { start: '2026-03-01T00:00:00Z', end: '2026-03-01T00:00:00Z' }),
      row('starts-at-the-end', { start: '2026-03-03T00:00:00Z', end: '2026-03-03T01:00:00Z' }),
      row('around-it-all', { start: '2026-02-01T00:00:00Z', end: '2026-04-01T00:00:00Z' }),
    ];
    const filters = { from: null, to: null, agenda: null };
    const { snapshot } = await snapshotOf([rows], { paging: { style: 'none' }, appointments: { filters } }, ['g']);
    expect([...snapshot.records.keys()]).toEqual([
      'in',
      'across-the-start',
      'of-no-length-at-the-start',
      'around-it-all',
    ]);
  });
});

describe('a snapshot of several calls', () => {
  it('is partial if one call is, and keeps the records of the others', async () => {
    const answers = [{ data: [row('a')], hasMore: true }, { data: [row('b')] }];
    const { snapshot } = await snapshotOf(answers, TWO_DAYS);
    expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'end-unproved', pages: 2, requests: 2 });
    expect([...snapshot.records.keys()]).toEqual(['a', 'b']);
  });

  it('counts the rows without an id once, also when a call is made again', async () => {
    const bad = { ...row('x'), id: null };
    const moved = { data: [bad, row('a')], total: 3 };
    const { snapshot } = await snapshotOf([moved, { data: [bad, row('a')], total: 2 }, [bad]], TWO_DAYS);
    expect(snapshot).toMatchObject({ completeness: 'complete', unidentified: 2, pages: 3 });
    expect(snapshot.unusable).toHaveLength(2);
  });

  it('discards records of an earlier read if a repeated read proves its end', async () => {
    const moved = { data: [row('foreign'), row('a')], total: 1 };
    const { snapshot } = await snapshotOf([moved, { data: [row('a')], total: 1 }, []], TWO_DAYS);
    expect(snapshot).toMatchObject({ completeness: 'complete', pages: 3 });
    expect([...snapshot.records.keys()]).toEqual(['a']);
  });

  it('keeps the records of all reads if no repeated read proves its end', async () => {
    const short = (...ids: string[]) => ({ data: ids.map((id) => row(id)), total: 9 });
    const { snapshot } = await snapshotOf([short('a', 'b'), short('b', 'c'), []], TWO_DAYS);
    expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'total-mismatch' });
    expect([...snapshot.records.keys()]).toEqual(['a', 'b', 'c']);
  });

  it('needs no request without selected agendas', async () => {
    const { snapshot, requests } = await snapshotOf([], TWO_DAYS, []);
    expect(snapshot).toMatchObject({ completeness: 'complete', agendaIds: [], requests: 0 });
    expect(requests).toEqual([]);
  });
});

it('the parameters that the profile fixes go with every call', async () => {
  const profile = { ...TWO_DAYS, appointments: { ...TWO_DAYS.appointments, query: { includeCancelled: 'true' } } };
  const { requests } = await snapshotOf([[], []], profile);
  expect(requests.map(({ query }) => query.get('includeCancelled'))).toEqual(['true', 'true']);
});

describe('a catalogue', () => {
  const agenda = (id: string) => ({ id, name: `Agenda ${id}` });

  async function catalogueOf(answers: unknown[], written: WrittenProfile = {}) {
    const left = [...answers];
    await using server = await startScriptedServer(() => ({ json: left.shift() }));
    const { client } = openClient(server.url, profileOf(written));
    const ids: string[] = [];
    const codes: string[] = [];
    const read = async () => {
      for await (const page of client.agendas.list('t', [], unhurried())) {
        ids.push(...page.records.map(({ id }) => id));
        codes.push(...page.unusable.map(({ code }) => code));
      }
    };
    const error = await read().catch((thrown: unknown) => thrown);
    return { ids, codes, error, requests: server.requests.length };
  }

  it('that moved while it was read is begun again and gives each entry once', async () => {
    const answers = [
      { data: [agenda('a'), agenda('b')], hasMore: false, total: 3 },
      { data: [agenda('b'), agenda('c'), { id: 'd' }], hasMore: false, total: 3 },
    ];
    expect(await catalogueOf(answers)).toEqual({
      ids: ['a', 'b', 'c'],
      codes: ['missing-field'],
      error: undefined,
      requests: 2,
    });
  });

  it('throws if it is incomplete', async () => {
    const short = { data: [agenda('a')], hasMore: false, total: 3 };
    const { error, requests } = await catalogueOf([short, short]);
    expect(error).toMatchObject({ actor: 'contract', code: 'incomplete-list', retry: 'later' });
    expect(requests).toBe(2);
  });

  it('whose end can never be proved is not read again', async () => {
    const { error, requests } = await catalogueOf([[agenda('a')]], {
      paging: { style: 'offset-limit', ends: ['has-more'] },
    });
    expect(error).toMatchObject({ code: 'incomplete-list' });
    expect(requests).toBe(1);
  });
});

/** A record as received: each patient is a separate object. */
function received(id: string, lastName: string): Appointment {
  return { ...appointmentOf(id, { patientId: 'p' }), patient: { id: 'p', firstName: 'Anna', lastName } };
}

test('records of one read share equal patients, and keep their values', () => {
  const share = sharedTexts();
  const records = [received('1', 'Rossi'), received('2', 'Rossi'), received('3', 'Bianchi'), received('4', 'Rossi')];
  const before = structuredClone(records);
  for (const record of records) expect(share({ record })).toEqual({ record });
  expect(records).toEqual(before);
  const [first, second, third] = records;
  expect(second?.patient).toBe(first?.patient);
  expect(third?.patient?.lastName).toBe('Bianchi');
});

test('unusable rows, and records without values, are unchanged', () => {
  const share = sharedTexts();
  const unusable = { recordId: null, code: 'missing-id', field: 'id' };
  expect(share({ unusable })).toEqual({ unusable });
  const record: Appointment = {
    ...appointmentOf('1'),
    patientId: null,
    patient: null,
    locationId: null,
    rawStatus: null,
  };
  expect(share({ record: { ...record } })).toEqual({ record });
});

/** Defaults of the profile. */
const OVERLAP_MS = 10 * MINUTE_MS;
const WHOLE_EVERY_MS = 30 * MINUTE_MS;
const FILTER: WrittenProfile['appointments'] = {
  rereading: { changedSince: { parameter: 'updatedSince', format: 'utc' } },
};

function at(instant: Instant): string {
  return new Date(instant).toISOString();
}

/** A clinic of five rows after a first read; the last row changed a day ago. The test controls the clinic's clock. */
async function readBefore(written: WrittenProfile = { appointments: FILTER }) {
  const clinic = await openRememberingClinic(written);
  const { world } = clinic;
  world.listed = changedSince;
  world.rows = ['a', 'b', 'c', 'd'].map((id) => rowOf(id, { updatedAt: at(NOW - 2 * DAY_MS) }));
  world.rows.push(rowOf('e', { updatedAt: at(NOW - DAY_MS) }));
  const first = await clinic.read();
  clinic.server.requests.splice(0);
  return Object.assign(clinic, {
    first,
    change(id: string, more: Partial<Row> = {}) {
      const others = world.rows.filter((row) => row.id !== id);
      const before = world.rows.find((row) => row.id === id) ?? rowOf(id);
      world.rows = [...others, { ...before, updatedAt: at(world.now), ...more }];
    },
    pass(durationMs: number) {
      world.now += durationMs;
    },
    /** The queries since the last time. */
    queries: () => clinic.server.requests.splice(0).map(({ query }) => query),
  });
}

describe('a clinic that reports changes', () => {
  test('is queried only for changes, over all times and agendas; other records stay', async () => {
    await using clinic = await readBefore();
    clinic.pass(5 * MINUTE_MS);
    clinic.change('b', { start: '2026-03-01T14:00:00Z' });
    clinic.change('f');
    const { records, completeness } = await clinic.read();
    const [query, ...others] = clinic.queries();
    expect(others).toEqual([]);
    expect([query?.get('from'), query?.get('to'), query?.get('agendaId')]).toEqual([null, null, null]);
    expect(query?.get('updatedSince')).toBe('2026-02-28T07:50:00Z');
    expect(completeness).toBe('changes');
    expect([...records.keys()]).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(records.get('b')?.time.startAt).toBe(Date.parse('2026-03-01T14:00:00Z'));
    for (const id of ['a', 'c', 'd', 'e']) expect(records.get(id)).toBe(clinic.first.records.get(id));
  });

  test('is queried from the newest change on, by the clinic’s own timestamps', async () => {
    await using clinic = await readBefore();
    clinic.pass(5 * MINUTE_MS);
    // Its clock is two hours behind.
    clinic.change('b', { updatedAt: at(clinic.world.now - 2 * HOUR_MS) });
    await clinic.read();
    clinic.queries();
    clinic.pass(5 * MINUTE_MS);
    clinic.change('c', { status: 'Cancelled', updatedAt: at(clinic.world.now - 2 * HOUR_MS) });
    const { records } = await clinic.read();
    expect(clinic.queries().map((query) => query.get('updatedSince'))).toEqual(['2026-03-01T05:55:00Z']);
    expect(records.get('c')?.status).toBe('cancelled');
  });

  test('gives the very same when nothing changed, and asks nothing but whether that is so', async () => {
    await using clinic = await readBefore();
    clinic.world.answer = withEtags();
    await clinic.read();
    clinic.asked();
    const { records } = await clinic.read();
    expect(clinic.asked()).toEqual([expect.any(String)]);
    for (const [id, record] of clinic.first.records) expect(records.get(id)).toBe(record);
  });

  test('reports records that left or entered the window', async () => {
    await using clinic = await readBefore();
    clinic.pass(5 * MINUTE_MS);
    clinic.change('a', { start: '2026-05-01T10:00:00Z', end: '2026-05-01T11:00:00Z' });
    clinic.change('far', { start: '2026-05-01T10:00:00Z', end: '2026-05-01T11:00:00Z' });
    const { records } = await clinic.read();
    // A change of an unknown record outside the window is ignored.
    expect(records.get('a')?.time.startAt).toBe(Date.parse('2026-05-01T10:00:00Z'));
    expect(records.has('far')).toBe(false);
    clinic.pass(5 * MINUTE_MS);
    clinic.change('far', { start: '2026-03-01T12:00:00Z', end: '2026-03-01T13:00:00Z' });
    expect((await clinic.read()).records.has('far')).toBe(true);
  });

  test('does not report deletions: the record stays until the next full read', async () => {
    await using clinic = await readBefore();
    clinic.world.rows.shift();
    clinic.pass(WHOLE_EVERY_MS - 1);
    const still = await clinic.read();
    expect([still.completeness, still.records.has('a')]).toEqual(['changes', true]);
    clinic.pass(1);
    const gone = await clinic.read();
    expect([gone.completeness, gone.records.has('a')]).toEqual(['complete', false]);
  });

  test('and sends a tombstone has the record removed at once, without a full read', async () => {
    await using clinic = await readBefore();
    clinic.pass(5 * MINUTE_MS);
    clinic.world.rows = clinic.world.rows.filter(({ id }) => id !== 'c');
    clinic.world.rows.push({ id: 'c', deleted: true, updatedAt: at(clinic.world.now) } as unknown as Row);
    const { records, unusable, completeness } = await clinic.read();
    expect(completeness).toBe('changes');
    expect([...records.keys()]).toEqual(['a', 'b', 'd', 'e']);
    expect(unusable).toMatchObject([{ recordId: 'c', isTombstone: true }]);
  });

  test('whose filter is behind gives nothing back that is known to be older', async () => {
    await using clinic = await readBefore();
    clinic.pass(MINUTE_MS);
    const before = clinic.world.rows[4] as Row;
    clinic.change('e', { status: 'Cancelled' });
    await clinic.read();
    clinic.world.listed = () => [before];
    const { records, completeness } = await clinic.read();
    expect([completeness, records.get('e')?.status]).toEqual(['changes', 'cancelled']);
  });

  test('and contains a change in the future is not queried for changes', async () => {
    await using clinic = await readBefore();
    clinic.change('a', { updatedAt: at(NOW + HOUR_MS) });
    await clinic.read();
    clinic.world.rows = clinic.world.rows.filter(({ id }) => id !== 'a');
    clinic.pass(20 * MINUTE_MS);
    clinic.change('b', { status: 'Cancelled' });
    expect((await clinic.read()).records.get('b')?.status).toBe('cancelled');
  });

  test('that publishes a change late, with its earlier timestamp, is covered by the overlap', async () => {
    await using clinic = await readBefore();
    clinic.pass(20 * MINUTE_MS);
    clinic.change('a');
    await clinic.read();
    clinic.change('b', { status: 'Cancelled', updatedAt: at(clinic.world.now - OVERLAP_MS) });
    expect((await clinic.read()).records.get('b')?.status).toBe('cancelled');
  });

  test('whose row changes unseen during a long read is queried from the start of that read', async () => {
    await using clinic = await readBefore();
    clinic.memory.distrust();
    let pages = 0;
    clinic.world.answer = (usual) => {
      pages += 1;
      if (pages > 1) return usual;
      clinic.pass(MINUTE_MS);
      clinic.change('a', { status: 'Cancelled' });
      clinic.world.rows.unshift(clinic.world.rows.pop() as Row);
      clinic.pass(19 * MINUTE_MS);
      clinic.world.rows[4] = { ...(clinic.world.rows[4] as Row), updatedAt: at(clinic.world.now) };
      return usual;
    };
    expect((await clinic.read()).records.get('a')?.status).toBe('booked');
    expect((await clinic.read()).records.get('a')?.status).toBe('cancelled');
  });

  test('may have unusable rows; a corrected row is reported', async () => {
    await using clinic = await readBefore();
    clinic.world.rows[0] = rowOf('a', { start: 'no time', updatedAt: at(NOW - 2 * DAY_MS) });
    clinic.memory.distrust();
    await clinic.read();
    const still = await clinic.read();
    expect([still.completeness, still.unusable]).toMatchObject(['changes', [{ recordId: 'a', code: 'bad-time' }]]);
    clinic.pass(MINUTE_MS);
    clinic.change('a', { start: '2026-03-01T10:00:00Z' });
    const mended = await clinic.read();
    expect([mended.completeness, mended.unusable, mended.records.has('a')]).toEqual(['changes', [], true]);
  });

  test.each([
    ['date', '2026-02-27'],
    ['utc', '2026-02-28T07:50:00Z'],
    ['offset', '2026-02-28T08:50:00+01:00'],
    // The hour that one night has twice.
    ['local', '2026-02-28T07:50:00'],
    ['local-space', '2026-02-28 07:50:00'],
    ['epoch-seconds', '1772265000'],
    ['epoch-ms', '1772265000000'],
  ] as const)('is queried by times in the form %s', async (format, text) => {
    await using clinic = await readBefore({
      appointments: { rereading: { changedSince: { parameter: 'q', format } } },
    });
    await clinic.read();
    expect(clinic.queries()[0]?.get('q')).toBe(text);
  });
});

test('a filter without the times of changes is refused in the profile', () => {
  const written = { appointments: { ...FILTER, fields: { updatedAt: [] } } };
  expect(() => profileOf(written)).toThrow(/profile\.updated-at/);
});

test('a clinic that takes no notice of the filter is not read to the end for it', async () => {
  await using clinic = await readBefore();
  clinic.world.listed = (rows) => rows;
  clinic.world.rows = Array.from({ length: 60 }, (_, index) => rowOf(`${index}`, { updatedAt: at(NOW - 9 * DAY_MS) }));
  const { completeness } = await clinic.read();
  expect(completeness).toBe('complete');
  expect(clinic.queries().filter((query) => query.has('updatedSince'))).toHaveLength(1);
});

describe('a full read happens', () => {
  type Clinic = Awaited<ReturnType<typeof readBefore>>;
  /** Name of the doubt, and whether the filter is used again after the full read. */
  test.each<[string, boolean, (clinic: Clinic) => unknown]>([
    ['if a changed row is unusable', true, ({ change }) => change('a', { start: 'no time' })],
    ['if a changed row has no id', true, ({ change }) => change('')],
    ['if a changed row has no time of change', true, (clinic) => listingAlso(clinic, { updatedAt: null })],
    ['if a row has a future time of change', true, ({ change }) => change('a', { updatedAt: at(NOW + HOUR_MS) })],
    ['if the clinic ignores the filter', false, (clinic) => listingAlso(clinic, { updatedAt: at(NOW - 9 * DAY_MS) })],
    ['if the list of changes is incomplete', true, neverWhole],
    ['if the clinic refuses the filter', false, refusing],
    ['if stored records are distrusted', true, ({ memory }) => memory.distrust()],
    ['if memory discarded the records', true, ({ memory }) => memory.invalidate()],
    [
      'if the window extends past the records read before',
      true,
      ({ world }) => Object.assign(world, { aheadMs: 3 * DAY_MS }),
    ],
    ['if the clock was set back', true, ({ pass }) => pass(-MINUTE_MS)],
  ])('%s', async (_, isUsedAgain, happen) => {
    await using clinic = await readBefore();
    await clinic.read();
    happen(clinic);
    const snapshot = await clinic.read();
    expect(snapshot.completeness).toBe('complete');
    expect(snapshot.records).toEqual((await clinic.readAnew()).records);
    clinic.world.answer = (usual) => usual;
    clinic.world.listed = changedSince;
    clinic.world.rows = clinic.world.rows
      .map((row) => ({ ...row, updatedAt: at(NOW - DAY_MS), start: '2026-03-01T10:00:00Z' }))
      .filter(({ id }) => id !== '');
    clinic.memory.distrust();
    await clinic.read();
    expect((await clinic.read()).completeness).toBe(isUsedAgain ? 'changes' : 'complete');
  });

  test('for another user, and if no row has a time of change', async () => {
    await using clinic = await readBefore();
    expect((await clinic.read(1)).completeness).toBe('complete');
    clinic.world.rows = clinic.world.rows.map((row) => ({ ...row, updatedAt: null }));
    clinic.memory.distrust();
    await clinic.read(1);
    expect((await clinic.read(1)).completeness).toBe('complete');
  });

  /** Adds a row to the list of changes. */
  function listingAlso({ world }: Clinic, row: Partial<Row>): void {
    world.listed = (rows, query) =>
      query.get('updatedSince') === null ? rows : [...changedSince(rows, query), { ...(rows[0] as Row), ...row }];
  }

  function neverWhole({ world }: Clinic): void {
    world.answer = (usual, { query }) =>
      query.has('updatedSince') ? { json: { data: world.rows.slice(0, 1).map(told), total: 5 } } : usual;
  }

  function refusing({ world }: Clinic): void {
    world.answer = (usual, { query }) => (query.has('updatedSince') ? { status: 400, json: {} } : usual);
  }
});

type Step =
  | { do: 'put'; id: string; inHours: number; status: string }
  | { do: 'delete'; id: string }
  | { do: 'wait'; minutes: number }
  | { do: 'read' };

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      id: ids,
      inHours: fc.integer({ min: -40, max: 70 }),
      status: fc.constantFrom('Booked', 'Cancelled'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), id: ids }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 0, max: 25 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('read' as const) }) },
);

test('the snapshot equals a full read after any change; deletions follow within the limit', async () => {
  const seen = { changes: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(steps, { minLength: 5, maxLength: 30 }),
      // Difference between the clinic's clock and the daemon's.
      fc.integer({ min: -180, max: 90 }),
      fc.boolean(),
      async (history, skewMinutes, hasEtags) => {
        await using clinic = await openRememberingClinic({ appointments: FILTER });
        const { world } = clinic;
        world.listed = changedSince;
        if (hasEtags) world.answer = withEtags();
        const deletedAt = new Map<string, Instant>();
        for (const step of history) {
          if (step.do === 'wait') world.now += step.minutes * MINUTE_MS;
          if (step.do === 'delete') {
            if (world.rows.some(({ id }) => id === step.id)) deletedAt.set(step.id, world.now);
            world.rows = world.rows.filter(({ id }) => id !== step.id);
          }
          if (step.do === 'put') {
            const startAt = world.now + step.inHours * HOUR_MS;
            const others = world.rows.filter(({ id }) => id !== step.id);
            const updatedAt = at(world.now + skewMinutes * MINUTE_MS);
            const times = { start: at(startAt), end: at(startAt + HOUR_MS) };
            deletedAt.delete(step.id);
            world.rows = [...others, { id: step.id, status: step.status, updatedAt, ...times }];
          }
          if (step.do !== 'read') continue;
          const [known, truth] = [await clinic.read(), await clinic.readAnew()];
          if (known.completeness === 'changes') seen.changes += 1;
          for (const [id, record] of truth.records) expect(known.records.get(id)).toEqual(record);
          for (const [id, record] of known.records) {
            const isThere = truth.records.has(id) || !overlaps(record.time, truth.window);
            if (!isThere) expect(world.now - (deletedAt.get(id) ?? -Infinity)).toBeLessThan(WHOLE_EVERY_MS);
          }
        }
      },
    ),
    { numRuns: 80 },
  );
  expect(seen.changes).toBeGreaterThan(0);
});
