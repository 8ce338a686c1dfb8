import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { Hold } from '../../../src/core/model/plan.ts';
import { type LedgerEntry, REMINDERS, type WrongInformation } from '../../../src/core/model/reminders.ts';
import { DAY_MS, HOUR_MS, type TimeWindow } from '../../../src/core/model/time.ts';
import { createMessageProofs } from '../../../src/features/reminders/identity.ts';
import { comparableAddress } from '../../../src/features/reminders/places.ts';
import { withViews } from '../../../src/features/reminders/views.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';

const ZONE = 'Europe/Rome';
const START = NOW + DAY_MS;
const proofs = createMessageProofs(Buffer.alloc(32, 7), 'studio-rossi');

function messageOf(appointmentId: string, changes: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    ...{ appointmentId, startAt: START, zone: ZONE, state: 'sent', handedAs: 1, correction: null, locationProof: null },
    ...changes,
  } as LedgerEntry;
}

/** Opens reminders over a clinic in memory; the test defines the sent messages. */
function openWorld(entries: readonly LedgerEntry[] = [], wrong: readonly Partial<WrongInformation>[] = []) {
  const clinic = createModelClinic();
  const asked: TimeWindow[] = [];
  const { readAppointments } = clinic;
  clinic.readAppointments = (query, signal) => {
    asked.push(query.window);
    return readAppointments(query, signal);
  };
  const ledger = {
    ofAppointments: async (ids: readonly string[]) =>
      new Map(ids.map((id) => [id, entries.filter(({ appointmentId }) => appointmentId === id)])),
    wrong: async () => wrong,
    openCount: async () => 4,
    closingOf: async (channel: string) => (channel === 'gone' ? { code: 'account-closed', at: NOW } : null),
  };
  const channels = new Map([
    ['gone', {}],
    ['text', {}],
  ]);
  const reminders = withViews({
    replies: { list: async () => [{ at: NOW - 1 }, { at: NOW }] },
    ledger,
    proofs,
    channels,
  } as never);
  const held = (...recordIds: string[]) =>
    reminders.heldCorrections(clinic as never, { recordIds, now: NOW, zone: ZONE }, NEVER);
  const changes = async () => (await held('a')).items[0]?.fieldChanges;
  return { clinic, asked, reminders, held, changes };
}

const time = (startAt: number) => ({ kind: 'time', startAt, endAt: startAt });
const NONE = { kind: 'none' };

describe('a held correction', () => {
  test('shows the time in the message to the patient, and the current time of the clinic', async () => {
    const { clinic, changes } = openWorld([messageOf('a')]);
    clinic.appointments.set('a', appointmentOf('a', { inHours: 26 }));
    expect(await changes()).toEqual([{ field: 'time', before: time(START), after: time(START + 2 * HOUR_MS) }]);
    clinic.appointments.set('a', appointmentOf('a'));
    expect(await changes()).toEqual([]);
    clinic.appointments.set('a', appointmentOf('a', { status: 'cancelled' }));
    expect(await changes()).toEqual([{ field: 'time', before: time(START), after: NONE }]);
  });

  test('of an appointment that takes place despite a cancellation has no earlier time', async () => {
    const { clinic, changes } = openWorld([messageOf('a', { correction: { kind: 'cancelled', fact: 'f' } })]);
    clinic.appointments.set('a', appointmentOf('a'));
    expect(await changes()).toEqual([{ field: 'time', before: NONE, after: time(START) }]);
  });

  test('uses the last message that was sent, or may have been', async () => {
    const { clinic, changes } = openWorld([
      messageOf('a', { handedAs: 2, startAt: START + HOUR_MS, state: 'unknown' }),
      messageOf('a', { handedAs: 1 }),
      messageOf('a', { handedAs: 3, startAt: START + 9 * HOUR_MS, state: 'dropped' }),
    ]);
    clinic.appointments.set('a', appointmentOf('a'));
    expect(await changes()).toEqual([{ field: 'time', before: time(START + HOUR_MS), after: time(START) }]);
  });

  test('shows the zone, and the location if it differs; of the old location only a hash exists', async () => {
    const locationProof = proofs.locationProof('a', comparableAddress('Via Milano 1'));
    const { clinic, changes } = openWorld([messageOf('a', { zone: 'Europe/London', locationProof })]);
    const move = (address: string | null) =>
      clinic.locationList.splice(0, 1, { id: 'l1', address, zone: null } as never);
    clinic.appointments.set('a', appointmentOf('a', { locationId: 'l1' }));
    const zone = {
      field: 'zone',
      before: { kind: 'text', text: 'Europe/London' },
      after: { kind: 'text', text: ZONE },
    };
    move('via milano, 1');
    expect(await changes()).toEqual([zone]);
    move('Via Roma 2');
    const place = { field: 'location', before: { kind: 'unread' }, after: { kind: 'text', text: 'Via Roma 2' } };
    expect(await changes()).toEqual([zone, place]);
    move(null);
    expect(await changes()).toEqual([zone, { ...place, after: NONE }]);
  });
});

describe('a list of held corrections', () => {
  test('is by time, with one list of the clinic from a day before the first to a day after the last start', async () => {
    const wrong = [
      { appointmentId: 'a', untilAt: START + 5 * DAY_MS },
      { appointmentId: 'other', untilAt: START + 50 * DAY_MS },
    ];
    const { clinic, asked, held } = openWorld([messageOf('a', { startAt: START + DAY_MS }), messageOf('b')], wrong);
    clinic.appointments.set('a', appointmentOf('a', { inHours: 30 }));
    const { items, unread } = await held('unknown', 'a', 'b');
    expect(items.map(({ record, startAt }) => [record, startAt])).toEqual([
      ['b', START],
      ['a', START + 6 * HOUR_MS],
      ['unknown', null],
    ]);
    expect(items[1]).toMatchObject({ agenda: { id: 'a1', name: 'Agenda a1' }, status: 'booked' });
    expect([asked, unread]).toEqual([[{ fromAt: START - DAY_MS, toAt: START + 6 * DAY_MS }], null]);
  });

  test('is shown without the clinic, with the code of the failed fetch', async () => {
    const { clinic, held } = openWorld([messageOf('a')]);
    clinic.listError = new MirrorError('x', { actor: 'remote', code: 'timeout', retry: 'later' });
    expect(await held('a')).toMatchObject({
      unread: 'timeout',
      items: [{ startAt: START, agenda: null, fieldChanges: [] }],
    });
  });

  test('without a sent message sends the clinic no request', async () => {
    const { asked, held } = openWorld();
    expect([(await held('a')).items.length, asked]).toEqual([1, []]);
  });
});

test('the status shows closed channels, patients with wrong information, and the open hold of corrections', async () => {
  const wrong = [{ appointmentId: 'a', channel: 'text', held: { fact: 'f', at: NOW } }];
  const { reminders } = openWorld([], wrong);
  const hold = { id: 'h1', target: REMINDERS, state: 'open', recordIds: ['a', 'b'], createdAt: NOW } as unknown as Hold;
  expect(
    await reminders.status([{ ...hold, id: 'h0', state: 'approved' }, { ...hold, target: 'doctor' }, hold], NOW),
  ).toEqual({
    waiting: 4,
    closedChannels: [{ channel: 'gone', code: 'account-closed', at: NOW }],
    wrong: [{ appointmentId: 'a', channel: 'text' }],
    replies: { count: 2, sinceAt: NOW - 1 },
    hold: { id: 'h1', appointments: 2, sinceAt: NOW },
  });
  expect((await reminders.status([], NOW)).hold).toBeNull();
});
