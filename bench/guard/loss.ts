import type { PlannedChange } from '../../src/core/model/plan.ts';
import type { Instant } from '../../src/core/model/time.ts';
import { evidenceOf, missesAfter } from '../../src/engine/absence.ts';
import { confirmAbsence } from '../../src/engine/confirm.ts';
import { type GuardResult, guard } from '../../src/engine/guard.ts';
import type { TargetStore } from '../../src/state/targets.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';

/** Default limits of a target. */
export const LIMITS = { vanished: { share: 0.2, count: 10 }, cancelled: { share: 0.6, count: 50 } };

const TARGET = 'doctor';
const NEVER = new AbortController().signal;
const NOBODY: ReadonlySet<string> = new Set();

/** Dependencies of the guard and of the confirmation reads, as in a cycle. */
export interface LossParts {
  tenant: Pick<OpenTenant, 'holds' | 'log' | 'random' | 'missedForMs' | 'elapsedBetween'>;
  records: Pick<TargetStore, 'gone' | 'recordGone' | 'misses' | 'storeMisses'>;
}

/**
 * One target that loses records. Uses only the product's confirmation reads, guard and state, without a clinic or a calendar: each cycle
 * confirms absent records, with equal results of list and single reads, and removes the records that the guard releases.
 */
export interface LossWorld {
  /** Records that the target has. */
  readonly links: ReadonlySet<string>;
  /** How many were removed so far. */
  readonly deleted: number;
  /** Adds a record, or adds it again. */
  add(recordId: string): void;
  /** Removes records whose time has passed. */
  release(recordIds: readonly string[], now: Instant): Promise<void>;
  /** One cycle. @returns whether the guard held anything */
  cycle(absent: (recordId: string) => boolean, now: Instant): Promise<boolean>;
}

export function createLossWorld({ tenant, records }: LossParts): LossWorld {
  const links = new Set<string>();
  let deleted = 0;
  return {
    links,
    get deleted() {
      return deleted;
    },
    add(recordId) {
      links.add(recordId);
    },
    async release(recordIds, now) {
      for (const id of recordIds) links.delete(id);
      await records.recordGone(
        TARGET,
        { cancelled: 0, excluded: 0, vanished: 0, released: recordIds.length, restored: 0 },
        now,
      );
    },
    async cycle(absent, now) {
      const missing = [...links].filter(absent);
      const misses = { missedSince: await records.misses('appointments'), readAt: now };
      const confirmation = await confirmAbsence(
        tenant,
        { toConfirm: new Map([[TARGET, missing]]), misses },
        {
          readAlone: async (id) => (absent(id) ? { absent: true } : { found: { id } }),
          belongsOnList: () => false,
        },
        NEVER,
      );
      const verdict = guard({
        changes: missing.map(removalOf),
        linkCount: links.size,
        gone: await records.gone(TARGET, now),
        absence: evidenceOf(confirmation, missing, (id) => links.has(id)),
        limits: LIMITS,
        approved: NOBODY,
        waiting: NOBODY,
        rejected: NOBODY,
      });
      await records.recordGone(TARGET, goneIn(verdict), now);
      for (const { recordId } of verdict.permitted) links.delete(recordId);
      deleted += verdict.permitted.length;
      await records.storeMisses(
        'appointments',
        missesAfter(misses, confirmation, (id) => !absent(id)),
      );
      return verdict.held.vanished.length > 0;
    },
  };
}

function removalOf(recordId: string): PlannedChange {
  return { recordId, reason: 'vanished', wanted: { want: 'absent', startAt: 0, endAt: 0 }, fields: [] };
}

function goneIn({ permitted }: GuardResult) {
  return { cancelled: 0, excluded: 0, vanished: permitted.length, released: 0, restored: 0 };
}
