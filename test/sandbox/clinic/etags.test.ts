import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { ReadingMemory } from '../../../src/clinic/read/reading-memory.ts';
import { CacheBudget } from '../../../src/core/model/cache.ts';
import type { Appointment } from '../../../src/core/model/records.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../../clinic/open-client.ts';
import { firstTenant, frontDeskToken, NOW } from './support.ts';

let sandbox: ClinicSandbox;
let token: string;
let tenantId: string;

beforeAll(async () => {
  sandbox = await startClinicSandbox({
    ...{ tenants: 1, appointments: 500, now: NOW, etags: 'weak', updatedSinceFilter: true },
  });
  token = await frontDeskToken(sandbox);
  tenantId = firstTenant(sandbox).id;
});
afterAll(() => sandbox.close());
afterEach(() => sandbox.faults.clear());

function list(etag?: string | null): Promise<Response> {
  return fetch(`${sandbox.baseUrl}/v2/tenants/${tenantId}/appointments?limit=5`, {
    headers: { accept: 'application/json', authorization: `Bearer ${token}`, ...(etag && { 'if-none-match': etag }) },
  });
}

/** A process that reads the clinic again and again. */
function openProcess(written: WrittenProfile = {}) {
  const authorization = { header: async () => `Bearer ${token}`, renew: async () => `Bearer ${token}` };
  const { client } = openClient(sandbox.baseUrl, profileOf(written), { authorization, clock: sandbox.clock });
  const memory = new ReadingMemory<Appointment>(new CacheBudget(10_000));
  const window = { fromAt: NOW - 25 * DAY_MS, toAt: NOW + 60 * DAY_MS };
  const read = (more = {}) => client.readAppointments(tenantId, { agendaIds: null, window, ...more }, unhurried());
  return { read: () => read({ memory }), readAnew: () => read() };
}

describe('a sandbox with ETags', () => {
  test('answers 304 to an unchanged resource, and the full content to a changed one', async () => {
    const etag = (await list()).headers.get('etag');
    expect(etag).toMatch(/^W\/"/);
    expect((await list(etag)).status).toBe(304);
    // Each page contains the total, so every page changes.
    sandbox.book(tenantId);
    expect((await list(etag)).status).toBe(200);
  });

  test.each([
    ['etag-stays', 304],
    ['etag-changes', 200],
    ['unasked-304', 304],
  ] as const)('plays the fault %s', async (kind, status) => {
    sandbox.faults.add({ fault: { kind } });
    const before = kind === 'unasked-304' ? null : (await list()).headers.get('etag');
    sandbox.book(tenantId);
    expect((await list(before)).status).toBe(status);
  });

  test('supports a client that sends If-None-Match, and counts its fetches', async () => {
    const { read, readAnew } = openProcess();
    await read();
    sandbox.counts.reset();
    const route = '/v2/tenants/:tenantId/appointments';
    await read();
    expect(sandbox.counts.requests({ route, status: 200 })).toBe(0);
    expect(sandbox.counts.requests({ route, status: 304 })).toBeGreaterThan(2);
    sandbox.simulate(tenantId, { booked: 3, moved: 3, cancelled: 2 });
    expect((await read()).records).toEqual((await readAnew()).records);
  });

  test('supports a client that fetches only changes', async () => {
    const rereading = { changedSince: { parameter: 'updatedSince' } };
    const { read, readAnew } = openProcess({ appointments: { rereading } });
    await read();
    sandbox.simulate(tenantId, { booked: 3, moved: 3, cancelled: 2 });
    const [changes, all] = [await read(), await readAnew()];
    expect(changes.completeness).toBe('changes');
    for (const [id, record] of all.records) expect(changes.records.get(id)).toEqual(record);
  });
});
