import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
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
  test('is set aside alone, the reading is partial, the others are used', async () => {
    const snapshot = await reading([row('a', { tenantId: 't' }), row('b', { tenantId: 'u' }), row('c')]);
    expect([...snapshot.records.keys()]).toEqual(['a', 'c']);
    expect(snapshot.unusable).toEqual([{ recordId: 'b', code: 'wrong-tenant', field: 'tenantId' }]);
    expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'wrong-tenant' });
  });

  test('is found where the profile says, and not looked for where it says nowhere', async () => {
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
    // Ten rows may be a page that was cut off there: such a reading is partial without any foreign row.
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

  test('under an id of our own leaves that one unread, whichever comes first; the reading proves nothing', async () => {
    const rows = [row('a', { tenantId: 'u' }), row('a', { tenantId: 't', status: 'Confirmed' })];
    for (const mixed of [rows, rows.toReversed()]) {
      const snapshot = await reading(mixed);
      expect(snapshot).toMatchObject({ completeness: 'partial', reason: 'wrong-tenant' });
      expect(snapshot.records.get('a')?.status ?? 'confirmed').toBe('confirmed');
    }
  });

  test('makes the registry partial too; a catalogue goes on without it', async () => {
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

  test('read alone it is there and can’t be used: it is not gone', async () => {
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
