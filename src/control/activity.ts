import type { AuditEntry } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';
import type { AuditPlace } from '../state/audit-log.ts';
import type { ActDesk } from './recording.ts';

/** What somebody did, by the entry that tells most of it; an act that ended is told by its end alone. */
export interface ActivityLine extends AuditPlace {
  /** Null: the entry is not as it was written. */
  entry: AuditEntry | null;
}

/** A part of what was done, newest first. */
export interface ActivityPage {
  lines: ActivityLine[];
  /** What to ask for the next part with; null: there is none. */
  next: string | null;
}

/** What is wanted. */
export interface ActivityQuestion {
  /** `next` of the part before; null for the newest. */
  after: string | null;
  limit: number;
  /** Whether whoever asks may see what was done with a tenant; null: with none, or all. Lines that can't be read come whatever it says. */
  sees(tenant: string | null): boolean;
}

/** Entries that are looked at for one part: each is a file. */
const MOST_LOOKED_AT = 3_000;
const CURSOR = /^(\d{4}-[a-z2-9]+)\.(\d{1,15})((?:\.\d{1,15}){0,64})$/;

/**
 * Who did what, newest first.
 * @returns null where no audit log is kept
 * @throws MirrorError `settings`, code `cursor-unusable` or `audit-log-unwritable`
 */
export async function readActivity({ log }: ActDesk, question: ActivityQuestion): Promise<ActivityPage | null> {
  if (log === null) return null;
  const { limit, sees, after } = question;
  const { place, ended } = after === null ? { place: null, ended: new Set<number>() } : readCursor(after);
  const lines: ActivityLine[] = [];
  let looked = 0;
  let last: AuditPlace | null = null;
  for await (const { chain, sequence, entry } of log.readBack(place)) {
    // One more than is wanted: then there is a next part.
    if (lines.length === limit || looked === MOST_LOOKED_AT) return { lines, next: cursorOf(last, ended) };
    looked += 1;
    // Numbers are those of a chain.
    if (last !== null && last.chain !== chain) ended.clear();
    last = { chain, sequence };
    if (ended.delete(sequence)) continue;
    if (entry?.act != null) ended.add(entry.act);
    if (entry === null || sees(entry.tenant)) lines.push({ chain, sequence, entry });
  }
  return { lines, next: null };
}

/** With the acts whose end was told and whose beginning comes yet. */
function cursorOf(last: AuditPlace | null, ended: ReadonlySet<number>): string | null {
  return last === null ? null : [last.chain, last.sequence, ...[...ended].slice(-64)].join('.');
}

function readCursor(cursor: string): { place: AuditPlace; ended: Set<number> } {
  const [, chain, sequence, ended = ''] = CURSOR.exec(cursor) ?? [];
  if (chain !== undefined && sequence !== undefined) {
    return {
      place: { chain, sequence: Number(sequence) },
      ended: new Set(
        ended
          .split('.')
          .filter((each) => each !== '')
          .map(Number),
      ),
    };
  }
  throw new MirrorError('this is no place in the list', {
    actor: 'settings',
    code: 'cursor-unusable',
    retry: 'never',
    remedy: 'begin with the first page again',
  });
}
