import type { AuditEntry } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';
import type { Instant } from '../model/time.ts';
import type { AuditLog, AuditLogVerdict } from '../state/audit-log.ts';
import { type Page, type PageQuestion, pageOf } from './paging.ts';
import type { ActDesk } from './recording.ts';

/** Which entries are wanted; null for all. */
export interface AuditLogFilter {
  tenant: string | null;
  verb: string | null;
  sinceAt: Instant | null;
  /** What the clinic calls a record of that tenant: entries have keyed hashes of such ids. */
  record: string | null;
}

/** One line of the log. */
export interface AuditLogLine {
  /** JSON, as it stands in the log, with its MAC. */
  line: string;
  /** Null: it is not as it was written. */
  entry: AuditEntry | null;
}

/**
 * Entries, oldest first; those that are not as they were written come whatever is wanted.
 * @throws MirrorError `settings`, code `no-audit-log`, `record-needs-tenant` or `audit-log-unwritable`
 */
export async function* readAuditLog(desk: ActDesk, filter: AuditLogFilter): AsyncGenerator<AuditLogLine, void> {
  const { tenant, verb, sinceAt, record } = filter;
  const key = record === null ? null : keyOfRecord(desk, tenant, record);
  for await (const line of requireLog(desk).read()) {
    const { entry } = line;
    const isWanted =
      entry === null ||
      ((tenant === null || entry.tenant === tenant) &&
        (verb === null || entry.verb === verb) &&
        (sinceAt === null || Date.parse(entry.at) >= sinceAt) &&
        (key === null || Object.values(entry.what).some((value) => String(value).split(' ').includes(key))));
    if (isWanted) yield line;
  }
}

/** Entries of the log, newest first. */
export interface ActPage extends Page<AuditEntry> {
  /** Lines that are not as they were written, whatever is wanted. */
  changed: number;
}

/**
 * A page of entries, newest first.
 * @param isSeen whether entries of a tenant are shown; null: of none, or all
 * @throws as {@link readAuditLog}; MirrorError `settings`, code `cursor-unusable`
 */
export async function listActs(
  desk: ActDesk,
  filter: AuditLogFilter,
  isSeen: (tenant: string | null) => boolean,
  question: PageQuestion,
): Promise<ActPage> {
  const entries: AuditEntry[] = [];
  let changed = 0;
  for await (const { entry } of readAuditLog(desk, filter)) {
    if (entry === null) changed += 1;
    else if (isSeen(entry.tenant)) entries.push(entry);
  }
  return { ...pageOf(entries, question, nameFromNewest), changed };
}

const LATEST_MS = 1e14;

/** The later, the smaller. */
function nameFromNewest({ at, chain, sequence }: AuditEntry): string {
  return [LATEST_MS - Date.parse(at), chain, LATEST_MS - sequence].join(' ');
}

/**
 * Looks at every entry, at how each holds the one before, and at the ends that Redis knows.
 * @param elsewhere names of chains that other machines keep
 * @throws MirrorError `settings`, code `no-audit-log` or `audit-log-unwritable`
 */
export async function verifyAuditLog(desk: ActDesk, elsewhere: readonly string[]): Promise<AuditLogVerdict> {
  return requireLog(desk).verify(new Set(elsewhere));
}

function requireLog({ log }: ActDesk): AuditLog {
  if (log !== null) return log;
  throw logRefusal('no-audit-log', 'no audit log is kept', 'set dataDirectory in clinic-mirror.yaml');
}

function keyOfRecord({ keyed }: ActDesk, tenant: string | null, record: string): string {
  if (tenant !== null) return keyed(tenant, record);
  throw logRefusal('record-needs-tenant', 'a record is one of a tenant', 'give --tenant too');
}

function logRefusal(code: string, message: string, remedy: string): MirrorError {
  return new MirrorError(message, { actor: 'settings', code, retry: 'never', remedy });
}
