import { SECOND_MS } from '../core/model/time.ts';
import { checkTarget } from '../engine/check-target.ts';
import { pushTarget } from '../engine/push.ts';
import { remind } from '../features/reminders/job.ts';
import { runTriggers } from '../features/triggers/job.ts';
import { ForAnotherProcess, MOST_HAND_ONS } from '../jobs/workers.ts';
import { uncheckedError } from '../settings/configuration.ts';
import type { JobHandlers } from '../tenant/job-catalogue.ts';
import { areCrmsElsewhere, areStreamsDue, pullTenant, readStreamsInTurn } from '../tenant/pull.ts';
import { refreshTokens } from '../tenant/refresh-tokens.ts';
import { maintainSubscriptions } from '../tenant/subscriptions.ts';
import type { OpenTenant } from '../tenant/tenant.ts';
import type { Composition } from './compose.ts';

/** Returns the handlers of all jobs. */
export function jobHandlers(composition: Composition): JobHandlers {
  return whileOpen(composition, {
    ...planningHandlers(composition),
    ...targetHandlers(composition),
    ...otherHandlers(composition),
  });
}

/** Keeps a tenant open during a job. Jobs of unchecked tenants wait, because dropped jobs would be lost. */
function whileOpen(composition: Composition, handlers: JobHandlers): JobHandlers {
  const all = Object.entries(handlers).map(([name, handle]) => {
    const run = handle as (data: { tenant: string }, signals: unknown) => Promise<void>;
    const handleOpen = async (data: { tenant: string }, signals: unknown) => {
      if (composition.configuration.unchecked.has(data.tenant)) throw uncheckedError(data.tenant);
      await composition.whileOpen(data.tenant, () => run(data, signals));
    };
    return [name, handleOpen];
  });
  return Object.fromEntries(all) as JobHandlers;
}

/** Returns the handlers that query the clinic and plan. */
function planningHandlers(composition: Composition): Pick<JobHandlers, 'pull' | 'read-streams'> {
  const { queues, installation } = composition;
  return {
    async pull({ tenant: id, asked = false }, { stop, taken }) {
      const tenant = installation.tenants.get(id);
      if (tenant === undefined || tenant.configuration.paused) return;
      if (taken <= MOST_HAND_ONS && (await areCrmsElsewhere(tenant))) throw new ForAnotherProcess();
      const woken = new Set<string>();
      const wake = async (target: string) => {
        await wakeLane(composition, tenant, target);
        woken.add(target);
      };
      const run = await pullTenant(tenant, stop, { asked, wake });
      // The active cycle possibly began before the event that caused this request.
      if (run === null && asked && !stop.aborted) await queues.pullNow(id, SECOND_MS);
      await wakeLanes(composition, tenant, woken);
      if (run !== null && (await areStreamsDue(tenant, run))) await queues.readStreams(id);
    },
    async 'read-streams'({ tenant: id }, { stop, taken }) {
      const tenant = installation.tenants.get(id);
      if (tenant === undefined || tenant.configuration.paused) return;
      const { run, isElsewhere } = await readStreamsInTurn(tenant, { takesOver: taken > MOST_HAND_ONS }, stop);
      if (isElsewhere) throw new ForAnotherProcess();
      if (run !== null) await wakeLanes(composition, tenant);
    },
  };
}

/** Returns the handlers that query and write targets. */
function targetHandlers({
  queues,
  installation,
}: Composition): Pick<JobHandlers, 'push' | 'audit' | 'check-target' | 'subscriptions'> {
  return {
    async push({ tenant: id, target: targetId }, signals) {
      const tenant = installation.tenants.get(id);
      const target = tenant?.targets.get(targetId);
      if (tenant === undefined || target === undefined || tenant.configuration.paused) return;
      const { nextInMs } = await pushTarget(tenant, target, signals, { comesAgain: true });
      if (nextInMs !== null && !signals.stop.aborted) await queues.wake(id, targetId, nextInMs);
    },
    async audit({ tenant: id, changesOnly = false }) {
      const tenant = installation.tenants.get(id);
      if (tenant === undefined || tenant.configuration.paused) return;
      // One job per target, so that a slow target delays no other.
      for (const [target, { crm }] of tenant.targets) {
        if (!changesOnly || crm === null) await queues.checkTarget(id, target, { delayMs: 0, once: true, changesOnly });
      }
    },
    async 'check-target'({ tenant: id, target: targetId, whole, once = false, changesOnly = false }, { stop }) {
      const tenant = installation.tenants.get(id);
      const target = tenant?.targets.get(targetId);
      if (tenant === undefined || target === undefined || tenant.configuration.paused) return;
      if (target.configuration.paused) return;
      const options = { whole: whole ?? false };
      const { restore, againInMs } = await checkTarget(tenant, target, { ...options, once, changesOnly }, stop);
      if (againInMs !== null) await queues.checkTarget(id, targetId, { delayMs: againInMs, ...options });
      if (restore) await queues.pullNow(id);
    },
    async subscriptions({ tenant: id, hurry }, signals) {
      const tenant = installation.tenants.get(id);
      if (tenant === undefined) return;
      const renewal = await maintainSubscriptions(tenant, { hurry: hurry ?? false }, signals);
      if (renewal === null) return queues.renewSubscriptions(id, { delayMs: SECOND_MS, hurry: hurry ?? false });
      for (const target of renewal.opened) await queues.checkTarget(id, target, { delayMs: 0 });
    },
  };
}

/** Returns the handlers for patients, receivers and connection maintenance. */
function otherHandlers({
  queues,
  installation,
  composed,
}: Composition): Pick<JobHandlers, 'remind' | 'triggers' | 'refresh-tokens'> {
  return {
    async remind({ tenant: id, reminder }, signals) {
      const tenant = installation.tenants.get(id);
      if (tenant === undefined || tenant.configuration.paused) return;
      await remind(tenant, reminder, signals);
    },
    async triggers({ tenant: id, retry = false }, signals) {
      const tenant = installation.tenants.get(id);
      if (tenant === undefined || tenant.configuration.paused) return;
      const done = await runTriggers(tenant, { read: !retry }, signals);
      // Another active worker reads the lists only if its job began with them.
      if (!done && !retry && !signals.stop.aborted) await queues.wakeTriggers(id, SECOND_MS, { read: true });
    },
    async 'refresh-tokens'({ tenant: id }, { stop }) {
      const entry = composed.get(id);
      if (entry === undefined) return;
      const logins = [...entry.connections.values()].flatMap(({ id: connection, tokens }) =>
        tokens === null
          ? []
          : [{ connection, refreshIfDue: (signal: AbortSignal) => tokens.authorizer.refreshIfDue(signal) }],
      );
      await refreshTokens(logins, entry.tenant, stop);
    },
  };
}

/**
 * Queues jobs for lanes with pending writes only, so that a quiet cycle sends no request to targets.
 * @param woken lanes that already have jobs
 */
async function wakeLanes(
  composition: Composition,
  tenant: OpenTenant,
  woken: ReadonlySet<string> = new Set(),
): Promise<void> {
  const others = [...tenant.targets.keys()].filter((target) => !woken.has(target));
  await Promise.all(others.map((target) => wakeLane(composition, tenant, target)));
}

async function wakeLane({ queues }: Composition, tenant: OpenTenant, target: string): Promise<void> {
  const dueAt = await tenant.outbox.nextDueAt(target);
  if (dueAt !== null) await queues.wake(tenant.id, target, Math.max(0, dueAt - tenant.clock()));
}
