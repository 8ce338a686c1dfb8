import { needsPerson, type Problem } from '../../core/model/problems.ts';
import type { Ending, QuotaStatus } from '../../core/model/state-schemas.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import { IDLE_LIFE_MS } from '../../oauth/due.ts';
import type { ConnectionStatus, Status, TargetStatus, TenantStatus } from './status-schemas.ts';

/** Warning time before the end, but never before two thirds of the lifetime are over. Project choice. */
const AHEAD_MS = { login: 14 * DAY_MS, certificate: 14 * DAY_MS, secret: 30 * DAY_MS } as const;
const AHEAD_SHARE = 1 / 3;
/** Used share from which a quota is low. Project choice. */
const SHORT_SHARE = 0.8;
/** Oldest wait that indicates a growing backlog, and the duration after which the backlog needs an administrator. Project choice. */
const BACKLOG_MS = HOUR_MS;
const BACKLOG_LONG_MS = 6 * HOUR_MS;
/** Warning time before a change subscription ends. The daemon normally renews subscriptions days earlier. */
const UNHEARD_AHEAD_MS = DAY_MS;
/** Missed cycle intervals before a warning, at least one hour. Project choice. */
const LATE_CYCLES = 6;

/** Returns future failures of the installation that require action. Pure. */
export function forecastsOfInstallation({ at, endings, quotas, tenants }: Omit<Status, 'problems'>): Problem[] {
  const due = endings.filter(({ kind, beganAt, endsAt }) => isEndingSoon(beganAt, endsAt, AHEAD_MS[kind], at));
  return [...due.map((ending) => ofEnding(ending, at)), ...quotas.flatMap(ofQuota), ...ofCycles(tenants, at)];
}

/** Returns future failures of a connection. */
export function forecastsOfLogin(tenant: string, connection: ConnectionStatus, now: Instant): Problem[] {
  const { connection: id, kind, state, refreshExpiresAt, isEndFixed, obtainedAt, usedAt } = connection;
  if (state !== 'connected' || usedAt === null) return [];
  const subject = message('subject.login', { id });
  if (isEndFixed && refreshExpiresAt !== null) {
    if (!isEndingSoon(obtainedAt, refreshExpiresAt, AHEAD_MS.login, now)) return [];
    const report = message('login-ending');
    const again = `clinic-mirror login ${tenant} ${id}`;
    return [
      {
        ...needsPerson({ tenant, subject, code: 'login-ending', sentence: report, next: again }),
        breaksAt: refreshExpiresAt,
      },
    ];
  }
  const idleLifeMs = IDLE_LIFE_MS[kind];
  const endsAt = refreshExpiresAt ?? (idleLifeMs === undefined ? null : usedAt + idleLifeMs);
  if (endsAt === null || !isEndingSoon(usedAt, endsAt, AHEAD_MS.login, now)) return [];
  const report = message('login-resting');
  return [
    {
      ...needsPerson({
        tenant,
        subject,
        code: 'login-resting',
        sentence: report,
        next: `clinic-mirror doctor ${tenant}`,
      }),
      breaksAt: endsAt,
    },
  ];
}

/** Returns future failures of a target. */
export function forecastsOfTarget(tenant: string, target: TargetStatus, now: Instant): Problem[] {
  const { target: id, notifications, oldestPendingAt, pending } = target;
  const subject = message('subject.target', { id });
  const found: Problem[] = [];
  const { untilAt, reason } = notifications;
  if (untilAt !== null && reason !== null && untilAt - now < UNHEARD_AHEAD_MS) {
    const report = message('notifications-ending', { reason });
    found.push({
      ...needsPerson({
        tenant,
        subject,
        code: 'notifications-ending',
        sentence: report,
        next: message('notifications-ending.remedy', { reason }),
      }),
      breaksAt: untilAt,
    });
  }
  const waitedMs = oldestPendingAt === null ? 0 : now - oldestPendingAt;
  if (target.reason === 'writing' && waitedMs > BACKLOG_MS) {
    const text = message('backlog-growing');
    const report = needsPerson({
      tenant,
      subject,
      code: 'backlog-growing',
      sentence: text,
      next: `clinic-mirror health ${tenant} ${id}`,
    });
    const health = waitedMs > BACKLOG_LONG_MS ? 'action-required' : 'retrying';
    found.push({ ...report, health, sinceAt: oldestPendingAt, waiting: pending });
  }
  return found;
}

function isEndingSoon(beganAt: Instant | null, endsAt: Instant, aheadMs: number, now: Instant): boolean {
  const lifeMs = beganAt === null ? Number.POSITIVE_INFINITY : endsAt - beganAt;
  return endsAt - now < Math.min(aheadMs, lifeMs * AHEAD_SHARE);
}

function ofEnding({ kind, of, endsAt }: Ending, now: Instant): Problem {
  const isOver = endsAt <= now;
  if (kind === 'certificate') {
    const report = isOver ? message('certificate-ended') : message('certificate-ending');
    const next = message('certificate-ending.remedy');
    return {
      ...needsPerson({
        tenant: null,
        subject: message('subject.server', { name: of }),
        code: 'certificate-ending',
        sentence: report,
        next,
      }),
      breaksAt: endsAt,
    };
  }
  const report = isOver ? message('secret-ended') : message('secret-ending');
  const next = message('secret-ending.remedy', {
    section: of,
  });
  return {
    ...needsPerson({ tenant: null, subject: of, code: 'secret-ending', sentence: report, next }),
    breaksAt: endsAt,
  };
}

function ofQuota({ client, hourShare, days }: QuotaStatus): Problem[] {
  const found: Problem[] = [];
  const subject = message('subject.quota', { client });
  if (hourShare >= SHORT_SHARE) {
    const report = message('quota-short', { share: percent(hourShare) });
    const next = message('quota-short.remedy');
    found.push({
      ...needsPerson({ tenant: null, subject, code: 'quota-short', sentence: report, next }),
      health: 'retrying',
    });
  }
  for (const { tenant, share, usedUpAt } of days) {
    if (share < SHORT_SHARE) continue;
    const report = message('daily-quota-short', {
      share: percent(share),
    });
    const next = message('daily-quota-short.remedy');
    found.push({
      ...needsPerson({ tenant, subject, code: 'daily-quota-short', sentence: report, next }),
      breaksAt: usedUpAt,
    });
  }
  return found;
}

/** Reports tenants without cycles. If no tenant has cycles, reports a single problem. */
function ofCycles(tenants: readonly TenantStatus[], now: Instant): Problem[] {
  const atWork = tenants.filter(({ paused, lastRun, targets }) => {
    return (
      !paused &&
      lastRun !== null &&
      lastRun.finishedAt > 0 &&
      targets.some(({ health }) => health !== 'action-required')
    );
  });
  const late = atWork.filter(({ lastRun, cycleEveryMs }) => {
    return lastRun !== null && now - lastRun.finishedAt > Math.max(LATE_CYCLES * cycleEveryMs, HOUR_MS);
  });
  if (late.length === 0) return [];
  const report = (tenant: string | null, some: readonly TenantStatus[]): Problem => {
    const sinceAt = Math.max(...some.map(({ lastRun }) => lastRun?.finishedAt ?? 0));
    const next = message('no-cycles.remedy');
    return {
      ...needsPerson({
        tenant,
        subject: message('subject.cycles'),
        code: 'no-cycles',
        sentence: message('no-cycles'),
        next,
      }),
      sinceAt,
    };
  };
  if (late.length === atWork.length) return [report(null, late)];
  return late.map((one) => report(one.tenant, [one]));
}

function percent(share: number): number {
  return Math.floor(share * 100);
}
