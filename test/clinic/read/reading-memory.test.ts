import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { ReadingMemory } from '../../../src/clinic/read/reading-memory.ts';
import { CacheBudget } from '../../../src/core/model/cache.ts';
import type { Appointment } from '../../../src/core/model/records.ts';
import { openClient, profileOf, unhurried } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const WINDOW = { fromAt: Date.parse('2026-03-01T00:00:00Z'), toAt: Date.parse('2026-03-03T00:00:00Z') };
const PAGE_SIZE = 3;
const PROFILE = profileOf({
  paging: { style: 'offset-limit', size: PAGE_SIZE, ends: ['total', 'empty-page'], totalPath: 'total' },
  listPath: 'data',
});

interface Row {
  id: string;
  status: string;
  start: string;
}

function rowOf(id: string, { status = 'Booked', hour = 10 } = {}): Row {
  return { id, status, start: `2026-03-01T${hour}:00:00Z` };
}

/** A clinic whose list is set by the test, and a client that reads it by pages of three. */
async function open(room = new CacheBudget(1_000)) {
  let rows: Row[] = [];
  const server = await startScriptedServer(({ url }) => {
    const offset = Number(new URL(url, 'http://x').searchParams.get('offset'));
    const page = rows.slice(offset, offset + PAGE_SIZE);
    const told = page.map((row) => ({ agendaId: 'g', end: '2026-03-01T23:00:00Z', ...row }));
    return { json: { data: told, total: rows.length } };
  });
  const { client } = openClient(server.url, PROFILE);
  const memory = new ReadingMemory<Appointment>(room);
  const read = (remembering = true, tenant = 't', agendaIds: string[] | null = null) =>
    client.readAppointments(tenant, { agendaIds, window: WINDOW, ...(remembering && { memory }) }, unhurried());
  return {
    read,
    memory,
    show(...shown: Row[]) {
      rows = shown;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('an unchanged list is not parsed again, and returns the identical records', async () => {
  await using clinic = await open();
  clinic.show(...['a', 'b', 'c', 'd', 'e'].map((id) => rowOf(id)));
  const first = await clinic.read();
  const parse = vi.spyOn(JSON, 'parse');
  const second = await clinic.read();
  expect(parse).not.toHaveBeenCalled();
  expect(second).toEqual(first);
  for (const [id, record] of first.records) expect(second.records.get(id)).toBe(record);
});

test('an unchanged list is the same list, until the memory is invalidated, or other agendas or fewer rows are read', async () => {
  await using clinic = await open();
  clinic.show(...['a', 'b', 'c', 'd'].map((id) => rowOf(id)));
  const { records } = await clinic.read();
  expect((await clinic.read()).records).toBe(records);
  expect((await clinic.read(true, 't', ['h'])).records.size).toBe(0);
  const again = await clinic.read();
  clinic.memory.invalidate();
  const whole = await clinic.read();
  expect(whole).toEqual(again);
  expect(whole.records).not.toBe(again.records);
  clinic.show(...['a', 'b', 'c'].map((id) => rowOf(id)));
  expect([...(await clinic.read()).records.keys()]).toEqual(['a', 'b', 'c']);
});

test('unchanged records of a list with shifted pages are identical objects', async () => {
  await using clinic = await open();
  const rows = ['b', 'c', 'd', 'e', 'f', 'g'].map((id) => rowOf(id));
  clinic.show(...rows);
  const first = await clinic.read();
  clinic.show(rowOf('a'), ...rows.slice(0, 5), rowOf('g', { hour: 12 }));
  const second = await clinic.read();
  for (const id of ['b', 'c', 'd', 'e', 'f']) expect(second.records.get(id)).toBe(first.records.get(id));
  expect(second.records.get('g')).not.toEqual(first.records.get('g'));
  expect(second.records.size).toBe(7);
});

test('the same bytes are read again in another tenant', async () => {
  await using clinic = await open();
  clinic.show(rowOf('a'));
  await clinic.read();
  const parse = vi.spyOn(JSON, 'parse');
  await clinic.read(true, 'another');
  expect(parse).toHaveBeenCalledWith(expect.stringContaining('"id":"a"'));
});

test('what was forgotten is read as if for the first time', async () => {
  await using clinic = await open();
  clinic.show(rowOf('a'));
  const first = await clinic.read();
  clinic.memory.invalidate();
  const second = await clinic.read();
  expect(second).toEqual(first);
  expect(second.records.get('a')).not.toBe(first.records.get('a'));
});

test('stores nothing without free space, also for rows outside the question', async () => {
  await using clinic = await open(new CacheBudget(1));
  clinic.show(rowOf('a'), { ...rowOf('b'), start: '2026-02-01T10:00:00Z' });
  await clinic.read();
  const parse = vi.spyOn(JSON, 'parse');
  await clinic.read();
  expect(parse).toHaveBeenCalledWith(expect.stringContaining('"id":"a"'));
});

test('whatever a list becomes, it is read as one that nothing is remembered of', async () => {
  const row = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    status: fc.constantFrom('Booked', 'Cancelled'),
    start: fc.constantFrom('2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z', 'no time', '2026-02-01T10:00:00Z'),
  });
  await using clinic = await open();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(row, { maxLength: 8 }), { minLength: 1, maxLength: 4 }), async (lists) => {
      for (const list of lists) {
        clinic.show(...list);
        expect(await clinic.read()).toEqual(await clinic.read(false));
      }
    }),
    { numRuns: 60 },
  );
});
