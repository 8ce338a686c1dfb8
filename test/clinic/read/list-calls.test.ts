import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';

const FROM_AT = Date.parse('2026-03-02T00:00:00Z');
const DAYS = 5;
/** Pages of one row, whose total must match. */
const PAGES: WrittenProfile = {
  listPath: 'data',
  paging: { style: 'offset-limit', size: 1, totalPath: 'total', ends: ['total'] },
  appointments: { window: { maxDays: 1, format: 'utc' } },
};

interface Visit {
  id: string;
  day: string;
}

const dayOf = (index: number) => new Date(FROM_AT + index * DAY_MS).toISOString().slice(0, 10);

/** Two visits on each day. */
const visits = (): Visit[] =>
  Array.from({ length: DAYS }, (_, index) =>
    ['a', 'b'].map((name) => ({ id: `${name}${index}`, day: dayOf(index) })),
  ).flat();

/**
 * A clinic with a list for each day, in pages of one visit. `onRequest` runs before an answer, with the index of the day, the offset, and
 * how often this page was asked for before.
 */
async function clinicOf(
  all: Visit[],
  onRequest: (page: { index: number; offset: number; before: number }) => void,
  { requestsAtOnce = 4, rereads = 1 } = {},
) {
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://127.0.0.1').searchParams;
    const day =
      [...query.values()].map((value) => /^2026-03-\d\d/.exec(value)?.[0]).find((value) => value !== undefined) ?? '';
    const offset = Number(query.get('offset') ?? 0);
    const index = Math.round((Date.parse(day) - FROM_AT) / DAY_MS);
    const before = asked.get(`${index} ${offset}`) ?? 0;
    asked.set(`${index} ${offset}`, before + 1);
    onRequest({ index, offset, before });
    const own = all.filter((visit) => visit.day === day);
    const data = own.slice(offset, offset + 1).map(({ id }) => ({
      ...{ id, agendaId: 'g', status: 'Booked', start: `${day}T12:00:00Z`, end: `${day}T13:00:00Z` },
    }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data, total: own.length }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const profile = profileOf({ ...PAGES, limits: { requestsAtOnce, rereads } });
  const { client } = openClient(`http://127.0.0.1:${port}`, profile);
  const window = { fromAt: FROM_AT, toAt: FROM_AT + DAYS * DAY_MS };
  const read = () => client.readAppointments('t', { agendaIds: null, window }, unhurried());
  return { read, timesOf: (index: number) => asked.get(`${index} 0`) ?? 0 };
}

describe.each([1, 4])('while %i lists are read at once', (requestsAtOnce) => {
  test.each([
    { what: 'later', from: 1, to: 3 },
    { what: 'earlier', from: 3, to: 1 },
    { what: 'first', from: 4, to: 0 },
  ])('a visit that moves to the $what list before its own list ends is read there', async ({ from, to }) => {
    const all = visits();
    const { read } = await clinicOf(
      all,
      ({ index, offset, before }) => {
        if (index !== from || offset !== 1 || before > 0) return;
        const [, second] = all.filter(({ day }) => day === dayOf(from));
        if (second !== undefined) second.day = dayOf(to);
      },
      { requestsAtOnce },
    );
    const { completeness, records } = await read();
    expect(completeness).toBe('complete');
    expect([...records.keys()].sort()).toEqual(
      visits()
        .map(({ id }) => id)
        .sort(),
    );
    expect(records.get(`b${from}`)?.time.startAt).toBe(Date.parse(`${dayOf(to)}T12:00:00Z`));
  });

  test('nothing is read twice while no list changes', async () => {
    const { read, timesOf } = await clinicOf(visits(), () => {}, { requestsAtOnce });
    expect((await read()).completeness).toBe('complete');
    expect(Array.from({ length: DAYS }, (_, index) => timesOf(index))).toEqual([1, 1, 1, 1, 1]);
  });

  test('a visit that is gone again is not shown by the list that was read before', async () => {
    const all = visits();
    const { read } = await clinicOf(
      all,
      ({ index, offset, before }) => {
        if (index !== 3 || offset !== 1 || before > 0) return;
        all.splice(0, all.length, ...all.filter(({ id }) => id !== 'a0' && id !== 'b3'));
      },
      { requestsAtOnce },
    );
    const { completeness, records } = await read();
    expect(completeness).toBe('complete');
    expect(records.has('a0') || records.has('b3')).toBe(false);
    expect(records.size).toBe(8);
  });

  test('lists that change in each read prove no absence', async () => {
    const all = Array.from({ length: 6 }, (_, time) =>
      visits().map(({ id, day }) => ({ id: `${id} ${time}`, day })),
    ).flat();
    const { read } = await clinicOf(
      all,
      ({ index, offset, before }) => {
        // The first read of a list finds a change, the next one finds none, and the repetition finds a change again.
        if (offset !== 1 || before % 2 === 1) return;
        const last = all.findLastIndex(({ day }) => day === dayOf(index));
        all.splice(last, 1);
      },
      { requestsAtOnce },
    );
    expect(await read()).toMatchObject({ completeness: 'partial', reason: 'total-mismatch' });
  });
});
