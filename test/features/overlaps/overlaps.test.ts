import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printTerminal } from '../../../src/cli/print-terminal.ts';
import { overlapsDocument, overlapsOf, reportOverlaps } from '../../../src/features/overlaps/overlaps.ts';
import type { Appointment } from '../../../src/model/records.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/model/time.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { NEVER } from '../../jobs/cycle.ts';
import { createModelClinic } from '../../jobs/model-clinic.ts';
import { openTenant } from '../../jobs/open-tenant.ts';
import { useRedis } from '../../support/redis.ts';
import { appointmentOf, NOW } from '../../sync/arbitraries.ts';

const redis = useRedis();

function appointment(id: string, fromMinute: number, toMinute: number, rest: Partial<Appointment> = {}): Appointment {
  const base = appointmentOf(id, { inHours: 1 });
  const startAt = NOW + HOUR_MS + fromMinute * MINUTE_MS;
  return { ...base, time: { ...base.time, startAt, endAt: NOW + HOUR_MS + toMinute * MINUTE_MS }, ...rest };
}

const pairsOf = (appointments: readonly Appointment[]) =>
  overlapsOf(appointments).map(({ first, second, minutes }) => [first.record, second.record, minutes]);

describe('overlapsOf', () => {
  test.each<[string, Appointment[], unknown]>([
    ['one that begins within another', [appointment('a', 0, 30), appointment('b', 20, 50)], [['a', 'b', 10]]],
    [
      'one inside a long one, and the next too',
      [appointment('a', 0, 90), appointment('b', 10, 20), appointment('c', 30, 40)],
      [
        ['a', 'b', 10],
        ['a', 'c', 10],
      ],
    ],
    ['two at the same time', [appointment('b', 0, 30), appointment('a', 0, 30)], [['a', 'b', 30]]],
    ['none of those that follow each other', [appointment('a', 0, 30), appointment('b', 30, 60)], []],
    ['none of two agendas', [appointment('a', 0, 30), appointment('b', 0, 30, { agendaId: 'other' })], []],
    [
      'one of several agendas in the other’s agenda',
      [
        appointment('a', 0, 30, { agendaId: 'dr', agendaIds: ['dr', 'room'] }),
        appointment('b', 0, 30, { agendaId: 'room' }),
      ],
      [['a', 'b', 30]],
    ],
    ['none with a cancelled one', [appointment('a', 0, 30), appointment('b', 0, 30, { status: 'cancelled' })], []],
    ['none with one without a duration', [appointment('a', 0, 30), appointment('b', 10, 10)], []],
  ])('finds %s', (_, appointments, pairs) => {
    expect(pairsOf(appointments)).toEqual(pairs);
  });

  test('finds the pairs that comparing each with each finds', () => {
    const some = fc.array(
      fc.record({ from: fc.nat(120), length: fc.nat(60), agendaId: fc.constantFrom('one', 'two') }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(some, (given) => {
        const all = given.map(({ from, length, agendaId }, at) =>
          appointment(String(at).padStart(2, '0'), from, from + length, { agendaId }),
        );
        const shares = (one: Appointment, other: Appointment) =>
          one.agendaId === other.agendaId &&
          Math.min(one.time.endAt, other.time.endAt) > Math.max(one.time.startAt, other.time.startAt);
        const pairs = all.flatMap((one, at) =>
          all
            .slice(at + 1)
            .filter((other) => shares(one, other))
            .map((other) => [one.id, other.id].sort().join()),
        );
        expect(
          overlapsOf(all)
            .map(({ first, second }) => [first.record, second.record].sort().join())
            .sort(),
        ).toEqual(pairs.sort());
      }),
    );
  });
});

describe('the report', () => {
  async function report(...appointments: Appointment[]) {
    const clinic = createModelClinic();
    for (const each of appointments) clinic.appointments.set(each.id, each);
    const tenant = openTenant({ redis: redis.connect(), clinic, targets: [], clock: () => NOW });
    return reportOverlaps(openInstallation({ tenants: [tenant] }), tenant.id, 7, NEVER);
  }

  test('names the agenda, both records and the minutes, in both languages and without a patient', async () => {
    const found = await report(appointment('a', 0, 30), appointment('b', 20, 50));
    expect(found).toMatchObject({
      isComplete: true,
      overlaps: [{ first: { record: 'a' }, second: { record: 'b' }, minutes: 10 }],
    });
    const [english, italian] = (['en', 'it'] as const).map((language) =>
      printTerminal(overlapsDocument(found, language)),
    );
    expect(english).toMatch(/Overlaps with[\s\S]*\ba\b.*\bb\b.*\b10\b/);
    expect(italian).toContain('Si sovrappone a');
    expect(JSON.stringify(found)).not.toContain(appointment('a', 0, 1).patient?.lastName ?? 'Rossi');
  });

  test('says that nothing overlaps, and that the list was incomplete', async () => {
    const found = await report(appointment('a', 0, 30));
    expect(printTerminal(overlapsDocument(found, 'en'))).toContain('No appointments overlap.');
    expect(printTerminal(overlapsDocument({ ...found, isComplete: false }, 'en'))).toContain('was incomplete');
  });
});
