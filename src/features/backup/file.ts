import { createHash } from 'node:crypto';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { parseJson } from '../../core/model/json.ts';
import { message, type Text } from '../../messages/message.ts';
import type { Installation } from '../../operator/control/installation.ts';
import { type Acting, recordAct } from '../../operator/control/recording.ts';
import { ConfigurationError } from '../../settings/faults.ts';
import { type AllBackups, restoreBackup } from './backups.ts';
import type { Restored } from './schemas.ts';

/** First line of a file of all tenants: version, time, and missing tenants. */
export interface BackupHead {
  format: 'clinic-mirror-backup';
  version: 1;
  /** RFC 3339. */
  at: string;
  /** Tenants with faulty files, which could not be opened. */
  without: readonly string[];
}

/** Result of restoring a file of all tenants. */
export interface AllRestored {
  at: string;
  restored: readonly (Restored & { tenant: string })[];
  /** Tenants that were not restored, with error codes. */
  failed: readonly { tenant: string; code: string }[];
}

const HEAD = { format: 'clinic-mirror-backup', version: 1 } as const;

/**
 * Yields the lines of a file of all tenants: a head, a line per tenant, and an encrypted last line with count and digest, so that a
 * truncated or changed file is detected. Only one tenant is in memory at a time.
 */
export async function* backUpAll(
  acting: Acting,
  installation: Installation,
  backups: AllBackups,
): AsyncGenerator<string> {
  const sum = createHash('sha256');
  const line = (value: object) => {
    const text = `${JSON.stringify(value)}\n`;
    sum.update(text);
    return text;
  };
  const without = installation.unusable.map(({ id }) => id);
  yield line({ ...HEAD, at: new Date(installation.clock()).toISOString(), without } satisfies BackupHead);
  let tenants = 0;
  for (const tenant of installation.tenants.keys()) {
    yield line({ tenant, sealed: await recordAct(acting, { verb: 'backup', tenant }, () => backups.backup(tenant)) });
    tenants += 1;
  }
  yield `${JSON.stringify({ end: backups.seal(JSON.stringify({ tenants, sha256: sum.digest('hex') })) })}\n`;
}

/**
 * Restores missing data of all or some tenants. The complete file is checked first: a damaged file restores no data. A failure of one
 * tenant does not affect other tenants.
 * @param lines reads the file, each time from the beginning
 * @param only the requested tenants; null for every tenant of the file
 * @throws MirrorError `contract`, code `backup-damaged`; `settings`, code `backup-unknown`, `state-damaged`
 */
export async function restoreAll(
  acting: Acting,
  { installation, backups }: { installation: Installation; backups: AllBackups },
  lines: () => AsyncIterable<string>,
  only: readonly string[] | null,
): Promise<AllRestored> {
  const { at, tenants } = await lookThrough(lines(), backups);
  const wanted = new Set(only ?? tenants);
  const restored: (Restored & { tenant: string })[] = [];
  const failed = [...wanted]
    .filter((tenant) => !tenants.includes(tenant))
    .map((tenant) => ({ tenant, code: 'not-in-backup' }));
  for await (const line of lines()) {
    const { tenant, sealed } = entryOf(line);
    if (tenant === null || !wanted.has(tenant)) continue;
    try {
      restored.push({ tenant, ...(await restoreBackup(acting, { installation, backups }, tenant, sealed)) });
    } catch (error) {
      failed.push({ tenant, code: error instanceof ConfigurationError ? error.code : asMirrorError(error).code });
    }
  }
  return { at, restored, failed };
}

/** Checks that a file is complete, and returns its tenants. */
async function lookThrough(
  lines: AsyncIterable<string>,
  backups: AllBackups,
): Promise<{ at: string; tenants: string[] }> {
  const sum = createHash('sha256');
  const tenants: string[] = [];
  let head: BackupHead | null = null;
  let end: string | null = null;
  for await (const line of lines) {
    if (line === '') continue;
    if (end !== null) throw damaged(message('backup-damaged.after-end'));
    head ??= headOf(line);
    const entry = entryOf(line);
    end = entry.end;
    if (entry.tenant !== null) tenants.push(entry.tenant);
    if (end === null) sum.update(`${line}\n`);
  }
  if (head === null || end === null) throw damaged(message('backup-damaged.no-end'));
  const trailer = parseJson(backups.open(end)) as { tenants: number; sha256: string };
  if (trailer.tenants !== tenants.length || trailer.sha256 !== sum.digest('hex'))
    throw damaged(message('backup-damaged.changed'));
  return { at: head.at, tenants };
}

function headOf(line: string): BackupHead {
  const head = parseJson(line) as Partial<BackupHead> | undefined;
  if (head?.format === HEAD.format && head.version === HEAD.version && head.at !== undefined) return head as BackupHead;
  throw new MirrorError(message('backup-unknown'), {
    ...{ actor: 'settings', code: 'backup-unknown', retry: 'never' },
    remedy: message('backup-unknown.remedy'),
  });
}

function entryOf(line: string): { tenant: string | null; sealed: string; end: string | null } {
  const value = (parseJson(line) ?? {}) as { tenant?: unknown; sealed?: unknown; end?: unknown };
  const textOf = (part: unknown) => (typeof part === 'string' ? part : null);
  return { tenant: textOf(value.tenant), sealed: textOf(value.sealed) ?? '', end: textOf(value.end) };
}

function damaged(how: Text): MirrorError {
  return new MirrorError(message('backup-damaged', { how }), {
    ...{ actor: 'contract', code: 'backup-damaged', retry: 'never' },
    remedy: message('backup-damaged.remedy'),
  });
}
