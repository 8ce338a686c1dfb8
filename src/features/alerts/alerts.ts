import type { Logger } from '../../core/log/logger.ts';
import { asMirrorError, isRedisFault, type MirrorError, redisUnreachable } from '../../core/model/errors.ts';
import type { Problem } from '../../core/model/problems.ts';
import type { Clock, Instant } from '../../core/model/time.ts';
import { ofRedis } from '../../operator/control/installation-problems.ts';
import type { Leases } from '../../state/leases.ts';
import { type AlertMemory, awaitsEnd, NOTHING_REPORTED, nextDigest } from './digest.ts';
import type { SendAlerts } from './send.ts';
import type { AlertStore } from './store.ts';

/** Parts of an alert check. */
export interface AlertParts {
  /** Returns present problems. @throws MirrorError as the state does, including an unreachable Redis */
  problems(): Promise<readonly Problem[]>;
  /** Configured alert channels. */
  channels: ReadonlyMap<string, SendAlerts>;
  /** Duration after which an unreachable server is reported. */
  outageAfterMs: number;
  store: AlertStore;
  /** Leases of the installation: one process checks at a time. */
  leases: Leases;
  clock: Clock;
  log: Logger;
}

/** Checks for problems and sends alerts. */
export interface AlertWatch {
  /** Never throws. @returns whether this process reported a problem whose end is not reported yet: check again after `CHECK_END_MS` */
  check(parts: AlertParts, signal: AbortSignal): Promise<boolean>;
}

const LEASE = 'alerts';

/** Creates the alert watch of a process. During a Redis outage, each process reports the outage from its own memory. */
export function createAlertWatch(): AlertWatch {
  const alone = new Map<string, AlertMemory>();
  let away: { error: MirrorError; sinceAt: Instant } | null = null;
  async function alertOfRedis({ channels, clock, log, outageAfterMs }: AlertParts, signal: AbortSignal): Promise<void> {
    const now = clock();
    const problems = away === null ? [] : [ofRedis(away.error, away.sinceAt)];
    for (const [channel, send] of channels) {
      const { digest, sent, untold } = nextDigest(alone.get(channel) ?? NOTHING_REPORTED, problems, now, outageAfterMs);
      alone.set(channel, untold);
      try {
        if (digest !== null) await send(digest, now, signal);
        alone.set(channel, sent);
      } catch (error) {
        const { code, remedy } = asMirrorError(error);
        log.warn({ channel, code, remedy }, 'channel did not accept an alert');
      }
    }
  }
  return {
    async check(parts, signal) {
      if (parts.channels.size === 0) return false;
      let isAwaited = false;
      try {
        isAwaited = await checkOnce(parts, signal);
        away = null;
      } catch (error) {
        const failure = asMirrorError(error);
        const { code } = failure;
        parts.log.warn({ code }, 'problems could not be read for alerts');
        away = {
          error: isRedisFault(code) ? failure : redisUnreachable(error),
          sinceAt: away?.sinceAt ?? parts.clock(),
        };
      }
      await alertOfRedis(parts, signal);
      return isAwaited || [...alone.values()].some(awaitsEnd);
    },
  };
}

async function checkOnce(parts: AlertParts, signal: AbortSignal): Promise<boolean> {
  const { channels, store, leases, clock } = parts;
  const lease = await leases.tryTake(LEASE);
  if (lease === null) return false;
  let isAwaited = false;
  try {
    const [problems, stored] = [await parts.problems(), await store.read()];
    await store.retainOnly([...channels.keys()]);
    for (const [channel, send] of channels) {
      const { memory, failure } = stored.get(channel) ?? { memory: null, failure: null };
      const before = memory === null ? NOTHING_REPORTED : (JSON.parse(memory) as AlertMemory);
      const now = clock();
      const { digest, sent, untold } = nextDigest(before, problems, now, parts.outageAfterMs);
      isAwaited ||= awaitsEnd(sent);
      await store.write(channel, { memory: JSON.stringify(untold), failure });
      if (digest === null) continue;
      const ended = AbortSignal.any([signal, lease.signal]);
      try {
        await send(digest, now, ended);
        // Stored after sending: a crash between the two steps sends the alert twice, but never loses the alert.
        await store.write(channel, { memory: JSON.stringify(sent), failure: null });
      } catch (error) {
        if (ended.aborted) return false;
        const { code, remedy } = asMirrorError(error);
        parts.log.warn({ channel, code, remedy }, 'channel did not accept an alert');
        await store.write(channel, {
          memory: JSON.stringify(untold),
          failure: { code, remedy, sinceAt: failure?.sinceAt ?? now },
        });
      }
    }
    return isAwaited;
  } finally {
    await lease.release();
  }
}
