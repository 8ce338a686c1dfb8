import type { AppointmentStatus } from '../data/records.ts';

const MOVES: Readonly<Record<AppointmentStatus, readonly AppointmentStatus[]>> = {
  Booked: ['Confirmed', 'CheckedIn', 'Cancelled', 'NoShow'],
  Confirmed: ['CheckedIn', 'Cancelled', 'NoShow'],
  CheckedIn: ['InProgress', 'Completed', 'Cancelled'],
  InProgress: ['Completed'],
  Completed: [],
  Cancelled: ['Booked'],
  NoShow: ['Booked'],
};

/** Whether an appointment may go from one status to another; `allowReopen` opens the way back to Booked. */
export function mayMove(from: AppointmentStatus, to: AppointmentStatus, allowReopen: boolean): boolean {
  if (to === 'Booked' && !allowReopen) return false;
  return MOVES[from].includes(to);
}

/** Whether nothing more is expected to happen: such an appointment keeps its time and agenda. */
export function isFinal(status: AppointmentStatus): boolean {
  return status === 'Completed' || status === 'Cancelled' || status === 'NoShow';
}
