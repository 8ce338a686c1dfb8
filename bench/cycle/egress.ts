import type { Appointment } from '../../src/model/records.ts';
import { atMost, type Figure } from '../figure.ts';
import { secondsOfFirst } from '../vendors/first.ts';
import { cycleOf, rememberedClinic } from './records.ts';
import { openCycleWorld } from './world.ts';

const GOAL = 0.1;
const TIMES = 3;

/**
 * What looking once more at whatever leaves adds to a first sync, in CPU of our process. What it takes is the difference of two plannings of the
 * same new appointments: of patients who have names, and of such without, of whom there is nothing to look for. A first sync reads the
 * clinic, plans, and writes to Google besides; its requests take as long each, so it is measured of fewer.
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
