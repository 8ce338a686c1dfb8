import type { Hold } from '../../model/plan.ts';
import { REMINDERS, type ReminderStatus } from '../../model/reminders.ts';
import type { Instant } from '../../model/time.ts';
import type { OpenReminders } from './ports.ts';

/** Reads the ledger. */
export async function reminderStatus(
  { ledger, channels }: Pick<OpenReminders, 'ledger' | 'channels'>,
  holds: readonly Hold[],
  now: Instant,
): Promise<ReminderStatus> {
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
