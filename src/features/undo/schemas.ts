import { z } from 'zod';
import { instant } from '../../core/model/schemas.ts';

const tenantRun = z.object({
  ...{ tenant: z.string(), run: z.string() },
  /** Time of the first acknowledged change. */
  at: instant,
  ...{ updated: z.number(), deleted: z.number() },
});
/** A run that can be undone, with its tenant. */
export type TenantRun = z.infer<typeof tenantRun>;

export const changingRuns = z.object({ runs: z.array(tenantRun) });

/**
 * Possible recovery of a record that a run changed or deleted:
 * - `there`: the clinic has the record, so the target can be updated
 * - `cancelled`, `gone`: cancelled or deleted in the clinic; the content no longer exists
 * - `no-consent`: the patient does not consent, which only the patient can change
 * - `outside-window`: outside the target's window
 * - `unusable`: unreadable row
 * - `unread`: the clinic is unreachable, or the number of records exceeds the limit; repeat the undo
 * - `policy`: the target's policy permits no update
 * - `no-target`: the target is paused or no longer configured
 */
export type Recovery = 'there' | (typeof UNRECOVERED)[number];
const UNRECOVERED = [
  ...['cancelled', 'gone', 'no-consent', 'outside-window'],
  ...['unusable', 'unread', 'policy', 'no-target'],
] as const;

const result = z.enum(['restored', 'waiting', ...UNRECOVERED]);
/** Result of one record. `restored`: the target has the present clinic data; `waiting`: the update is queued. */
export type UndoResult = z.infer<typeof result>;

export const undo = z.object({
  tenant: z.string(),
  run: z.string(),
  /** Without writes: `result` is the expected result. */
  dryRun: z.boolean(),
  /** End of the pins of restored records, independent of the target's rules; null without restored records. */
  pinnedUntil: instant.nullable(),
  records: z.array(
    z.object({
      target: z.string(),
      record: z.string(),
      effect: z.enum(['updated', 'deleted']),
      result: result.describe('`restored`, `waiting`, or the reason against a restore'),
    }),
  ),
});
/** Result of an undo. */
export type UndoView = z.infer<typeof undo>;
