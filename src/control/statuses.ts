import { setTimeout as pause } from 'node:timers/promises';
import { MINUTE_MS } from '../model/time.ts';
import { createStateFigures } from './figures.ts';
import type { Installation } from './installation.ts';
import { status, statusByAndBy } from './status.ts';
import type { Status } from './status-view.ts';

/** Where clinics stand, for all of a process who look: however many look, it is computed once. */
export interface Statuses {
  /**
   * All clinics, some seconds old at most, or ten times as old as computing them took.
   * @param waitMs how long it is waited for what is computed anew, before what was known before is told
   * @throws MirrorError as the state does, Redis not answering among it
   */
  read(installation: Installation, waitMs?: number): Promise<{ status: Status; ageMs: number }>;
  /**
   * The same for whoever would rather see some clinics than wait for all: at first, and when nobody looked for ten minutes, those that were
   * looked at after `waitMs`.
   */
  readSoFar(installation: Installation, waitMs: number): Promise<Status>;
  /** One clinic as it is now: who asks while that is computed shares the next computing, which begins after they asked, with all others. */
  ofTenant(installation: Installation, tenant: string): Promise<Status>;
}

/** What is older counts as not known: nobody has looked for a while. */
const OLDEST_MS = 10 * MINUTE_MS;

/** Opens them. Nothing is computed before it is asked for. */
export function openStatuses(): Statuses {
  let newest: Status | null = null;
  let soFar: Status | null = null;
  const figures = createStateFigures(async (open) => {
    soFar = null;
    for await (const found of statusByAndBy(open)) soFar = found;
    newest = soFar;
  });
  const requireStatus = (found: Status | null): Status => {
    if (found === null) throw new Error('what was computed is known');
    return found;
  };
  return {
    ofTenant: sharingNext(status),
    async read(open, waitMs) {
      const ageMs = await figures.refresh(open, waitMs);
      return { status: requireStatus(newest), ageMs };
    },
    async readSoFar(open, waitMs) {
      const whole = figures.refresh(open, waitMs);
      await Promise.race([whole, pause(waitMs, undefined, { ref: false })]);
      const isRecent = newest !== null && open.clock() - newest.at <= OLDEST_MS;
      if (isRecent) return requireStatus(newest);
      if (soFar === null) await whole;
      // What is looked at anew may have been begun just now; whoever asks gave up waiting for it.
      return requireStatus(soFar ?? newest);
    },
  };
}

/** Has one computing of a thing under way, and one that follows it: whoever comes meanwhile shares that. */
function sharingNext<Value>(
  compute: (open: Installation, id: string) => Promise<Value>,
): (open: Installation, id: string) => Promise<Value> {
  const underWay = new Map<string, { now: Promise<Value>; next: Promise<Value> | null }>();
  const begin = (open: Installation, id: string): Promise<Value> => {
    const entry: { now: Promise<Value>; next: Promise<Value> | null } = { now: compute(open, id), next: null };
    underWay.set(id, entry);
    const end = () => {
      if (entry.next === null) underWay.delete(id);
    };
    entry.now.then(end, end);
    return entry.now;
  };
  return (open, id) => {
    const entry = underWay.get(id);
    if (entry === undefined) return begin(open, id);
    const follow = () => begin(open, id);
    entry.next ??= entry.now.then(follow, follow);
    return entry.next;
  };
}
