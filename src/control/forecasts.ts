import type { Ending, QuotaStatus } from '../model/outlook.ts';
import { needsPerson, type Problem } from '../model/problems.ts';
import { sentence } from '../model/sentences.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../model/time.ts';
import { IDLE_LIFE_MS } from '../oauth/idle-lives.ts';
import type { ConnectionStatus } from './installation.ts';
import type { Status, TargetStatus, TenantStatus } from './status-view.ts';

/** Told so long before the end, and not before two thirds of the whole time are over. Our choice. */
const AHEAD_MS = { login: 14 * DAY_MS, certificate: 14 * DAY_MS, secret: 30 * DAY_MS } as const;
const AHEAD_SHARE = 1 / 3;
/** Used so far, a quota is short. Our choice. */
const SHORT_SHARE = 0.8;
/** A change that waits for so long waits longer with each cycle, and so many hours on that is not passing. Our choice. */
const BACKLOG_MS = HOUR_MS;
const BACKLOG_LONG_MS = 6 * HOUR_MS;
/** From then on the vendor's promise to tell of changes is about to end. Subscriptions are prolonged days ahead. */
const UNHEARD_AHEAD_MS = DAY_MS;
const UNHEARD = 'the vendor will no longer tell of changes by hand, and audits alone find them ({reason})';
/** No cycle for so many of their intervals, and for an hour at least. Our choice. */
const LATE_CYCLES = 6;

/** What of the whole installation will break unless somebody does something before. Pure. */
export function forecastsOfInstallation({ at, endings, quotas, tenants }: Omit<Status, 'problems'>): Problem[] {
  const due = endings.filter(({ kind, beganAt, endsAt }) => isNear(beganAt, endsAt, AHEAD_MS[kind], at));
  return [...due.map((ending) => ofEnding(ending, at)), ...quotas.flatMap(ofQuota), ...ofCycles(tenants, at)];
}

/** What of a login will break. */
export function forecastsOfLogin(tenant: string, connection: ConnectionStatus, now: Instant): Problem[] {
  const { connection: id, kind, state, refreshExpiresAt, isEndFixed, obtainedAt, usedAt } = connection;
  if (state !== 'connected' || usedAt === null) return [];
  const subject = `login ${id}`;
  if (isEndFixed && refreshExpiresAt !== null) {
    if (!isNear(obtainedAt, refreshExpiresAt, AHEAD_MS.login, now)) return [];
    const told = sentence('the login ends at a time that using it does not put off');
    const again = `clinic-mirror login ${tenant} ${id}`;
    return [forecast(tenant, subject, 'login-ending', told, again, refreshExpiresAt)];
  }
  const idleLifeMs = IDLE_LIFE_MS[kind];
  const endsAt = refreshExpiresAt ?? (idleLifeMs === undefined ? null : usedAt + idleLifeMs);
  if (endsAt === null || !isNear(usedAt, endsAt, AHEAD_MS.login, now)) return [];
  const told = sentence('the login could not be kept alive, and ends when it rests for longer');
  return [forecast(tenant, subject, 'login-resting', told, `clinic-mirror doctor ${tenant}`, endsAt)];
}

/** What of a target will break. */
export function forecastsOfTarget(tenant: string, target: TargetStatus, now: Instant): Problem[] {
  const { target: id, state, notifications, oldestPendingAt, pending } = target;
  const subject = `target ${id}`;
  const found: Problem[] = [];
  const { untilAt, reason } = notifications;
  if (untilAt !== null && reason !== null && untilAt - now < UNHEARD_AHEAD_MS) {
    const told = sentence(UNHEARD, { reason });
    found.push(forecast(tenant, subject, 'notifications-ending', told, `clinic-mirror doctor ${tenant}`, untilAt));
  }
  const waitedMs = oldestPendingAt === null ? 0 : now - oldestPendingAt;
  if (state === 'working' && waitedMs > BACKLOG_MS) {
    const text = sentence('more changes come than are written, so they wait longer with each cycle');
    const told = forecast(tenant, subject, 'backlog-growing', text, `clinic-mirror health ${tenant} ${id}`, null);
    const needs = waitedMs > BACKLOG_LONG_MS ? 'person' : 'time';
    found.push({ ...told, needs, sinceAt: oldestPendingAt, waiting: pending });
  }
  return found;
}

