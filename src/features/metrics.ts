import type { Metrics } from '../control/metrics.ts';
import { createReminderMetrics } from './reminders/metrics.ts';
import type { ObserveLag } from './reminders/ports.ts';
import { createTriggerMetrics } from './triggers/metrics.ts';

/** Adds the figures of all features. @returns observes how late each reminder was sent */
export function addFeatureMetrics(metrics: Metrics): ObserveLag {
  const reminders = createReminderMetrics(metrics.registry);
  for (const feature of [reminders, createTriggerMetrics(metrics.registry)]) metrics.add(feature);
  return reminders.observeLag;
}
