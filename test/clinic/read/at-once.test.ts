import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';

const FROM_AT = Date.parse('2026-03-02T00:00:00Z');
const BY_OFFSET: WrittenProfile = {
  listPath: 'data',
  paging: { style: 'offset-limit', size: 500, totalPath: 'total', ends: ['total'] },
};
const BY_CURSOR: WrittenProfile = {
  listPath: 'data',
  paging: { style: 'cursor', cursorPath: 'next', cursorParameter: 'cursor', ends: ['no-next'] },
};
const WITHOUT_PAGING: WrittenProfile = { listPath: 'data', paging: { style: 'none' } };

/** Time in which a request too many would arrive. */
const LATE_MS = 20;

/**
 * A clinic that answers `alone` requests, then waits once until `together` requests wait, and counts the most that ever wait.
 */
async function slowClinic(
  written: WrittenProfile,
  days: number,
  {
    together = 1,
    alone = 0,
    answer = rowsOfDay,
  }: { together?: number; alone?: number; answer?: typeof rowsOfDay } = {},
) {
  const waiting: { query: URLSearchParams; response: ServerResponse }[] = [];
  const seen = { most: 0, requests: 0 };
  let isGathered = false;
  const release = () => {
    seen.most = Math.max(seen.most, waiting.length);
    // The last request is answered first: the order of answers must not matter.
    for (const { query, response } of waiting.splice(0).reverse()) {
      const { status = 200, ...body } = answer(query);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
  };
  const server = createServer((request, response) => {
    seen.requests += 1;
    waiting.push({ query: new URL(request.url ?? '', 'http://127.0.0.1').searchParams, response });
    if (seen.requests > alone && !isGathered && waiting.length < together) return;
    isGathered ||= seen.requests > alone;
    setTimeout(release, LATE_MS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const appointments = { window: { maxDays: 1, format: 'utc' as const }, ...written.appointments };
  const { client } = openClient(`http://127.0.0.1:${port}`, profileOf({ ...written, appointments }));
  const window = { fromAt: FROM_AT, toAt: FROM_AT + days * DAY_MS };
  return { seen, read: () => client.readAppointments('t', { agendaIds: null, window }, unhurried()) };
}

type Answer = { status?: number; data?: object[]; total?: number; next?: string | null };

/** One appointment at noon of the asked day; under a cursor, the page says that it is the last one. */
function rowsOfDay(query: URLSearchParams): Answer {
  const day = [...query.values()].map((value) => /^2026-03-\d\d/.exec(value)?.[0]).find((value) => value !== undefined);
  const time = { start: `${day}T12:00:00Z`, end: `${day}T13:00:00Z` };
  return { data: [{ id: `on ${day}`, agendaId: 'g', status: 'Booked', ...time }], total: 1, next: null };
}

describe('the list calls of a read', () => {
  test('run at the same time, up to the limit of the profile, and their rows are all there, in order', async () => {
    const clinic = await slowClinic(BY_OFFSET, 8, { together: 4, alone: 1 });
    const { records, completeness } = await clinic.read();
    expect(completeness).toBe('complete');
    expect([...records.keys()].slice(0, 3)).toEqual(['on 2026-03-02', 'on 2026-03-03', 'on 2026-03-04']);
    expect(records.size).toBeGreaterThanOrEqual(8);
    expect(clinic.seen.most).toBe(4);
  });

  test('run one after the other if the profile asks for it', async () => {
    const clinic = await slowClinic({ ...BY_OFFSET, limits: { requestsAtOnce: 1 } }, 4);
    expect((await clinic.read()).completeness).toBe('complete');
    expect(clinic.seen.most).toBe(1);
  });

  test('run one after the other where the size of a page is evidence', async () => {
    const clinic = await slowClinic(WITHOUT_PAGING, 4);
    await clinic.read();
    expect(clinic.seen.most).toBe(1);
  });

  test('run at the same time under cursors once an answer showed the field of a next page', async () => {
    const clinic = await slowClinic(BY_CURSOR, 8, { together: 4, alone: 1 });
    await clinic.read();
    expect(clinic.seen.most).toBe(4);
  });

  test('share the limit of rows', async () => {
    const clinic = await slowClinic({ ...BY_OFFSET, limits: { maxRecords: 3 } }, 8);
    await expect(clinic.read()).rejects.toMatchObject({ code: 'too-many-records' });
  });

  test('end together when one fails, and no more are sent', async () => {
    const isForbidden = (query: URLSearchParams) => query.toString().includes('2026-03-03');
    const answer = (query: URLSearchParams) => (isForbidden(query) ? { status: 403 } : rowsOfDay(query));
    const clinic = await slowClinic(BY_OFFSET, 12, { together: 4, alone: 1, answer });
    await expect(clinic.read()).rejects.toMatchObject({ status: 403 });
    expect(clinic.seen.requests).toBeLessThan(12);
  });

  test('begin with one alone, which a clinic that refuses requests at present answers', async () => {
    const clinic = await slowClinic(BY_OFFSET, 12, { answer: () => ({ status: 403 }) });
    await expect(clinic.read()).rejects.toMatchObject({ status: 403 });
    expect(clinic.seen.requests).toBe(1);
  });
});
