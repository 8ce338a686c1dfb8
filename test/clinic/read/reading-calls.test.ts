import { describe, expect, test } from 'vitest';
import { createAvailabilityCalls, createPriceListCalls, mapperOf } from '../../../src/clinic/read/reading-calls.ts';
import { CompiledProfile } from '../../../src/clinic/schema/profile.ts';
import { all } from '../open-api.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

const DAY = { fromAt: Date.parse('2026-06-15T00:00:00Z'), toAt: Date.parse('2026-06-16T00:00:00Z') };

/** A clinic of one page: it answers each list, and each record, with the same rows or row. */
async function openWorld(answer: unknown, profile: WrittenProfile = {}) {
  const server = await startScriptedServer(({ query }) => {
    if (answer === null) return { status: 404, json: {} };
    return { json: Number(query.get('offset') ?? 0) > 0 ? [] : answer };
  });
  const { context } = openClient(server.url, profileOf(profile));
  return Object.assign(server, { context });
}

function slotAt(hour: number, more: object = {}) {
  const [from, to] = [hour, hour + 1].map((each) => new Date(DAY.fromAt + each * 3_600_000).toISOString());
  return { agendaId: 'a1', start: from, end: to, ...more };
}

describe('free slots', () => {
  test('are those that begin in the window, of the wanted agendas, location and doctor', async () => {
    const rows = [
      ...[slotAt(-1), slotAt(9), slotAt(24), slotAt(10, { agendaId: 'a2' })],
      ...[
        slotAt(11, { locationId: 'l2' }),
        slotAt(12, { locationId: 'l1', doctorId: 'd1' }),
        slotAt(13, { doctorId: 'd2' }),
      ],
    ];
    await using server = await openWorld(rows);
    const { list } = createAvailabilityCalls(server.context);
    const hoursOf = async (question: object) =>
      (await all(list('t1', { window: DAY, ...question }, unhurried()))).map(
        ({ startAt }) => (startAt - DAY.fromAt) / 3_600_000,
      );
    expect(await hoursOf({})).toEqual([9, 10, 11, 12, 13]);
    expect(await hoursOf({ agendaIds: ['a1'] })).toEqual([9, 11, 12, 13]);
    // What a row does not tell speaks against nothing.
    expect(await hoursOf({ locationId: 'l1' })).toEqual([9, 10, 12, 13]);
    expect(await hoursOf({ doctorId: 'd1' })).toEqual([9, 10, 11, 12]);
  });

  test('are filtered by location and doctor in the request if the clinic supports it, otherwise only by the client', async () => {
    const question = { window: DAY, locationId: 'l1', doctorId: 'd1' };
    for (const [placeFilters, asked] of [
      [{}, ['l1', 'd1']],
      [{ location: null, doctor: 'practitioner' }, [null, null]],
    ] as const) {
      await using server = await openWorld([], { availabilities: { placeFilters } });
      await all(createAvailabilityCalls(server.context).list('t1', question, unhurried()));
      const query = server.requests[0]?.query;
      expect([query?.get('locationId'), query?.get('doctorId')]).toEqual(asked);
      expect(query?.get('practitioner')).toBe('practitioner' in placeFilters || placeFilters.doctor ? 'd1' : null);
    }
  });

  test('of a treatment are requested under the treatment and its price list', async () => {
    await using server = await openWorld([slotAt(9)]);
    const offer = { treatmentId: 'tr/1', priceListId: 'pl1' };
    const calls = createAvailabilityCalls(server.context);
    expect(await all(calls.listOfTreatment('t1', offer, { window: DAY }, unhurried()))).toHaveLength(1);
    expect(server.requests[0]?.path).toMatch(/\/treatments\/tr%2F1\/listprices\/pl1\/availabilities$/);
  });
});

describe('a price list', () => {
  const row = { id: '7', code: 'BASE', name: 'Base' };

  test('is found by its id or its code', async () => {
    await using server = await openWorld(row);
    const { read } = createPriceListCalls(server.context);
    for (const asked of ['7', 'BASE']) {
      expect(await read('t1', asked, unhurried())).toMatchObject({ found: { id: '7', code: 'BASE' } });
    }
  });

  test('with another id than the requested one is refused', async () => {
    await using server = await openWorld(row);
    const other = createPriceListCalls(server.context).read('t1', 'OTHER', unhurried());
    expect(await other.then((answer) => 'found' in answer).catch(() => false)).toBe(false);
  });

  test('that is not there is absent', async () => {
    await using server = await openWorld(null);
    expect(await createPriceListCalls(server.context).read('t1', '7', unhurried())).toEqual({ absent: true });
  });
});

test('a patient comes with consents, and with a whole name in two parts where the profile has it in one field', () => {
  const profile = profileOf({
    patients: { fullName: { path: 'name', order: 'family-first' }, consents: { marketing: ['consents.marketing'] } },
  });
  const map = mapperOf({ compiled: new CompiledProfile(profile) }, 'patients');
  expect(map({ id: '1', name: 'De Luca, Mario', consents: { marketing: true } })).toMatchObject({
    record: { id: '1', firstName: 'Mario', lastName: 'De Luca', consents: { marketing: true } },
  });
  expect(map('no row')).not.toHaveProperty('record');
});
