import type { Progress } from '../model/tasks.ts';
import type { Lease, Leases } from '../state/leases.ts';

/** Whom a person's command tells what it waits for. */
export interface WaitReport {
  /** What may be under way, in words that follow "waiting for". */
  what: string;
  report: Progress;
}

/** What a target's lease is held for, in words that follow "waiting for". */
export function targetWork(target: string): string {
  return `the work on target ${target}`;
}

/**
 * Takes a lease for a person's command. One that somebody holds is waited for as long as that lives, and the person is told at once; the
 * signal (Ctrl-C) ends the waiting. The daemon's own work waits with `Leases.take`, for a time.
 */
export async function waitForLease(
  leases: Leases,
  name: string,
  { what, report }: WaitReport,
  signal: AbortSignal,
): Promise<Lease> {
  const free = await leases.tryTake(name);
  if (free !== null) return free;
  report(`waiting for ${what}, which is under way`);
  return leases.take(name, Number.POSITIVE_INFINITY, signal);
}
