import { runWorker } from '../../bench/reminders/worker.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { withSource } from '../support/with-source.ts';
import { withReminders } from '../tenant/open-tenant.ts';

/** A worker with three faults, for the judge to find. */
runWorker((tenant) => withoutSecondLook(withoutNight(withoutLedger(tenant))));

/** Sends what the last list said, without asking the clinic again. */
function withoutSecondLook(tenant: OpenTenant): OpenTenant {
  const { clinic } = tenant;
  const listed = new Map<string, Appointment>();
  return withSource({
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
  });
}

/** Knows no quiet hours. */
function withoutNight(tenant: OpenTenant): OpenTenant {
  const { reminders } = tenant;
  if (reminders === null) return tenant;
  const rules = { ...reminders.rules, quiet: { fromMinute: 0, toMinute: 0 } };
  return withReminders(tenant, { ...reminders, rules });
}

/** Forgets what it did: nothing is claimed, marked as being sent, or settled. */
function withoutLedger(tenant: OpenTenant): OpenTenant {
  const { reminders } = tenant;
  if (reminders === null) return tenant;
  const { ledger } = reminders;
  return withReminders(tenant, {
    ...reminders,
    ledger: {
      ...ledger,
      async claim(id) {
        const entry = await ledger.read(id);
        return entry === null ? null : { entry: { ...entry, state: 'planned' }, token: '' };
      },
      intend: async () => 'go',
      readSome: async (ids) =>
        new Map([...(await ledger.readSome(ids))].map(([id, entry]) => [id, { ...entry, state: 'sending' }])),
      finish: async () => true,
    },
  });
}
