import type { Appointment } from '../../src/model/records.ts';
import { atMost, type Figure } from '../figure.ts';
import { cycleOf, rememberedClinic } from './records.ts';
import { openCycleWorld } from './world.ts';

const GOAL = 0.1;
const TIMES = 3;

/**
 * What looking once more at whatever leaves adds to the first cycle of a clinic, in CPU: of patients who have names, against the same without,
 * of whom there is nothing to look for. Neither reading the clinic nor writing to targets is counted, beside which it is less.
 */
export async function measureEgress(
  size: { appointments: number; targets: number },
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
  return [
    {
      ...{ name: 'egress', ...atMost(GOAL, least.with / least.without - 1) },
      ...{ floor: least.without, ours: least.with, unit: 'CPU s', n: size.appointments },
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
