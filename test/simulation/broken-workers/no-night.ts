import { runWorker } from '../../../bench/reminders/worker.ts';

/** Knows no quiet hours. */
runWorker((tenant) => {
  const { reminders } = tenant;
  if (reminders === null) return tenant;
  const rules = { ...reminders.rules, quiet: { fromMinute: 0, toMinute: 0 } };
  return { ...tenant, reminders: { ...reminders, rules } };
});
