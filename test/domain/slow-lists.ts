import type { Appointment } from '../../src/core/model/records.ts';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import type { ModelClinic } from '../tenant/model-clinic.ts';

/** Duration of a slow list. */
export const LONG_MS = 20 * MINUTE_MS;

/** Makes one of the clinic's lists take long; the appointment is cancelled while it is read. */
export function readSlowly(
  clinic: ModelClinic,
  list: 'patients' | 'readPatients',
  clock: { now: number },
  id: string,
): void {
  const read = clinic[list] as (signal: AbortSignal) => Promise<never>;
  Object.assign(clinic, {
    async [list](signal: AbortSignal) {
      clock.now += LONG_MS;
      const known = clinic.appointments.get(id) as Appointment;
      clinic.appointments.set(id, { ...known, status: 'cancelled' });
      return await read(signal);
    },
  });
}
