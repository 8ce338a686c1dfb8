import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { derivedKey } from '../model/hashes.ts';
import type { TenantOutline } from './configuration.ts';
import type { Settings } from './settings-schema.ts';
import type { CheckedTenant } from './tenants.ts';

/** A process runs tenants by the files, or works on what a daemon runs. */
export type FileUse = 'daemon' | 'command';

/** What a daemon runs tenants by, under the names of the files: tenants of files, and clinic profiles with every default filled in. */
export interface LastRun {
  tenants: ReadonlyMap<string, CheckedTenant>;
  profiles: ReadonlyMap<string, ClinicProfile>;
}

/** Of a process that does not work on what a daemon runs. */
export const NO_LAST_RUN: LastRun = { tenants: new Map(), profiles: new Map() };

/** The second line of the file, as JSON; behind it the content of each tenant's file as JSON, one a line in the same order. */
interface Index {
  outlines: TenantOutline[];
  profiles: [name: string, ClinicProfile][];
}

/**
 * Reads what a daemon ran last: where a file has faults, commands work on what it held before, as the daemon does. Its content is checked again
 * under the settings of the command. The first line is an HMAC of all that follows: a damaged file, or one that somebody else wrote, counts as none.
 */
export function readLastRun(dir: string, settings: Settings): LastRun {
  let text: string;
  try {
    text = readFileSync(fileOf(dir, settings) ?? '', 'utf8');
  } catch {
    return NO_LAST_RUN;
  }
  const end = text.indexOf('\n');
  const body = text.slice(end + 1);
  const [written, proof] = [Buffer.from(text.slice(0, end)), Buffer.from(proofOf(settings, body))];
  if (written.length !== proof.length || !timingSafeEqual(written, proof)) return NO_LAST_RUN;
  const [head = '', ...contents] = body.split('\n');
  const { outlines, profiles } = JSON.parse(head) as Index;
  const tenants = outlines.map((outline, index): [string, CheckedTenant] => [
    outline.id,
    { digest: '', secrets: [], outline, json: contents[index] ?? '', managed: null },
  ]);
  return { tenants: new Map(tenants), profiles: new Map(profiles) };
}

/** Writes what this daemon runs. The file holds no secret, only where secrets are. */
export function writeLastRun(dir: string, settings: Settings, { tenants, profiles }: LastRun): void {
  const file = fileOf(dir, settings);
  if (file === null) return;
  const all = [...tenants.values()];
  const index: Index = {
    outlines: all.map(({ outline }) => outline),
    // JSON would not give another one back as it is.
    profiles: [...profiles].filter(([, profile]) => isDeepStrictEqual(JSON.parse(JSON.stringify(profile)), profile)),
  };
  const body = [JSON.stringify(index), ...all.map(({ json }) => json)].join('\n');
  try {
    mkdirSync(dirname(file), { recursive: true });
    const unnamed = `${file}.${process.pid}`;
    writeFileSync(unnamed, `${proofOf(settings, body)}\n${body}`, { mode: 0o600 });
    renameSync(unnamed, file);
  } catch {
    // Commands set a tenant aside whose file has faults.
  }
}

/** Null without a data directory. Each configuration directory has its own file. */
function fileOf(dir: string, { dataDirectory }: Settings): string | null {
  return dataDirectory === undefined
    ? null
    : join(dataDirectory, `running-${hash('sha256', resolve(dir)).slice(0, 16)}`);
}

function proofOf({ secrets }: Settings, body: string): string {
  const key = derivedKey(secrets.identityKey.reveal(), '', 'last run');
  return createHmac('sha256', key()).update(body).digest('base64url');
}
