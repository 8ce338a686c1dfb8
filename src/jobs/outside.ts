import type { TargetStore } from '../state/targets.ts';
import { outlying, type PushedState } from '../sync/diff.ts';
import { listedIn, snapshotOf, windowOf } from '../sync/followed.ts';
import type { ClinicReading } from './clinic-reading.ts';
import type { OpenTarget } from './tenant.ts';

/** Records outside the windows that are read alone in one cycle, over all targets of a tenant; they must leave room for absent ones. */
const LOOKS_PER_CYCLE = 20;

/**
 * Records of a target that no list shows by their time, to be read alone with this cycle: what was moved beyond the window, or lies there
 * since the window was made smaller, and what waits to be written outside it. A few at a time, one after the other.
 * @param cycle.note whether the next cycle is to go on behind them
 * @param absent records that are read alone already
 */
export async function nextOutside(
  targetStore: Pick<TargetStore, 'read' | 'write'>,
  target: OpenTarget,
  cycle: { clinicReading: ClinicReading; state: PushedState; targets: number; note: boolean },
  absent: readonly string[],
): Promise<string[]> {
  const { clinicReading, state, targets, note } = cycle;
  const snapshot = snapshotOf(clinicReading, target);
  if (snapshot === null) return [];
  const isListed = listedIn(snapshot);
  const asked = new Set(absent);
  const all = outlying(state, windowOf(target, clinicReading.startedAt));
  const ids = all.filter((id) => !isListed(id) && !asked.has(id));
  if (ids.length === 0) return [];
  const { lookedOutsideTo } = await targetStore.read(target.id);
  const next = inTurn(ids, lookedOutsideTo, Math.ceil(LOOKS_PER_CYCLE / targets));
  if (note) await targetStore.write(target.id, { lookedOutsideTo: next.at(-1) ?? null });
  return next;
}

/** The ids that come next in order, from the first one again after the last. */
export function inTurn(ids: readonly string[], after: string | null, count: number): string[] {
  const ordered = [...new Set(ids)].sort();
  const from = Math.max(
    0,
    ordered.findIndex((id) => id > (after ?? '')),
  );
  return [...ordered.slice(from), ...ordered.slice(0, from)].slice(0, count);
}
