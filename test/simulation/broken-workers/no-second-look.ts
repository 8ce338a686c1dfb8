import { runWorker } from '../../../bench/reminders/worker.ts';
import type { Appointment } from '../../../src/model/records.ts';

/** Sends what the last list said, without asking the clinic again. */
runWorker((tenant) => {
  const { clinic } = tenant;
  const listed = new Map<string, Appointment>();
  return {
    ...tenant,
    clinic: {
      ...clinic,
      async readAppointments(query, signal) {
        const snapshot = await clinic.readAppointments(query, signal);
        for (const [id, appointment] of snapshot.records) listed.set(id, appointment);
        return snapshot;
      },
      async readAppointment(id, signal) {
        const known = listed.get(id);
        return known === undefined ? clinic.readAppointment(id, signal) : { found: known };
      },
    },
  };
});
