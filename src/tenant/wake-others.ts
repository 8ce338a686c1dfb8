import type { LedgerEntry } from '../core/model/reminders.ts';
import type { Clock, Instant } from '../core/model/time.ts';
import { OUTAGE_CODES } from '../engine/lane.ts';
import type { Alarms } from '../jobs/queues.ts';
import type { OtherWork } from '../state/outages.ts';

/** A tenant whose other work is restarted. */
interface Woken {
  clock: Clock;
  reminders: {
    alarms: Pick<Alarms, 'set'>;
    ledger: { open(): Promise<readonly Pick<LedgerEntry, 'id' | 'channel' | 'lastCode'>[]> };
  } | null;
  triggers: {
    store: { endRest(endpoint: string, now: Instant, codes: ReadonlySet<string>): Promise<boolean> };
    wake(delayMs: number, options: { read: boolean }): Promise<void>;
  } | null;
}

/** Restarts other work after an outage. Token refreshes are frequent enough and need no restart. */
export async function wakeOther(
  { clock, reminders, triggers }: Woken,
  { kind, id }: OtherWork,
  delayMs: number,
): Promise<void> {
  if (kind === 'endpoint' && (await triggers?.store.endRest(id, clock(), OUTAGE_CODES)))
    await triggers?.wake(delayMs, { read: false });
  if (kind !== 'channel' || reminders === null) return;
  const open = await reminders.ledger.open();
  const waiting = open.filter(({ channel, lastCode }) => channel === id && OUTAGE_CODES.has(lastCode ?? ''));
  await reminders.alarms.set(waiting.map((entry) => ({ id: entry.id, wakeAt: clock() + delayMs })));
}
