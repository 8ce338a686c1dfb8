import { type OpenReminders, REMINDERS } from '../jobs/open-reminders.ts';
import type { Hold } from '../model/plan.ts';
import type { WrongInformation } from '../model/reminders.ts';
import type { Instant } from '../model/time.ts';

/** Where a tenant's reminders stand. */
export interface ReminderStatus {
  /** Planned and not yet settled. */
  waiting: number;
  /** Channels whose other side is gone: nothing is handed to them until a person opens them again. */
  closedChannels: { channel: string; code: string; at: Instant }[];
  /** Patients who were told what is not true now, the longest first. */
  wrong: Omit<WrongInformation, 'held'>[];
  /** Corrections that wait for a decision; null when none do. */
  hold: { id: string; appointments: number; sinceAt: Instant } | null;
}

/** Reads the ledger; null where there are no reminders. */
export async function reminderStatus(
  reminders: OpenReminders | null,
  holds: readonly Hold[],
  now: Instant,
): Promise<ReminderStatus | null> {
  if (reminders === null) return null;
  const { ledger, channels } = reminders;
  const closings = [...channels.keys()].map(async (channel) => {
    const closing = await ledger.closingOf(channel);
    return closing === null ? [] : [{ channel, ...closing }];
  });
  const hold = holds.find(({ target, state }) => target === REMINDERS && state === 'open');
  return {
    waiting: await ledger.openCount(),
    closedChannels: (await Promise.all(closings)).flat(),
    wrong: (await ledger.wrong(now)).map(({ held: _held, ...shown }) => shown),
    hold: hold === undefined ? null : { id: hold.id, appointments: hold.recordIds.length, sinceAt: hold.createdAt },
  };
}
