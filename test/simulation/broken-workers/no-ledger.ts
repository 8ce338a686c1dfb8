import { runWorker } from '../../../bench/reminders/worker.ts';
import { withReminders } from '../../jobs/open-tenant.ts';

/** Forgets what it did: nothing is claimed, marked as being sent, or settled. */
runWorker((tenant) => {
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
      finish: async () => true,
    },
  });
});
