import type { AuditEntry } from '../model/acts.ts';
import type { AuditPosition } from '../state/audit-log.ts';
import { type AuditLogFilter, requireLog, wantedBy } from './audit-log.ts';
import { cursorOf, type PageQuestion, readCursor } from './paging.ts';
import type { ActServices } from './recording.ts';

/** What somebody did, by the entry that tells most of it; an act that ended is told by its end alone. */
export interface ActivityLine extends AuditPosition {
  /** Null: the entry is not as it was written. */
  entry: AuditEntry | null;
}

/** A part of what was done, newest first. */
export interface ActivityPage {
  lines: ActivityLine[];
  /** What to ask for the next part with, of a part without lines too; null: there is none. */
  next: string | null;
}

/** What is wanted. */
export interface ActivityQuestion extends PageQuestion {
  filter: AuditLogFilter;
  /** Whether whoever asks may see what was done with a tenant; null: with none, or all. Lines that can't be read come whatever it says. */
  sees(tenant: string | null): boolean;
}

/** Entries that are looked at for one part: each is a file. */
const MOST_LOOKED_AT = 3_000;
const POSITION = /^(\d{4}-[a-z2-9]+)\.(\d{1,15})((?:\.\d{1,15}){0,64})$/;

/**
 * Who did what, newest first.
 * @throws MirrorError `settings`, code `no-audit-log`, `record-needs-tenant`, `cursor-unusable` or `audit-log-unwritable`
 */
export async function readActivity(services: ActServices, question: ActivityQuestion): Promise<ActivityPage> {
  const { limit, sees, after, filter } = question;
  const log = requireLog(services);
  const isWanted = wantedBy(services, filter);
  const { place, ended } = after === null ? { place: null, ended: new Set<number>() } : readCursor(after, positionOf);
  const lines: ActivityLine[] = [];
  let looked = 0;
  let last: AuditPosition | null = null;
  for await (const { chain, sequence, entry } of log.readBack(place)) {
    // One more than is wanted: then there is a next part.
    if (lines.length === limit || looked === MOST_LOOKED_AT) return { lines, next: nextOf(last, ended) };
    looked += 1;
    // Numbers are those of a chain.
    if (last !== null && last.chain !== chain) ended.clear();
    last = { chain, sequence };
    if (ended.delete(sequence)) continue;
    if (entry?.act != null) ended.add(entry.act);
    if (entry === null || (sees(entry.tenant) && isWanted(entry))) lines.push({ chain, sequence, entry });
  }
  return { lines, next: null };
}

/** With the acts whose end was told and whose beginning comes yet. */
function nextOf(last: AuditPosition | null, ended: ReadonlySet<number>): string | null {
  return last === null ? null : cursorOf([last.chain, last.sequence, ...[...ended].slice(-64)].join('.'));
}

function positionOf(text: unknown): { place: AuditPosition; ended: Set<number> } | null {
  const [, chain, sequence, ended = ''] = (typeof text === 'string' && POSITION.exec(text)) || [];
  if (chain === undefined || sequence === undefined) return null;
  return { place: { chain, sequence: Number(sequence) }, ended: new Set(ended.split('.').slice(1).map(Number)) };
}
