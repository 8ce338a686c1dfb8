import { parse } from 'yaml';
import type { WrittenProfile } from '../../clinic/open-client.ts';

/** The vendor's answer about the meaning of the states of the clinic of numbers. */
const STATES_OF_NUMBERS = {
  0: 'booked',
  10: 'confirmed',
  20: 'arrived',
  30: 'in_progress',
  40: 'completed',
  90: 'cancelled',
  91: 'no_show',
} as const;

/** A proposed profile of that clinic with the states answered: nothing else in it is touched. */
export function answered(proposed: string): WrittenProfile {
  const written = parse(proposed) as WrittenProfile;
  return { ...written, appointments: { ...written.appointments, statuses: STATES_OF_NUMBERS } };
}
