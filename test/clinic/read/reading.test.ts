import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { listCalls } from '../../../src/clinic/read/reading.ts';
import { createZone } from '../../../src/clinic/read/timestamps.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { next48hWindow } from '../../../src/domain/mapping-sources.ts';
import { openApi } from '../open-api.ts';
import { failureOf, openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const WINDOW = { fromAt: Date.parse('2026-03-01T00:00:00Z'), toAt: Date.parse('2026-03-03T00:00:00Z') };
const time = { start: '2026-03-01T10:00:00Z', end: '2026-03-01T11:00:00Z' };
const row = (id: string, more: object = {}) => ({ id, agendaId: 'g', status: 'Booked', ...time, ...more });

async function reading(rows: object[], written: WrittenProfile = {}) {
  await using server = await startScriptedServer(() => ({ json: rows }));
  const { client } = openClient(server.url, profileOf({ paging: { style: 'none' }, ...written }));
  return await client.readAppointments('t', { agendaIds: null, window: WINDOW }, unhurried());
}

describe('a row that names another tenant', () => {
  test('is skipped, the read is partial, the other rows are used', async () => {
    const snapshot = await reading([row('a', { tenantId: 't' }), row('b', { tenantId: 'u' }), row('c')]);
    expect([...snapshot.records.keys()]).toEqual(['a', 'c']);
    expect(snapshot.unusable).toEqual([{ recordId: 'b', code: 'wrong-tenant', field: 'tenantId' }]);
    expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'wrong-tenant' });
  });

  test('is detected by the path of the profile, and not at all without a path', async () => {
    const rows = [row('a', { clinic: { code: 7 } }), row('b', { tenantId: 'whatever' })];
    const ask = (tenantId: string[]) => reading(rows, { appointments: { tenantId } });
    expect([...(await ask(['clinic.code'])).records.keys()]).toEqual(['b']);
    expect(await ask([])).toMatchObject({ completeness: 'complete', unusable: [] });
    const numbered = [row('a', { tenantId: 12 })];
    await using server = await startScriptedServer(() => ({ json: numbered }));
    const { client } = openClient(server.url, profileOf({ paging: { style: 'none' } }));
    const query = { agendaIds: null, window: WINDOW };
    expect(await client.readAppointments('12', query, unhurried())).toMatchObject({ completeness: 'complete' });
  });

  test('never becomes a record, and takes none of the tenant’s own with it, however they are mixed', async () => {
    // Ten rows may be a truncated page: such a read is partial without any foreign row.
    const kinds = fc.array(fc.constantFrom('own', 'foreign', 'silent'), { maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(kinds, async (mixed) => {
        const tenants = { own: { tenantId: 't' }, foreign: { tenantId: 'u' }, silent: {} };
        const snapshot = await reading(mixed.map((kind, index) => row(`${index}`, tenants[kind])));
        const own = mixed.flatMap((kind, index) => (kind === 'foreign' ? [] : [`${index}`]));
        expect([...snapshot.records.keys()]).toEqual(own);
        expect(snapshot.completeness).toBe(mixed.includes('foreign') ? 'partial' : 'complete');
      }),
      { numRuns: 25 },
    );
  });

  test('makes the tenant’s own record of that id unread, in either order; the read proves nothing', async () => {
    const rows = [row('a', { tenantId: 'u' }), row('a', { tenantId: 't', status: 'Confirmed' })];
    for (const mixed of [rows, rows.toReversed()]) {
      const snapshot = await reading(mixed);
      expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'wrong-tenant' });
      expect(snapshot.records.get('a')?.status ?? 'confirmed').toBe('confirmed');
    }
  });

  test('makes the registry partial too; a catalogue ignores the row', async () => {
    const rows = [
      { id: 'p', name: 'Uno', firstName: 'Anna', tenantId: 't' },
      { id: 'q', name: 'Due', firstName: 'Bruno', tenantId: 'u' },
    ];
    await using server = await startScriptedServer(({ path }) =>
      path.endsWith('/userinfo') ? { json: { tenants: [{ id: 't' }] } } : { json: rows },
    );
    const { context } = openClient(server.url, profileOf({ paging: { style: 'none' } }));
    const source = createTenantSource(context, 't');
    const registry = await source.readPatients(unhurried());
    expect(registry).toMatchObject({ completeness: 'partial', reason: 'wrong-tenant' });
    expect([...registry.records.keys()]).toEqual(['p']);
    expect((await source.agendas(unhurried())).map(({ id }) => id)).toEqual(['p']);
  });

  test('exists but is unusable when read by id: the record is not gone', async () => {
    await using server = await startScriptedServer(() => ({ json: row('a', { tenantId: 'u' }) }));
    const { client } = openClient(server.url, profileOf());
    expect(await client.readAppointment('t', 'a', unhurried())).toEqual({
      unusable: { recordId: 'a', code: 'wrong-tenant', field: 'tenantId' },
    });
  });

  test('is not changed', async () => {
    await using server = await startScriptedServer(() => ({ json: { id: 'p', firstName: 'Anna', tenantId: 'u' } }));
    const api = openApi(server.url, profileOf(), 'token');
    const failure = await failureOf(api.patients.update('t', 'p', { phone: '1' }, unhurried()));
    expect(failure).toMatchObject({ actor: 'contract', code: 'record-of-another' });
    expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
  });
});

