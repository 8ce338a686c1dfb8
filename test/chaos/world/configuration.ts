import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

/** The content of a tenant file, as far as it is changed while a script runs. */
export interface TenantFile {
  name: string;
  connections: Record<string, object>;
  targets: Record<string, TargetFile>;
  [part: string]: unknown;
}

/** A target in a tenant file. */
export interface TargetFile {
  connector: string;
  agendas?: string[];
  paused?: boolean;
  formerly?: string;
  [part: string]: unknown;
}

const PROFILE = fileURLToPath(new URL('../../../config/profiles/documented.yaml', import.meta.url));
/** So few that every list is read in several pages, or in many. */
const PAGE_ROWS = { usual: 12, scarce: 3 };

/** Writes settings, profile and tenants' files. */
export async function writeConfiguration(
  dir: string,
  settings: object,
  tenants: ReadonlyMap<string, TenantFile>,
  rows: keyof typeof PAGE_ROWS,
): Promise<void> {
  await mkdir(join(dir, 'tenants'), { recursive: true });
  await mkdir(join(dir, 'profiles'), { recursive: true });
  await writeFile(join(dir, 'clinic-mirror.yaml'), stringify(settings));
  const profile = parse(await readFile(PROFILE, 'utf8')) as { paging: object };
  Object.assign(profile.paging, { size: PAGE_ROWS[rows] });
  await writeFile(join(dir, 'profiles', 'documented.yaml'), stringify(profile));
  for (const [tenant, file] of tenants) await writeFile(pathOf(dir, tenant), stringify(file));
}

/** Changes a tenant's file; a daemon that starts later reads it so, and one that runs follows it in seconds. */
export async function editTenant(dir: string, tenant: string, edit: (file: TenantFile) => void): Promise<void> {
  const file = parse(await readFile(pathOf(dir, tenant), 'utf8')) as TenantFile;
  edit(file);
  await writeFile(pathOf(dir, tenant), stringify(file));
}

function pathOf(dir: string, tenant: string): string {
  return join(dir, 'tenants', `${tenant}.yaml`);
}