function isNear(beganAt: Instant | null, endsAt: Instant, aheadMs: number, now: Instant): boolean {
  const lifeMs = beganAt === null ? Number.POSITIVE_INFINITY : endsAt - beganAt;
  return endsAt - now < Math.min(aheadMs, lifeMs * AHEAD_SHARE);
}

function ofEnding({ kind, of, endsAt }: Ending, now: Instant): Problem {
  const isOver = endsAt <= now;
  if (kind === 'certificate') {
    const told = isOver
      ? sentence('its certificate has ended: nothing is asked of it')
      : sentence('its certificate ends soon');
    const next = sentence('renew it on that server, and look why that was not done by itself');
    return forecast(null, `server ${of}`, 'certificate-ending', told, next, endsAt);
  }
  const told = isOver
    ? sentence('its secret has ended, and with it every login')
    : sentence('its secret ends soon, and with it every login');
  const next = sentence('make a new secret there, put it and its end into {section} of clinic-mirror.yaml', {
    section: of,
  });
  return forecast(null, of, 'secret-ending', told, next, endsAt);
}

function ofQuota({ client, hourShare, days }: QuotaStatus): Problem[] {
  const found: Problem[] = [];
  const subject = `quota of ${client}`;
  if (hourShare >= SHORT_SHARE) {
    const told = sentence('{share} % of what its budget gives in an hour is used', { share: percent(hourShare) });
    const next = sentence('raise its "budget" as far as the other side allows; until then cycles come late');
    found.push({ ...forecast(null, subject, 'quota-short', told, next, null), needs: 'time' });
  }
  for (const { tenant, share, usedUpAt } of days) {
    if (share < SHORT_SHARE) continue;
    const told = sentence('{share} % of what the other side allows its account in a day is used', {
      share: percent(share),
    });
    const next = sentence(
      'buy more there, or raise "everyMinutes" of what CRMs follow; nothing is lost, and changes wait',
    );
    found.push(forecast(tenant, subject, 'daily-quota-short', told, next, usedUpAt));
  }
  return found;
}

/** Tenants for which nobody works, where they could. That of all of them is one matter. */
function ofCycles(tenants: readonly TenantStatus[], now: Instant): Problem[] {
  const atWork = tenants.filter(({ paused, lastRun, targets }) => {
    return (
      !paused &&
      lastRun !== null &&
      lastRun.finishedAt > 0 &&
      targets.some(({ canGoOn }) => canGoOn !== 'waits-for-person')
    );
  });
  const late = atWork.filter(({ lastRun, cycleEveryMs }) => {
    return lastRun !== null && now - lastRun.finishedAt > Math.max(LATE_CYCLES * cycleEveryMs, HOUR_MS);
  });
  if (late.length === 0) return [];
  const told = (tenant: string | null, some: readonly TenantStatus[]): Problem => {
    const sinceAt = Math.max(...some.map(({ lastRun }) => lastRun?.finishedAt ?? 0));
    const next = sentence(
      'see whether a daemon runs with the role scheduler and one with the role worker, and their logs',
    );
    return {
      ...forecast(tenant, 'cycles', 'no-cycles', sentence('no cycle has ended since then'), next, null),
      sinceAt,
    };
  };
  if (late.length === atWork.length) return [told(null, late)];
  return late.map((one) => told(one.tenant, [one]));
}

function forecast(
  tenant: string | null,
  subject: string,
  code: string,
  text: string,
  next: string,
  breaksAt: Instant | null,
): Problem {
  return { ...needsPerson(tenant, subject, code, text, next), breaksAt };
}

function percent(share: number): number {
  return Math.floor(share * 100);
}
