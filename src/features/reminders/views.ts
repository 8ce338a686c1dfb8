import { heldCorrections } from './held-corrections.ts';
import type { OpenReminders } from './ports.ts';
import { reminderStatus } from './status.ts';

/** Adds what status and holds ask for. */
export function withViews(parts: Omit<OpenReminders, 'status' | 'heldCorrections'>): OpenReminders {
  return {
    ...parts,
    status: (holds, now) => reminderStatus(parts, holds, now),
    heldCorrections: (tenant, recordIds, signal) => heldCorrections(tenant, parts, recordIds, signal),
  };
}
