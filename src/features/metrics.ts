import type { Metrics } from '../operator/control/metrics.ts';
import { createReminderMetrics } from './reminders/metrics.ts';
import type { ObserveLag } from './reminders/ports.ts';
import { createTriggerMetrics } from './triggers/metrics.ts';

/** Adds the metrics of every feature. @returns a function that observes the delay of each reminder */
export function addFeatureMetrics(metrics: Metrics): ObserveLag {
  const reminders = createReminderMetrics(metrics.registry);
  for (const feature of [reminders, createTriggerMetrics(metrics.registry)]) metrics.add(feature);
  return reminders.observeLag;
}
