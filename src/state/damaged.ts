import { channel } from 'node:diagnostics_channel';
import type { Logger } from '../log/logger.ts';
import type { DamagedState } from '../model/state-schemas.ts';
import { type Clock, DAY_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { sendAll } from './script.ts';

/**
 * Treatment of a stored value that does not open (`state-damaged`): its content is never used, and
 * - `rebuild`: the value counts as absent. clinic-mirror determines it again from the clinic and the targets, asks again for a decision, or
 *   does without it. One problem of the tenant names the kinds.
 * - `ask`: the work that needs the value stops until an operator decides. That work reports its own problem, with the operator's command.
 * - `stop`: reading fails. People sign in again, and a feed answers with an error.
 */
export type Treatment = 'rebuild' | 'ask' | 'stop';

/** Treatment of each kind of sealed data. Absence of a hold or an approval approves nothing: the next plan or the user asks again. */
const TREATMENTS = {
  access: 'stop',
  alerts: 'rebuild',
  approvals: 'rebuild',
  certificates: 'rebuild',
  'clinic-tenant': 'rebuild',
  credentials: 'stop',
  documents: 'rebuild',
  feeds: 'stop',
  holds: 'rebuild',
  journals: 'rebuild',
  logins: 'stop',
  'managed-tenants': 'ask',
  misses: 'rebuild',
  outages: 'rebuild',
  outbox: 'rebuild',
  pins: 'rebuild',
  reloads: 'rebuild',
  reminders: 'rebuild',
  runs: 'rebuild',
  safeguards: 'ask',
  subscriptions: 'rebuild',
  targets: 'rebuild',
  triggers: 'rebuild',
} as const satisfies Record<string, Treatment>;

/** Kind of sealed data. */
export type DamagedKind = keyof typeof TREATMENTS;

/** Returns the treatment of a kind of data. */
export const treatmentOf = (kind: DamagedKind): Treatment => TREATMENTS[kind];

/** Damaged values of the process. A channel of Node, because values are opened in every part of the state. */
const found = channel('clinic-mirror:state-damaged');

interface Found {
  owner: string;
  kind: DamagedKind;
}

/** Reports a value that does not open, or that is not the last one written. @param owner tenant in the state; shared data has a name in braces */
export function reportDamaged(owner: string, kind: DamagedKind): void {
  found.publish({ owner, kind } satisfies Found);
}

/** Record of damaged data of all tenants. */
export type DamagedStore = ReturnType<typeof openDamagedStore>;

/**
 * Opens the only place that reports damaged values: a log line for each tenant and kind, at most one a minute; a count for the metric; and
 * a shared record of times, because the process that drops a value is not the one that shows the status.
 */
export function openDamagedStore({ redis, clock, log }: { redis: RedisClient; clock: Clock; log: Logger }) {
  const counts = new Map<DamagedKind, number>();
  const times = new Map<string, Instant>();
  function take(message: unknown): void {
    const { owner, kind } = message as Found;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const [field, now] = [`${owner} ${kind}`, clock()];
    if (Math.abs(now - (times.get(field) ?? -Infinity)) < MINUTE_MS) return;
    times.set(field, now);
    const details = { code: 'state-damaged', kind, tenant: tenantOf(owner), treatment: treatmentOf(kind) };
    log.error(details, 'stored value in Redis does not open: it has no effect');
    // Without a writable Redis, log and metric remain.
    sendAll(redis.pipeline().hset(keys.damaged(), field, now).pexpire(keys.damaged(), DAY_MS)).catch(() => {});
  }
  found.subscribe(take);
  return {
    /** Number of values that this process found, by kind. */
    counts: counts as ReadonlyMap<DamagedKind, number>,
    /** Returns the data found by all processes in the last day. Anyone who can write to Redis can write the record: only known kinds count. */
    async list(): Promise<DamagedState[]> {
      const recorded = Object.entries(await redis.hgetall(keys.damaged()));
      const recent = [...recorded, ...times].flatMap(([field, at]) => {
        const [owner = '', kind = ''] = field.split(' ');
        const isShown = isRebuilt(kind) && Math.abs(clock() - Number(at)) < DAY_MS;
        return isShown ? [{ tenant: tenantOf(owner), kind, at: Number(at) }] : [];
      });
      return Array.from(
        Map.groupBy(recent, ({ tenant }) => tenant),
        ([tenant, all]) => ({
          tenant,
          kinds: [...new Set(all.map(({ kind }) => kind))].sort(),
          sinceAt: Math.max(...all.map(({ at }) => at)),
        }),
      );
    },
    close: () => void found.unsubscribe(take),
  };
}

/** The name of shared data has braces. */
function tenantOf(owner: string): string | null {
  return owner.startsWith('{') ? null : owner;
}

function isRebuilt(kind: string): kind is DamagedKind {
  return Object.hasOwn(TREATMENTS, kind) && treatmentOf(kind as DamagedKind) === 'rebuild';
}
