import type { Appointment } from '../../src/core/model/records.ts';
import { atMost, type Figure } from '../figure.ts';
import { secondsOfFirst } from '../vendors/first.ts';
import { cycleOf, rememberedClinic } from './records.ts';
import { openCycleWorld } from './world.ts';

const GOAL = 0.1;
const TIMES = 3;

/**
 * Measures the CPU cost of the second check of outgoing data, relative to a first sync. The cost is the difference between two plans of
 * equal new appointments: with patients' names, and without names to search for. A first sync also reads the clinic, plans, and writes to
 * Google. Each request takes equal time, so the first sync is measured with fewer records.
 */
export async function measureEgress(
  size: { appointments: number; targets: number; records: number },
  say: (text: string) => void,
): Promise<Figure[]> {
  const least = { with: Number.POSITIVE_INFINITY, without: Number.POSITIVE_INFINITY };
  for (let time = 1; time <= TIMES; time += 1) {
    for (const kind of ['without', 'with'] as const) {
      say(`egress: ${size.appointments} in ${size.targets} targets ${kind} names, ${time} of ${TIMES} …`);
      await using world = await openCycleWorld(size);
      const clinic = rememberedClinic(world.tenant, kind === 'with' ? named : nameless);
      least[kind] = Math.min(least[kind], await clinic.secondsOf(() => cycleOf(clinic.tenant)));
    }
  }
  say(`egress: a first sync of ${size.records} into google-calendar …`);
  const first = (await secondsOfFirst('google-calendar', size.records)) / size.records;
  const added = (least.with - least.without) / size.appointments;
  return [
    {
      ...{ name: 'egress', ...atMost(GOAL, added / (first - added)) },
      ...{ floor: (first - added) * 1e6, ours: first * 1e6, unit: 'µs CPU', n: size.appointments },
    },
  ];
}

function named(record: Appointment): Appointment {
  return withNames(record, 'Maria Teresa', 'De Nicolò');
}

function nameless(record: Appointment): Appointment {
  return withNames(record, null, null);
}

function withNames(record: Appointment, firstName: string | null, lastName: string | null): Appointment {
  const { patientId: id } = record;
  return id === null ? record : { ...record, patient: { id, firstName, lastName } };
}
