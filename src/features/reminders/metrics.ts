import { Gauge, Histogram, type Registry } from 'prom-client';
import type { WrongInformation } from '../../core/model/reminders.ts';
import type { FeatureMetrics } from '../../operator/control/metrics.ts';
import type { ObserveLag } from './ports.ts';

/** Metrics of reminders. */
export interface ReminderMetrics extends FeatureMetrics {
  observeLag: ObserveLag;
}

/** From an immediate reminder to the end of the longest grace period. */
const LAG_BUCKETS = [1, 5, 15, 60, 300, 900, 3_600, 7_200, 14_400, 86_400];

/** Registers the metrics of reminders. */
export function createReminderMetrics(registry: Registry): ReminderMetrics {
  const registers = [registry];
  const waiting = new Gauge({
    name: 'clinic_mirror_reminders_pending',
    help: 'Reminders that are planned and have no outcome yet',
    labelNames: ['tenant'],
    registers,
  });
  const total = new Gauge({
    name: 'clinic_mirror_reminders',
    help: 'Reminders planned, sent, dropped and unknown since the ledger began, by reason',
    labelNames: ['tenant', 'state', 'reason'],
    registers,
  });
  const misinformed = new Gauge({
    name: 'clinic_mirror_patients_misinformed',
    help: 'Appointments whose patient has outdated information or no reminder, by whether the daemon sends a correction or someone must call the patient',
    labelNames: ['tenant', 'health'],
    registers,
  });
  const lag = new Histogram({
    name: 'clinic_mirror_reminder_lag_seconds',
    help: 'Delay between the due time of a reminder and its hand-over; starts at zero with the daemon',
    labelNames: ['tenant'],
    buckets: LAG_BUCKETS,
    registers,
  });
  return {
    observeLag: (tenant, lagMs) => lag.observe({ tenant }, Math.max(0, lagMs) / 1_000),
    isUsedBy: ({ hasReminders }) => hasReminders,
    async read(tenants) {
      const publications: (() => void)[] = [];
      for (const { id: tenant, reminders, clock } of tenants) {
        if (reminders === null) continue;
        const open = await reminders.ledger.openCount();
        const counts = await reminders.ledger.counts();
        const wrong = await reminders.ledger.wrong(clock());
        const uncorrected = wrong.filter(({ correctsAt }) => correctsAt === null);
        publications.push(() => {
          waiting.set({ tenant }, open);
          misinformed.set({ tenant, health: 'action-required' }, appointmentsOf(uncorrected));
          misinformed.set({ tenant, health: 'retrying' }, appointmentsOf(wrong) - appointmentsOf(uncorrected));
          for (const { state, reason, count } of counts) total.set({ tenant, state, reason: reason ?? 'none' }, count);
        });
      }
      return () => {
        for (const each of [waiting, total, misinformed]) each.reset();
        for (const publish of publications) publish();
      };
    },
  };
}

function appointmentsOf(wrong: readonly WrongInformation[]): number {
  return new Set(wrong.map(({ appointmentId }) => appointmentId)).size;
}
