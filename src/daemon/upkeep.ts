import { createHttpClient } from '../core/http/client.ts';
import type { Logger } from '../core/log/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { createAlertWatch } from '../features/alerts/alerts.ts';
import { CHECK_END_MS } from '../features/alerts/digest.ts';
import { alertChannels } from '../features/alerts/send.ts';
import { reminderKeys } from '../features/reminders/keys.ts';
import { render } from '../messages/message.ts';
import { requireTenant } from '../operator/control/installation.ts';
import { DURABILITY_UNSUPPORTED } from '../operator/control/status-view.ts';
import type { Statuses } from '../operator/control/statuses.ts';
import { keys, QUEUE_PREFIX } from '../state/keys.ts';
import { createLeases } from '../state/leases.ts';
import type { Durability } from '../state/redis.ts';
import type { StateCounter } from '../state/state-counter.ts';
import { type ReleaseParts, type Releasing, releaseRegularly } from '../tenant/release.ts';
import type { Composition } from './compose.ts';
import { lookAtCertificates } from './outlook.ts';

/** Longest wait of alerts for current data: computation is slow with thousands of clinics or a slow Redis. */
const LONGEST_LOOK_MS = 10 * MINUTE_MS;
/** Replaces the tenant in leases of the whole installation. */
const INSTALLATION = QUEUE_PREFIX.slice(1, -1);
/** Interval of checks for a Redis that lost data. */
const STATE_CHECK_MS = 5 * SECOND_MS;
/** Interval of certificate checks, because certificates live for days at least. The first check follows the start. */
const CERTIFICATES_EVERY_MS = 12 * HOUR_MS;
const CERTIFICATES_FIRST_MS = MINUTE_MS;

/**
 * Refuses another identity key, reports the durability, and checks regularly and after each reconnect whether Redis lost data.
 * @returns stops the checks
 * @throws MirrorError `settings`, code `identity-key-changed`
 */
export async function watchStateCounter({
  stateCounter,
  redis,
  log,
}: Pick<Composition, 'stateCounter' | 'redis' | 'log'>): Promise<() => void> {
  await stateCounter.requireIdentity();
  await stateCounter.check();
  const look = () => void stateCounter.check().catch(() => {});
  const timer = setInterval(look, STATE_CHECK_MS);
  redis.on('ready', look);
  const { durability: reportedBefore } = await stateCounter.view();
  let isEnded = false;
  // The start does not wait for the disk. A start that fails meanwhile closes the connection.
  stateCounter
    .confirm()
    .then(() => reportDurability(stateCounter, reportedBefore, log))
    .catch((error) => {
      if (!isEnded) log.warn({ error }, 'durability of Redis is not known yet');
    });
  return () => {
    isEnded = true;
    clearInterval(timer);
    redis.off('ready', look);
  };
}

/** Releases removed tenants and targets after a delay, and deletes other data after its period. */
export function startReleasing(composition: Composition): Releasing {
  const { installation, acts, processes, removed, upkeep, redis, log } = composition;
  const { clock } = installation;
  const open = (tenant: string) => requireTenant(installation, tenant);
  // Each read of replies and requests removes old ones. A value added meanwhile is not counted.
  const counted = (key: { (tenant: string): string; kind: string }, read: (tenant: string) => unknown) => ({
    key: key.kind,
    async end(tenant: string) {
      const before = await redis.hlen(key(tenant));
      await read(tenant);
      return Math.max(before - (await redis.hlen(key(tenant))), 0);
    },
  });
  const readReplies = (tenant: string) => open(tenant).reminders?.replies.list(clock());
  const expiring: ReleaseParts['expiring'] = [
    { kind: 'replies', ...counted(reminderKeys.reminderReplies, readReplies) },
    { kind: 'approvals', ...counted(keys.approvals, installation.approvals) },
  ];
  const trimAuditLog = async () => (await acts.log?.trim()) ?? 0;
  return releaseRegularly(() => {
    const { settings, unusable, outlines } = composition.configuration;
    const retentionMs = settings.removed.keepDays * DAY_MS;
    const leasesOf = (tenant: string) => createLeases(redis, tenant, settings.leases.ttlMs, processes);
    return {
      ...{ tenants: outlines, open, unusable, removed, retentionMs, leasesOf, clock, log },
      ...{ expiring, trimAuditLog, upkeep },
    };
  });
}

/**
 * Sends alerts about required actions to the configured recipients.
 * @param statuses shared with other callers in the process
 * @param everyMs interval of checks, instead of the setting
 * @returns stops the alerts
 */
export function startAlerting(composition: Composition, statuses: Statuses, everyMs?: number): () => Promise<void> {
  const { installation, processes, redis, alerts: store, log } = composition;
  const { clock } = installation;
  const http = createHttpClient({ userAgent: 'clinic-mirror', clock });
  const watch = createAlertWatch();
  const end = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const wait = (awaitsEnd = false) => {
    const { checkEveryMinutes } = composition.configuration.settings.alerts;
    timer = setTimeout(look, everyMs ?? (awaitsEnd ? CHECK_END_MS : checkEveryMinutes * MINUTE_MS)).unref();
  };
  const look = () => {
    const { settings } = composition.configuration;
    const leases = createLeases(redis, INSTALLATION, settings.leases.ttlMs, processes);
    // Cached data would hide an unreachable Redis.
    const problems = async () => (await statuses.read(installation, LONGEST_LOOK_MS)).status.problems;
    const channels = alertChannels(settings.alerts, http);
    const outageAfterMs = settings.alerts.outageAfterMinutes * MINUTE_MS;
    running = watch
      .check({ problems, channels, outageAfterMs, store, leases, clock, log }, end.signal)
      .then((awaitsEnd) => {
        if (!end.signal.aborted) wait(awaitsEnd);
      });
  };
  wait();
  return async () => {
    clearTimeout(timer);
    end.abort();
    await running;
  };
}

/**
 * Checks the certificates of configured servers twice a day.
 * @returns stops the checks
 */
export function startForecasts(composition: Composition): () => Promise<void> {
  const end = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const wait = (durationMs: number) => {
    timer = setTimeout(look, durationMs).unref();
  };
  const look = () => {
    running = lookAtCertificates(composition.configuration, composition.certificates, end.signal)
      .catch((error) => composition.log.warn({ error }, 'expiry of certificates could not be read'))
      .then(() => {
        if (!end.signal.aborted) wait(CERTIFICATES_EVERY_MS);
      });
  };
  wait(CERTIFICATES_FIRST_MS);
  return async () => {
    clearTimeout(timer);
    end.abort();
    await running;
  };
}

/** @param reportedBefore findings of an earlier start, which are not logged again; `status` continues to show them */
async function reportDurability(
  stateCounter: StateCounter,
  reportedBefore: Durability | null,
  log: Logger,
): Promise<void> {
  const { durability, directory } = await stateCounter.view();
  if (durability === 'unsupported' && reportedBefore !== 'unsupported') {
    const { sentence, remedy } = DURABILITY_UNSUPPORTED;
    log.warn({ durability, remedy: render(remedy) }, render(sentence));
  }
  if (directory !== 'kept') {
    log.warn({ directory }, 'state is stored only in Redis: losses while no daemon runs are not detected');
  }
}
