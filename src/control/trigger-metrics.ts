import { Gauge, type Registry } from 'prom-client';
import type { OpenTenant } from '../jobs/tenant.ts';
import { triggerStatus } from './trigger-status.ts';

/** Figures of triggers. */
export interface TriggerMetrics {
  /** Reads what is kept of the tenants. @returns tells what was read, all at once */
  read(tenants: Iterable<OpenTenant>): Promise<() => void>;
}

/** Registers the figures of triggers. Labels are names of the configuration and codes. */
export function createTriggerMetrics(registry: Registry): TriggerMetrics {
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const waiting = gauge('clinic_mirror_triggers_waiting', 'Messages to receivers that are not taken yet', ['tenant']);
  const total = gauge(
    'clinic_mirror_triggers',
    'Messages sent and dropped, and tries that failed, since the state began',
    ['tenant', 'endpoint', 'event', 'result', 'reason'],
  );
  const closed = gauge('clinic_mirror_trigger_endpoint_closed', '1 while an endpoint waits for a person', [
    'tenant',
    'endpoint',
  ]);
  const off = gauge('clinic_mirror_trigger_off', '1 while the list of an event can not be read', [
    'tenant',
    'endpoint',
    'event',
  ]);
  return {
    async read(tenants) {
      const told: (() => void)[] = [];
      for (const { id: tenant, triggers } of tenants) {
        const status = await triggerStatus(triggers);
        if (triggers === null || status === null) continue;
        const counts = await triggers.store.counts();
        told.push(() => {
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
        for (const tell of told) tell();
      };
    },
  };
}
