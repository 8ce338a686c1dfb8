import { createZone } from '../../clinic/read/timestamps.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../../core/model/time.ts';
import {
  type HistoryStore,
  hourOf,
  localDayOf,
  type PastOutage,
  type StoredHistory,
  targetsIn,
} from '../../state/history.ts';
import type { HostOutage } from '../../state/outages.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { noSuchTarget } from './health.ts';
import type {
  HistoryDay,
  HistoryDays,
  HistoryOutage,
  HistoryStep,
  HistoryView,
  TargetHistory,
} from './history-schemas.ts';
import { calendarOf } from './plan.ts';
import type { TargetStatus } from './status-schemas.ts';

/** Members of a tenant that its history is read from. */
interface HistorySource {
  id: string;
  configuration: { zone: string };
  history: HistoryStore;
  targets: ReadonlyMap<string, OpenTarget>;
}

/** Present state to which a history leads. */
interface PresentState {
  at: Instant;
  targets: readonly Pick<TargetStatus, 'target' | 'inSyncAsOf'>[];
  outages: readonly HostOutage[];
}

/** Hours of a step, by the days of a history. */
const STEP_HOURS: Readonly<Record<HistoryDays, number>> = { 1: 1, 7: 1, 30: 6 };

/**
 * Reads the history of a tenant's targets: the largest age of each hour, changes of each day, and outages. An hour without a proof stays
 * empty, and the present age comes from the status.
 * @throws MirrorError `settings`, code `no-such-target`
 */
export async function viewHistory(
  tenant: HistorySource,
  present: PresentState,
  { days, target: only }: { days: HistoryDays; target: string | undefined },
): Promise<HistoryView> {
  const { zone } = tenant.configuration;
  const toHour = hourOf(present.at);
  const fromHour = toHour - Number(days) * 24 + 1;
  const fromAt = fromHour * HOUR_MS;
  const past = await tenant.history.outages(fromAt);
  const targets = await Promise.all(
    targetsOf(tenant, only).map(async (target) => {
      const { id, configuration } = target;
      const inSyncAsOf = present.targets.find((each) => each.target === id)?.inSyncAsOf ?? null;
      const stored = await tenant.history.read(id);
      const hours = hoursOf(stored, { fromHour, toHour, inSyncAsOf, now: present.at });
      const dayLines = daysOf(stored, hours, { zone, fromAt, now: present.at });
      return {
        ...{ target: id, name: calendarOf(target), connector: configuration.connector, inSyncAsOf },
        recordedSince: begunAt(stored, zone),
        ...worstOfHours(hours),
        ...sumOfDays(dayLines),
        steps: stepsOf(hours, STEP_HOURS[days]),
        days: dayLines,
        outages: outagesOf(tenant.id, id, past, present.outages),
      } satisfies TargetHistory;
    }),
  );
  return { tenant: tenant.id, zone, fromAt, untilAt: present.at, targets };
}

function targetsOf({ targets }: HistorySource, only: string | undefined): OpenTarget[] {
  if (only === undefined) return [...targets.values()];
  const target = targets.get(only);
  if (target === undefined) throw noSuchTarget(only);
  return [target];
}

/** An hour of a history. */
interface HistoryHour {
  startAt: Instant;
  /** Null without a proof. */
  worstMs: number | null;
  /** Whether the history had begun. */
  isRecorded: boolean;
}

/** Returns the hours of a range. The data that the target shows now grew older until the end of its hour, and until now. */
function hoursOf(
  { ages }: StoredHistory,
  range: { fromHour: number; toHour: number; inSyncAsOf: Instant | null; now: Instant },
): HistoryHour[] {
  const { fromHour, toHour, inSyncAsOf, now } = range;
  const begunHour = Math.min(...ages.keys());
  return Array.from({ length: toHour - fromHour + 1 }, (_, index) => {
    const hour = fromHour + index;
    const stored = ages.get(hour) ?? null;
    const grownMs = inSyncAsOf === null ? null : Math.max(0, Math.min(now, (hour + 1) * HOUR_MS) - inSyncAsOf);
    const isLastProof = inSyncAsOf !== null && hour === hourOf(inSyncAsOf) && stored !== null;
    const isPresent = hour === toHour;
    const worstMs = grownMs !== null && (isPresent || isLastProof) ? Math.max(stored ?? 0, grownMs) : stored;
    return { startAt: hour * HOUR_MS, worstMs, isRecorded: hour >= begunHour };
  });
}

/** Returns the largest age of some hours, and the number of hours without a proof since the begin of the history. */
function worstOfHours(hours: readonly HistoryHour[]): Pick<HistoryStep, 'worstMs' | 'unprovedHours'> {
  const proved = hours.flatMap(({ worstMs }) => worstMs ?? []);
  return {
    worstMs: proved.length === 0 ? null : Math.max(...proved),
    unprovedHours: hours.filter(({ worstMs, isRecorded }) => isRecorded && worstMs === null).length,
  };
}

function stepsOf(hours: readonly HistoryHour[], stepHours: number): HistoryStep[] {
  return Array.from({ length: Math.ceil(hours.length / stepHours) }, (_, index) => {
    const some = hours.slice(index * stepHours, (index + 1) * stepHours);
    return { startAt: some[0]?.startAt ?? 0, ...worstOfHours(some) };
  });
}

function daysOf(
  { changes }: StoredHistory,
  hours: readonly HistoryHour[],
  { zone, fromAt, now }: { zone: string; fromAt: Instant; now: Instant },
): HistoryDay[] {
  const { startOfDay } = createZone(zone);
  const first = localDayOf(fromAt, zone);
  return Array.from({ length: localDayOf(now, zone) - first + 1 }, (_, index) => {
    const day = first + index;
    const [startAt, endAt] = [startOfDay(day * DAY_MS), startOfDay((day + 1) * DAY_MS)];
    const own = hours.filter((hour) => hour.startAt + HOUR_MS > startAt && hour.startAt < endAt);
    const { created = 0, updated = 0, deleted = 0 } = changes.get(day) ?? {};
    const date = new Date(day * DAY_MS).toISOString().slice(0, 10);
    return { date, startAt, endAt, ...worstOfHours(own), created, updated, deleted };
  });
}

function sumOfDays(days: readonly HistoryDay[]): Pick<HistoryDay, 'created' | 'updated' | 'deleted'> {
  const sum = (kind: 'created' | 'updated' | 'deleted') => days.reduce((total, day) => total + day[kind], 0);
  return { created: sum('created'), updated: sum('updated'), deleted: sum('deleted') };
}

function begunAt({ ages, changes }: StoredHistory, zone: string): Instant | null {
  if (ages.size > 0) return Math.min(...ages.keys()) * HOUR_MS;
  return changes.size === 0 ? null : createZone(zone).startOfDay(Math.min(...changes.keys()) * DAY_MS);
}

function outagesOf(
  tenant: string,
  target: string,
  past: readonly PastOutage[],
  current: readonly HostOutage[],
): HistoryOutage[] {
  const stops = (targets: readonly string[] | null) => targets === null || targets.includes(target);
  return [
    ...past.filter(({ targets }) => stops(targets)).map(({ sinceAt, untilAt }) => ({ sinceAt, untilAt })),
    ...current
      .filter(({ isReported, works }) => isReported && stops(targetsIn(works, tenant)))
      .map(({ sinceAt }) => ({ sinceAt, untilAt: null })),
  ];
}
