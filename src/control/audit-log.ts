import type { AuditEntry } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';
import type { Instant } from '../model/time.ts';
import type { AuditLog, AuditLogCheck } from '../state/audit-log.ts';
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
export async function* readAuditLog(services: ActServices, filter: AuditLogFilter): AsyncGenerator<AuditLogLine, void> {
  const isWanted = wantedBy(services, filter);
  for await (const line of requireLog(services).read()) {
    if (line.entry === null || isWanted(line.entry)) yield line;
  }
}

/** Which entries a filter wants. @throws MirrorError `settings`, code `record-needs-tenant` */
export function wantedBy(
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
export function requireLog({ log }: ActServices): AuditLog {
  if (log !== null) return log;
  throw logRefusal('no-audit-log', 'no audit log is kept', 'set dataDirectory in clinic-mirror.yaml');
}

function keyOfRecord({ keyed }: ActServices, tenant: string | null, record: string): string {
  if (tenant !== null) return keyed(tenant, record);
  throw logRefusal('record-needs-tenant', 'a record is one of a tenant', 'give --tenant too');
}

function logRefusal(code: string, message: string, remedy: string): MirrorError {
  return new MirrorError(message, { actor: 'settings', code, retry: 'never', remedy });
}
