import { createZone } from '../../clinic/read/timestamps.ts';
import { DAY_MS, type Instant } from '../../core/model/time.ts';
import { type HistoryStore, localDayOf } from '../../state/history.ts';
import type { Journal } from '../../state/journal.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { noSuchTarget } from './health.ts';
import type { TargetChangesView } from './history-schemas.ts';
import { calendarOf } from './plan.ts';

/** Members of a tenant that the changes of a day are read from. */
interface ChangesSource {
  id: string;
  clock(): Instant;
  configuration: { zone: string };
  history: HistoryStore;
  journal: Journal;
  targets: ReadonlyMap<string, OpenTarget>;
}

/** Changes listed of a day. */
const MOST_LISTED = 200;

/**
 * Reads what changed in a target on a local day: counts from the history, and each changed or deleted object from the journals, with its time
 * before and after. Reads neither the clinic nor the target. The journals contain no titles and no places.
 * @param date `YYYY-MM-DD`; null for yesterday
 * @throws MirrorError `settings`, code `no-such-target`
 */
export async function viewTargetChanges(
  tenant: ChangesSource,
  targetId: string,
  date: string | null,
): Promise<TargetChangesView> {
  const target = tenant.targets.get(targetId);
  if (target === undefined) throw noSuchTarget(targetId);
  const { zone } = tenant.configuration;
  const now = tenant.clock();
  const day = date === null ? localDayOf(now, zone) - 1 : Math.floor(Date.parse(date) / DAY_MS);
  const { startOfDay } = createZone(zone);
  const [startAt, endAt] = [startOfDay(day * DAY_MS), startOfDay((day + 1) * DAY_MS)];
  const [{ changes }, { lines, isCut }] = await Promise.all([
    tenant.history.read(targetId),
    tenant.journal.linesBetween(targetId, { fromAt: startAt, toAt: endAt }, MOST_LISTED),
  ]);
  const counts = changes.get(day) ?? { created: 0, updated: 0, deleted: 0 };
  return {
    ...{ tenant: tenant.id, target: targetId, name: calendarOf(target), zone },
    ...{ date: new Date(day * DAY_MS).toISOString().slice(0, 10), startAt, endAt },
    ...counts,
    journalSince: now - tenant.journal.retentionMs,
    changes: lines.map(({ recordId, run, at, effect, reason, times }) => {
      return { record: recordId, run, changedAt: at, effect, reason, ...(times ?? { before: null, after: null }) };
    }),
    isCut,
  };
}
