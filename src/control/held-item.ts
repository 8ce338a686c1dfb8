import type { FieldChange } from '../model/plan-view.ts';
import type { AppointmentStatus } from '../model/records.ts';
import type { Instant } from '../model/time.ts';

/** One record that a hold keeps back. */
export interface HeldItem {
  record: string;
  /** When it is: by the clinic, else as the target was last given it; null for what has no time, or of which neither tells. */
  startAt: Instant | null;
  /** By the clinic; null where its list does not tell of it now. */
  agenda: { id: string; name: string | null } | null;
  status: AppointmentStatus | null;
  /** What would change if the hold were approved now, as the target's policy allows it to be told; none where neither side tells. */
  fieldChanges: readonly FieldChange[];
}
