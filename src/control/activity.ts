import { type Message, message } from '../messages/message.ts';
import type { AuditEntry } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';
import type { Instant } from '../model/time.ts';
import type { AuditLog, AuditLogCheck, AuditPosition } from '../state/audit-log.ts';
import { cursorOf, type PageQuestion, readCursor } from './paging.ts';
import type { ActServices } from './recording.ts';

/** Which entries are wanted; null for all. */
export interface AuditLogFilter {
  tenant: string | null;
  verb: string | null;
  sinceAt: Instant | null;
  /** What the clinic calls a record of that tenant: entries have keyed hashes of such ids. */
  record: string | null;
}

/** One line of the log. */
interface AuditLogLine {
  /** JSON, as it stands in the log, with its MAC. */
  line: string;
  /** Null: it is not as it was written. */
  entry: AuditEntry | null;
}

/**
 * Entries, oldest first; those that are not as they were written come whatever is wanted.
 * @throws MirrorError `settings`, code `no-audit-log`, `record-needs-tenant` or `audit-log-unwritable`
 */
export async function* readAuditLog(services: ActServices, filter: AuditLogFilter): AsyncGenerator<AuditLogLine, void> {
  const isWanted = wantedBy(services, filter);
  for await (const line of requireLog(services).read()) {
    if (line.entry === null || isWanted(line.entry)) yield line;
  }
}

/** Which entries a filter wants. @throws MirrorError `settings`, code `record-needs-tenant` */
function wantedBy(
  services: ActServices,
  { tenant, verb, sinceAt, record }: AuditLogFilter,
): (entry: AuditEntry) => boolean {
  const key = record === null ? null : keyOfRecord(services, tenant, record);
  return (entry) =>
    (tenant === null || entry.tenant === tenant) &&
    (verb === null || entry.verb === verb) &&
    (sinceAt === null || Date.parse(entry.at) >= sinceAt) &&
    (key === null || Object.values(entry.what).some((value) => String(value).split(' ').includes(key)));
}

/**
 * Looks at every entry, at how each holds the one before, and at the ends that Redis knows.
 * @param elsewhere names of chains that other machines keep
 * @throws MirrorError `settings`, code `no-audit-log` or `audit-log-unwritable`
 */
export async function verifyAuditLog(services: ActServices, elsewhere: readonly string[]): Promise<AuditLogCheck> {
  return requireLog(services).verify(new Set(elsewhere));
}

/** @throws MirrorError `settings`, code `no-audit-log` */
function requireLog({ log }: ActServices): AuditLog {
  if (log !== null) return log;
  throw logRefusal('no-audit-log', message('no-audit-log'), message('no-audit-log.remedy'));
}

function keyOfRecord({ keyed }: ActServices, tenant: string | null, record: string): string {
  if (tenant !== null) return keyed(tenant, record);
  throw logRefusal('record-needs-tenant', message('record-needs-tenant'), message('record-needs-tenant.remedy'));
}

function logRefusal(code: string, text: Message, remedy: Message): MirrorError {
  return new MirrorError(text, { actor: 'settings', code, retry: 'never', remedy });
}

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
interface ActivityQuestion extends PageQuestion {
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
  const { position, ended } =
    after === null ? { position: null, ended: new Set<number>() } : readCursor(after, positionOf);
  const lines: ActivityLine[] = [];
  let looked = 0;
  let last: AuditPosition | null = null;
  for await (const { chain, sequence, entry } of log.readBack(position)) {
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

function positionOf(text: unknown): { position: AuditPosition; ended: Set<number> } | null {
  const [, chain, sequence, ended = ''] = (typeof text === 'string' && POSITION.exec(text)) || [];
  if (chain === undefined || sequence === undefined) return null;
  return { position: { chain, sequence: Number(sequence) }, ended: new Set(ended.split('.').slice(1).map(Number)) };
}