const DAY_MS = 86_400_000;
const rome = createZone('Europe/Rome');
const noon = Date.parse('2026-03-10T12:00:00+01:00');

function calls(
  appointments: WrittenProfile['appointments'],
  days: number,
  agendaIds: string[] | null = null,
  fromAt = noon,
): URLSearchParams[] {
  const settings = profileOf({ appointments }).appointments;
  const window = { fromAt, toAt: fromAt + days * DAY_MS };
  return listCalls(settings, rome, window, agendaIds).map((call) => new URLSearchParams(call));
}

function spans(parameters: URLSearchParams[]): [string | null, string | null][] {
  return parameters.map((call) => [call.get('from'), call.get('to')]);
}

describe('the window of a list', () => {
  it('of the next two days goes out in one call, whenever they are, the clock changes included', () => {
    const formats = fc.constantFrom('offset' as const, 'date' as const, 'local' as const);
    const times = fc.integer({ min: noon - 200 * DAY_MS, max: noon + 400 * DAY_MS });
    fc.assert(
      fc.property(times, formats, (now, format) => {
        const settings = profileOf({ appointments: { window: { format, maxDays: 4 } } }).appointments;
        return listCalls(settings, rome, next48hWindow(now), ['1', '2']).length === 1;
      }),
    );
  });

  it('goes out as local times with their offsets, split at the longest window', () => {
    expect(spans(calls({ window: { maxDays: 30 } }, 40))).toEqual([
      ['2026-03-10T12:00:00+01:00', '2026-04-09T12:00:00+02:00'],
      ['2026-04-09T12:00:00+02:00', '2026-04-19T13:00:00+02:00'],
    ]);
  });

  it.each([
    ['utc', '2026-03-10T11:00:00Z', '2026-03-11T11:00:00Z'],
    ['local', '2026-03-10T12:00:00', '2026-03-11T12:00:00'],
    ['local-space', '2026-03-10 12:00:00', '2026-03-11 12:00:00'],
    ['epoch-seconds', '1773140400', '1773226800'],
    ['epoch-ms', '1773140400000', '1773226800000'],
    ['date', '2026-03-10', '2026-03-12'],
  ] as const)('can be written as %s', (format, from, to) => {
    expect(spans(calls({ window: { format } }, 1))).toEqual([[from, to]]);
  });

  it('of whole dates keeps to the limit in days, with the last day included or not', () => {
    expect(spans(calls({ window: { format: 'date', maxDays: 30, toIncluded: true } }, 40))).toEqual([
      ['2026-03-10', '2026-04-08'],
      ['2026-04-09', '2026-04-19'],
    ]);
    expect(spans(calls({ window: { format: 'date', maxDays: 30 } }, 40))).toEqual([
      ['2026-03-10', '2026-04-09'],
      ['2026-04-09', '2026-04-20'],
    ]);
  });

  it('begins earlier for a server that filters by the start', () => {
    expect(spans(calls({ window: { leadHours: 12 } }, 1))).toEqual([
      ['2026-03-10T00:00:00+01:00', '2026-03-11T12:00:00+01:00'],
    ]);
  });

  it('is left out where the server can not filter', () => {
    expect(calls({ filters: { from: null, to: null } }, 90).map(String)).toEqual(['']);
  });

  it('is covered without a hole by chunks that no way of counting days finds too long', () => {
    const formats = fc.constantFrom('utc' as const, 'local' as const, 'date' as const);
    const start = fc.integer({ min: Date.UTC(2026, 0) / 60_000, max: Date.UTC(2027, 0) / 60_000 });
    fc.assert(
      fc.property(
        formats,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 200 }),
        start,
        (format, maxDays, days, minute) => {
          const fromAt = minute * 60_000;
          const chunks = spans(calls({ window: { format, maxDays } }, days, null, fromAt)).map(
            ([from, to]) => [wallOf(from), wallOf(to)] as const,
          );
          const ends = chunks.map(([, to]) => to);
          expect(chunks.slice(1).map(([from]) => from)).toEqual(ends.slice(0, -1));
          for (const [from, to] of chunks) expect(to - from).toBeLessThanOrEqual(maxDays * DAY_MS);
          const offset = (at: number) => (format === 'utc' ? 0 : rome.offsetAt(at));
          expect(chunks[0]?.[0]).toBeLessThanOrEqual(fromAt + offset(fromAt));
          expect(ends.at(-1)).toBeGreaterThanOrEqual(fromAt + days * DAY_MS + offset(fromAt + days * DAY_MS));
        },
      ),
    );
  });
});

