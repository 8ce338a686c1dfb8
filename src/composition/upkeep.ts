import { requireTenant } from '../control/installation.ts';
import { DURABILITY_UNSUPPORTED } from '../control/status-view.ts';
import type { Statuses } from '../control/statuses.ts';
import { createAlertWatch } from '../features/alerts/alerts.ts';
import { alertChannels } from '../features/alerts/send.ts';
import { createHttpClient } from '../http/client.ts';
import { type Releasing, releaseRegularly } from '../jobs/release.ts';
import type { Logger } from '../log/logger.ts';
import { render } from '../messages/message.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { QUEUE_PREFIX } from '../state/keys.ts';
import { createLeases } from '../state/leases.ts';
import type { Durability } from '../state/redis.ts';
import type { StateCounter } from '../state/state-counter.ts';
import type { Composition } from './compose.ts';
import { lookAtCertificates } from './outlook.ts';

/** Alerts wait so long for what is known now: with thousands of clinics, or where Redis answers late, computing takes long. */
const LONGEST_LOOK_MS = 10 * MINUTE_MS;
/** In place of a tenant, for the leases of the whole installation. */
const INSTALLATION = QUEUE_PREFIX.slice(1, -1);
/** Between two looks whether Redis went back. */
const STATE_CHECK_MS = 5 * SECOND_MS;
/** Between two looks at certificates, which live for days at least; the first one comes when a start is over. */
const CERTIFICATES_EVERY_MS = 12 * HOUR_MS;
const CERTIFICATES_FIRST_MS = MINUTE_MS;

/**
 * Refuses another identity key, says how decisions are kept, and looks regularly, and whenever Redis came back, whether it lost any.
 * @returns ends the looking
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
  // The disk may take its time, and the start does not wait for it. A start that fails meanwhile closes the connection.
  stateCounter
    .confirm()
    .then(() => reportDurability(stateCounter, reportedBefore, log))
    .catch((error) => {
      if (!isEnded) log.warn({ error }, 'it is not known yet whether Redis keeps decisions');
    });
  return () => {
    isEnded = true;
    clearInterval(timer);
    redis.off('ready', look);
  };
}

/** Whatever was taken out of the configuration is let go in time. */
export function startReleasing(composition: Composition): Releasing {
  const { installation, processes, removed, redis, log } = composition;
  const { clock } = installation;
  return releaseRegularly(() => {
    const { settings, unusable, outlines } = composition.configuration;
    const retentionMs = settings.removed.keepDays * DAY_MS;
    const leasesOf = (tenant: string) => createLeases(redis, tenant, settings.leases.ttlMs, processes);
    const open = (tenant: string) => requireTenant(installation, tenant);
    return { tenants: outlines, open, unusable, removed, retentionMs, leasesOf, clock, log };
  });
}

/**
 * Whoever is configured to be told of what needs a person is told.
 * @param statuses of the process, which others ask too
 * @param everyMs between two looks, in place of what the settings say
 * @returns ends that
 */
export function startAlerting(composition: Composition, statuses: Statuses, everyMs?: number): () => Promise<void> {
  const { installation, processes, redis, alerts: store, log } = composition;
  const { clock } = installation;
  const http = createHttpClient({ userAgent: 'clinic-mirror', clock });
  const watch = createAlertWatch();
  const end = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const wait = () => {
    const { checkEveryMinutes } = composition.configuration.settings.alerts;
    timer = setTimeout(look, everyMs ?? checkEveryMinutes * MINUTE_MS).unref();
  };
  const look = () => {
    const { settings } = composition.configuration;
    const leases = createLeases(redis, INSTALLATION, settings.leases.ttlMs, processes);
    // What was known before would hide that Redis does not answer.
    const problems = async () => (await statuses.read(installation, LONGEST_LOOK_MS)).status.problems;
    const channels = alertChannels(settings.alerts, http);
    const outageAfterMs = settings.alerts.outageAfterMinutes * MINUTE_MS;
    running = watch.check({ problems, channels, outageAfterMs, store, leases, clock, log }, end.signal).then(() => {
      if (!end.signal.aborted) wait();
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
 * Certificates of the servers that the configuration names are looked at twice a day.
 * @returns ends that
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
      .catch((error) => composition.log.warn({ error }, 'it is not known when certificates end'))
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

/** @param reportedBefore what an earlier start found; what has been told is not told again, and `status` goes on showing it */
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
    log.warn({ directory }, 'nothing is kept outside Redis: what it loses while no daemon looks is not noticed');
  }
}
