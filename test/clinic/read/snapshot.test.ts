import { describe, expect, it, test } from 'vitest';
import { sharedTexts } from '../../../src/clinic/read/snapshot.ts';
import type { Appointment } from '../../../src/model/records.ts';
import { appointmentOf } from '../../sync/arbitraries.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const WINDOW = { fromAt: Date.parse('2026-03-01T00:00:00Z'), toAt: Date.parse('2026-03-03T00:00:00Z') };

/** Two calls of one day each. */
const TWO_DAYS: WrittenProfile = { paging: { style: 'none' }, appointments: { window: { maxDays: 1, format: 'utc' } } };

function row(id: string, more: object = {}) {
  const time = { start: '2026-03-01T10:00:00Z', end: '2026-03-01T11:00:00Z' };
  return { id, agendaId: 'g', status: 'Booked', ...time, ...more };
}

/** Reads from a server that gives these answers in turn. */
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
  return { status: snapshot.records.get('a')?.status, setAside: snapshot.setAside.map(({ code }) => code) };
}

describe('a record that comes twice', () => {
  const early = '2026-02-01T10:00:00Z';
  const late = '2026-02-02T10:00:00Z';

  it('is kept as it was changed last, in whichever order it came', async () => {
    const newer = { status: 'Cancelled', updatedAt: late };
    const older = { status: 'Booked', updatedAt: early };
    expect(await statusAfter(older, newer)).toEqual({ status: 'cancelled', setAside: [] });
    expect(await statusAfter(newer, older)).toEqual({ status: 'cancelled', setAside: [] });
  });

  it('is kept as it was read last when nothing tells which is newer', async () => {
    expect((await statusAfter({ status: 'Booked' }, { status: 'Confirmed' })).status).toBe('confirmed');
    const same = { updatedAt: early };
    expect((await statusAfter({ ...same }, { ...same, status: 'Confirmed' })).status).toBe('confirmed');
  });

  it('is either kept or set aside, as it was read last, never both', async () => {
    expect(await statusAfter({ start: '?' }, {})).toEqual({ status: 'booked', setAside: [] });
    expect(await statusAfter({}, { start: '?' })).toEqual({ status: undefined, setAside: ['bad-time'] });
  });
});

describe('what the server sends beside the question', () => {
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
  it('is partial when one of them is, and still holds what the others showed', async () => {
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
    expect(snapshot.setAside).toHaveLength(2);
  });

  it('that is made again and then proves its end tells nothing that only an earlier reading showed', async () => {
    const moved = { data: [row('foreign'), row('a')], total: 1 };
    const { snapshot } = await snapshotOf([moved, { data: [row('a')], total: 1 }, []], TWO_DAYS);
    expect(snapshot).toMatchObject({ completeness: 'complete', pages: 3 });
    expect([...snapshot.records.keys()]).toEqual(['a']);
  });

  it('that is made again and never proves its end tells all that any of its readings showed', async () => {
    const short = (...ids: string[]) => ({ data: ids.map((id) => row(id)), total: 9 });
    const { snapshot } = await snapshotOf([short('a', 'b'), short('b', 'c'), []], TWO_DAYS);
    expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'total-mismatch' });
    expect([...snapshot.records.keys()]).toEqual(['a', 'b', 'c']);
  });

  it('needs no call when no agenda is wanted', async () => {
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
        codes.push(...page.setAside.map(({ code }) => code));
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

  it('that does not come whole ends with an error', async () => {
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

/** As it comes from the network: each patient is an object of its own. */
function received(id: string, lastName: string): Appointment {
  return { ...appointmentOf(id, { patientId: 'p' }), patient: { id: 'p', firstName: 'Anna', lastName } };
}

test('records of one reading share a patient who is written alike, and tell what they told', () => {
  const share = sharedTexts();
  const records = [received('1', 'Rossi'), received('2', 'Rossi'), received('3', 'Bianchi'), received('4', 'Rossi')];
  const before = structuredClone(records);
  for (const record of records) expect(share({ record })).toEqual({ record });
  expect(records).toEqual(before);
  const [first, second, third] = records;
  expect(second?.patient).toBe(first?.patient);
  expect(third?.patient?.lastName).toBe('Bianchi');
});

test('rows that are set aside, and records that tell nothing, stay as they are', () => {
  const share = sharedTexts();
  const setAside = { recordId: null, code: 'missing-id', field: 'id' };
  expect(share({ setAside })).toEqual({ setAside });
  const record: Appointment = {
    ...appointmentOf('1'),
    patientId: null,
    patient: null,
    locationId: null,
    rawStatus: null,
  };
  expect(share({ record: { ...record } })).toEqual({ record });
});
