import { runWorker } from '../../../bench/reminders/worker.ts';
import { withReminders } from '../../jobs/open-tenant.ts';

/** Knows no quiet hours. */
runWorker((tenant) => {
  const { reminders } = tenant;
  if (reminders === null) return tenant;
  const rules = { ...reminders.rules, quiet: { fromMinute: 0, toMinute: 0 } };
  return withReminders(tenant, { ...reminders, rules });
});
