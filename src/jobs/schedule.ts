import type { Logger } from '../log/logger.ts';
import { slices } from '../model/pieces.ts';
import { MINUTE_MS, SECOND_MS } from '../model/time.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings-schema.ts';
import type { IsNeedless } from './needless.ts';
import type { WorkQueues } from './queues.ts';

/** What the work of tenants is scheduled with. */
export interface WorkParts {
  tenants: readonly TenantOutline[];
  queues: WorkQueues;
  /** Removes what is stored of triggers of a tenant that has none. */
  clearTriggers(tenant: string): Promise<unknown>;
  isNeedless: IsNeedless;
  log: Logger;
}

/** Tenants that are asked to begin at once. */
const TENANTS_AT_ONCE = 100;

/** Makes the work on every tenant repeat, and ends it for those that are gone. */
export async function repeatWork(
  { tenants, queues }: Pick<WorkParts, 'tenants' | 'queues'>,
  { pullEverySeconds, auditEverySeconds, tokenCheckEverySeconds, subscriptionCheckEverySeconds }: Settings['schedule'],
): Promise<void> {
  const running = tenants.filter(({ paused }) => !paused);
  const every = (some: readonly TenantOutline[], seconds: number) =>
    new Map(some.map(({ id }) => [id, seconds * SECOND_MS]));
  const triggers = running.flatMap(({ id, triggersEveryMinutes: minutes }): [string, number][] =>
    minutes === null ? [] : [[id, minutes * MINUTE_MS]],
  );
  // At once, so that each tenant is looked at once for all of them.
  await Promise.all([
    queues.repeat('pull', every(running, pullEverySeconds)),
    queues.repeat('audit', every(running, auditEverySeconds)),
    queues.repeat('triggers', new Map(triggers)),
    queues.repeat('refresh-tokens', every(tenants, tokenCheckEverySeconds)),
    queues.repeat('subscriptions', every(tenants, subscriptionCheckEverySeconds)),
  ]);
}

/**
 * Asks for a pull of these tenants, and for what else their last start may have left undone. The daemon runs meanwhile: what can't be asked
 * for comes at its own moment.
 * @param signal ends the asking
 */
export async function beginWork(
  { tenants, queues, clearTriggers, isNeedless, log }: WorkParts,
  signal: AbortSignal,
): Promise<void> {
  async function begin({ id, paused, triggersEveryMinutes }: TenantOutline): Promise<void> {
    if (triggersEveryMinutes === null) await clearTriggers(id);
    const [hasNoSubscriptions, pullsNothing] = await Promise.all([
      isNeedless('subscriptions', id),
      isNeedless('pull', id),
    ]);
    if (!hasNoSubscriptions) await queues.keepSubscriptions(id);
    if (paused) return;
    if (!pullsNothing) await queues.pullNow(id);
    if (triggersEveryMinutes !== null) await queues.wakeTriggers(id, 0, { read: true });
  }
  try {
    for (const some of slices(tenants, TENANTS_AT_ONCE)) {
      if (signal.aborted) return;
      await Promise.all(some.map(begin));
    }
  } catch (error) {
    log.warn({ error }, 'not every tenant could be asked to begin');
  }
}
