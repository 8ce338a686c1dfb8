import type { AuditEntry, AuditLogCheck } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import type { Instant } from '../../core/model/time.ts';
import { type Message, message } from '../../messages/message.ts';
import type { AuditLog, AuditPosition } from './audit-log.ts';
import { cursorOf, type PageQuestion, readCursor } from './paging.ts';
import type { ActServices } from './recording.ts';

/** Filter for audit records; null selects all. */
export interface AuditLogFilter {
  tenant: string | null;
  verb: string | null;
  sinceAt: Instant | null;
  /** Clinic id of a record of the tenant. The audit log has keyed hashes of these ids. */
  record: string | null;
}

/** A line of the audit log. */
interface AuditLogLine {
  /** JSON with MAC, unchanged from the log. */
  line: string;
  /** Null: the line fails verification. */
  entry: AuditEntry | null;
}

/**
 * Yields audit records, oldest first. Records that fail verification pass every filter.
 * @throws MirrorError `settings`, code `no-audit-log`, `record-needs-tenant` or `audit-log-unwritable`
 */
export async function* readAuditLog(services: ActServices, filter: AuditLogFilter): AsyncGenerator<AuditLogLine, void> {
  const isWanted = wantedBy(services, filter);
  for await (const line of requireLog(services).read()) {
    if (line.entry === null || isWanted(line.entry)) yield line;
  }
}

/** Returns the predicate of a filter. @throws MirrorError `settings`, code `record-needs-tenant` */
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
 * Verifies each audit record, the chain of records, and the chain ends stored in Redis.
 * @param elsewhere names of chains on other hosts
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

/** An action, by its most informative audit record. For a finished action, only the end is shown. */
export interface ActivityLine extends AuditPosition {
  /** Null: the record fails verification. */
  entry: AuditEntry | null;
}

/** A page of actions, newest first. */
export interface ActivityPage {
  lines: ActivityLine[];
  /** Cursor of the next page, also for a page without lines; null: last page. */
  next: string | null;
}

/** Query for a page of actions. */
interface ActivityQuestion extends PageQuestion {
  filter: AuditLogFilter;
  /**
   * Returns whether the caller may see actions on a tenant; null: actions on no tenant or all tenants. Unreadable lines are always shown.
   */
  sees(tenant: string | null): boolean;
}

/** Largest number of audit records read for a page, because each record is a file. */
const MOST_LOOKED_AT = 3_000;
const POSITION = /^(\d{4}-[a-z2-9]+)\.(\d{1,15})((?:\.\d{1,15}){0,64})$/;

/**
 * Lists actions, newest first.
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
    // One more line than requested: a next page exists.
    if (lines.length === limit || looked === MOST_LOOKED_AT) return { lines, next: nextOf(last, ended) };
    looked += 1;
    // Numbers are unique only within a chain.
    if (last !== null && last.chain !== chain) ended.clear();
    last = { chain, sequence };
    if (ended.delete(sequence)) continue;
    if (entry?.act != null) ended.add(entry.act);
    if (entry === null || (sees(entry.tenant) && isWanted(entry))) lines.push({ chain, sequence, entry });
  }
  return { lines, next: null };
}

/** Includes finished actions whose begin is not read yet. */
function nextOf(last: AuditPosition | null, ended: ReadonlySet<number>): string | null {
  return last === null ? null : cursorOf([last.chain, last.sequence, ...[...ended].slice(-64)].join('.'));
}

function positionOf(text: unknown): { position: AuditPosition; ended: Set<number> } | null {
  const [, chain, sequence, ended = ''] = (typeof text === 'string' && POSITION.exec(text)) || [];
  if (chain === undefined || sequence === undefined) return null;
  return { position: { chain, sequence: Number(sequence) }, ended: new Set(ended.split('.').slice(1).map(Number)) };
}