function wallOf(text: string | null): number {
  return Date.parse(`${text?.slice(0, 19)}${(text?.length ?? 0) > 10 ? 'Z' : ''}`);
}

describe('the agendas of a list', () => {
  it('go out repeated or joined, in groups', () => {
    const agendas = ['a', 'b', 'c'];
    const sent = (style: 'repeated' | 'comma', maxPerCall: number) =>
      calls({ agendaFilter: { style, maxPerCall } }, 1, agendas).map((call) => call.getAll('agendaId'));
    expect(sent('repeated', 2)).toEqual([['a', 'b'], ['c']]);
    expect(sent('comma', 2)).toEqual([['a,b'], ['c']]);
    expect(sent('repeated', 1)).toEqual([['a'], ['b'], ['c']]);
  });

  it('are omitted if all are requested or the server cannot filter; an empty selection needs no request', () => {
    expect(calls({}, 1)[0]?.has('agendaId')).toBe(false);
    expect(calls({ filters: { agenda: null } }, 1, ['a'])[0]?.has('agendaId')).toBe(false);
    expect(calls({}, 1, [])).toEqual([]);
    expect(calls({ filters: { agenda: null } }, 1, [])).toEqual([]);
  });
});

test('lists and records have the URL paths and the parameters of the profile', async () => {
  await using server = await startScriptedServer(() => ({ json: [] }));
  const profile = profileOf({
    paging: { style: 'none' },
    pathPrefix: '/api',
    appointments: {
      urlPath: '/sites/{tenantId}/Visit',
      filters: { from: 'date=ge', to: 'date=lt', agenda: 'actor=Doctor/' },
      agendaFilter: { style: 'comma' },
      window: { format: 'utc' },
    },
  });
  const { client } = openClient(server.url, profile);
  await client.readAppointments('a b', { agendaIds: ['7', '8'], window: WINDOW }, unhurried());
  await failureOf(client.readAppointment('a b', '17', unhurried()));
  const [list, record] = server.requests;
  expect([list?.path, record?.path]).toEqual(['/api/sites/a%20b/Visit', '/api/sites/a%20b/Visit/17']);
  expect([...(list?.query ?? [])]).toEqual([
    ['date', 'ge2026-03-01T00:00:00Z'],
    ['date', 'lt2026-03-03T00:00:00Z'],
    ['actor', 'Doctor/7,Doctor/8'],
  ]);
});
