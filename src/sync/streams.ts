import type { StreamName } from '../model/streams.ts';
import type { Mapping } from './mapping/contract.ts';

/** A stream that is not read with each cycle, but by a job of its own. */
export type SlowStream = 'patients' | 'invoices' | 'history';

/** What says which streams a target needs. */
export interface Follower {
  stream: StreamName;
  /** Null for a calendar. */
  crm: { mapping: Pick<Mapping, 'needs'> } | null;
}

/** The streams that a target follows or computes with. */
export function streamsOf({ stream, crm }: Follower): SlowStream[] {
  if (crm === null) return [];
  const { history, invoices } = crm.mapping.needs;
  const names: SlowStream[] = ['patients'];
  if (stream === 'invoices' || invoices) names.push('invoices');
  if (history) names.push('history');
  return names;
}

/** Those without which nothing can be said of a target's records. What contacts are computed from besides keeps them as they are. */
export function neededBy(target: Follower): SlowStream[] {
  return target.stream === 'patients' && target.crm !== null ? ['patients'] : streamsOf(target);
}

/** Whether a target's properties tell of appointments of the past and of those to come. */
export function computesFromHistory(target: Follower): boolean {
  return streamsOf(target).includes('history');
}
