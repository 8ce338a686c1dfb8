import { Gauge, type Registry } from 'prom-client';
import type { FeatureMetrics } from '../../operator/control/metrics.ts';

/** Registers the metrics of triggers. Labels are configured names and codes. */
export function createTriggerMetrics(registry: Registry): FeatureMetrics {
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const waiting = gauge('clinic_mirror_triggers_pending', 'Trigger messages that the receiver has not accepted yet', [
    'tenant',
  ]);
  const total = gauge(
    'clinic_mirror_triggers',
    'Trigger messages sent and dropped, and failed attempts, since the state began',
    ['tenant', 'endpoint', 'event', 'result', 'reason'],
  );
  const closed = gauge(
    'clinic_mirror_trigger_endpoint_closed',
    '1 while a trigger endpoint is closed until an operator reopens it',
    ['tenant', 'endpoint'],
  );
  const off = gauge('clinic_mirror_trigger_off', '1 while the list behind a trigger event cannot be read', [
    'tenant',
    'endpoint',
    'event',
  ]);
  return {
    isUsedBy: ({ triggersEveryMinutes }) => triggersEveryMinutes !== null,
    async read(tenants) {
      const publications: (() => void)[] = [];
      for (const { id: tenant, triggers } of tenants) {
        if (triggers === null) continue;
        const status = await triggers.status();
        const counts = await triggers.store.counts();
        publications.push(() => {
          waiting.set({ tenant }, status.waiting);
          for (const { endpoint } of status.closed) closed.set({ tenant, endpoint }, 1);
          for (const { endpoint, event } of status.off) off.set({ tenant, endpoint, event }, 1);
          for (const { endpoint, event, result, reason, count } of counts) {
            total.set({ tenant, endpoint, event, result, reason: reason ?? 'none' }, count);
          }
        });
      }
      return () => {
        for (const each of [waiting, total, closed, off]) each.reset();
        for (const publish of publications) publish();
      };
    },
  };
}
