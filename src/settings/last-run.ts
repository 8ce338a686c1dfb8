import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { derivedKey } from '../core/model/hashes.ts';
import type { TenantOutline } from './configuration.ts';
import type { Settings } from './settings-schema.ts';
import type { CheckedTenant } from './tenants.ts';

/** A process runs tenants by the files, or uses the tenants of a daemon. */
export type FileUse = 'daemon' | 'command';

/** Content by which a daemon runs tenants: tenant files and clinic profiles with all defaults, by file name. */
export interface LastRun {
  tenants: ReadonlyMap<string, CheckedTenant>;
  profiles: ReadonlyMap<string, ClinicProfile>;
}

/** For processes that do not use a daemon's tenants. */
export const NO_LAST_RUN: LastRun = { tenants: new Map(), profiles: new Map() };

/** The second line of the file, as JSON. Each further line is the content of a tenant's file as JSON, in the same order. */
interface Index {
  outlines: TenantOutline[];
  profiles: [name: string, ClinicProfile][];
}

/**
 * Reads the last run of a daemon: for a file with faults, commands use its earlier content, like the daemon. The content is checked again
 * under the settings of the command. The first line is an HMAC of the rest, so a damaged or forged file is ignored.
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

/** Stores the run of this daemon, with references to secrets but without secrets. */
export function writeLastRun(dir: string, settings: Settings, { tenants, profiles }: LastRun): void {
  const file = fileOf(dir, settings);
  if (file === null) return;
  const all = [...tenants.values()];
  const index: Index = {
    outlines: all.map(({ outline }) => outline),
    // Other profiles would not survive JSON.
    profiles: [...profiles].filter(([, profile]) => isDeepStrictEqual(JSON.parse(JSON.stringify(profile)), profile)),
  };
  const body = [JSON.stringify(index), ...all.map(({ json }) => json)].join('\n');
  try {
    mkdirSync(dirname(file), { recursive: true });
    const unnamed = `${file}.${process.pid}`;
    writeFileSync(unnamed, `${proofOf(settings, body)}\n${body}`, { mode: 0o600 });
    renameSync(unnamed, file);
  } catch {
    // Commands skip a tenant whose file has faults.
  }
}

/** Null without a data directory. Each configuration directory has a separate file. */
function fileOf(dir: string, { dataDirectory }: Settings): string | null {
  return dataDirectory === undefined
    ? null
    : join(dataDirectory, `running-${hash('sha256', resolve(dir)).slice(0, 16)}`);
}

function proofOf({ secrets }: Settings, body: string): string {
  const key = derivedKey(secrets.identityKey.reveal(), '', 'last run');
  return createHmac('sha256', key()).update(body).digest('base64url');
}
