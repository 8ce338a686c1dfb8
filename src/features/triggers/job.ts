import { asMirrorError } from '../../core/model/errors.ts';
import type { Instant } from '../../core/model/time.ts';
import { readAppointmentList, takeAppointments } from './appointment-job.ts';
import { deliverTo } from './delivery.ts';
import { isAppointmentEvent, readEventLists } from './lists.ts';
import type { TriggerTenant } from './ports.ts';
import { type ReadingParts, takeList, triggerKeysOf } from './reading.ts';

/** Lease of a tenant's trigger job. */
export const TRIGGERS_LEASE = 'triggers';

/**
 * Runs a trigger job of a tenant: reads lists, stores new messages, and delivers waiting messages. One job at a time per tenant; safe to
 * interrupt anywhere. A possibly delivered message is delivered again with an equal id.
 * @param options.read reads the lists; if false, only delivers waiting messages
 * @returns false if a different worker holds the lease
 */
export async function runTriggers(
  tenant: TriggerTenant,
  options: { read: boolean },
  { stop, abort }: { stop: AbortSignal; abort: AbortSignal },
): Promise<boolean> {
  const { triggers } = tenant;
  if (triggers === null || stop.aborted) return true;
  const lease = await tenant.leases.tryTake(TRIGGERS_LEASE, options.read ? 'read' : undefined);
  if (lease === null) return false;
  try {
    const uncertainty = await tenant.protection.uncertainty();
    if (uncertainty !== null) {
      tenant.log.warn(uncertainty, 'list of erased persons is uncertain: no messages until an administrator decides');
      return true;
    }
    const isForgotten = await tenant.tombstones.load();
    const reading = AbortSignal.any([stop, lease.signal]);
    if (options.read) {
      await triggers.store.retainOnly(triggerKeysOf(triggers));
      await readAll({ tenant, triggers, lease, isForgotten, signal: reading });
    }
    const parts = {
      tenant,
      triggers,
      lease,
      isForgotten,
      stop: reading,
      abort: AbortSignal.any([abort, lease.signal]),
    };
    const next = await Promise.all(
      [...triggers.file.endpoints].map(([name, endpoint]) => deliverTo(parts, name, endpoint)),
    );
    const nextAt = next.filter((at) => at !== null).reduce<Instant | null>((one, at) => Math.min(one ?? at, at), null);
    if (nextAt !== null && !stop.aborted) await triggers.wake(Math.max(0, nextAt - tenant.clock()), { read: false });
  } catch (error) {
    // The present lease holder, or the next process, repeats the work.
    if (!stop.aborted && !lease.signal.aborted && asMirrorError(error).code !== 'lease-lost') throw error;
  } finally {
    await lease.release();
  }
  return true;
}

async function readAll(parts: ReadingParts): Promise<void> {
  const { triggers, signal } = parts;
  const lists = await readEventLists(triggers, signal);
  const appointments = await readAppointmentList(parts);
  for (const triggerKey of triggerKeysOf(triggers)) {
    const { endpoint, event } = triggerKey;
    if (isAppointmentEvent(event)) {
      if (appointments !== null) await takeAppointments(parts, { endpoint, event }, appointments);
      continue;
    }
    const list = lists.get(event);
    if (list !== undefined) await takeList(parts, triggerKey, list);
  }
}
