import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import type { ClinicSandbox } from '../sandbox/clinic/index.ts';
import type { GoogleSandbox } from '../sandbox/google/index.ts';
import type { GraphSandbox } from '../sandbox/graph/index.ts';
import { ON_THIS_MACHINE } from '../sandbox/kit/outbound.ts';
import { slices } from '../src/core/model/pieces.ts';

/** A clinic that clients are registered with. */
type Clinic = Pick<ClinicSandbox, 'authUrl' | 'baseUrl' | 'clients'>;

/** Servers that clients are registered with. */
export interface RegisteringServers {
  clinic: Clinic;
  google: GoogleSandbox;
  graph: GraphSandbox;
}

/** Files that are open at the same time. */
const WRITTEN_AT_ONCE = 100;
const PROFILES = fileURLToPath(new URL('../config/profiles', import.meta.url));

/** Settings without registrations, with all servers on this host. */
export function localSettings() {
  return {
    redis: { url: { env: 'REDIS_URL' } },
    outbound: ON_THIS_MACHINE,
    operator: { port: 0 },
    secrets: {
      identityKey: { env: 'CLINIC_MIRROR_IDENTITY_KEY' },
      sealingKeys: [{ id: 'k1', key: { env: 'CLINIC_MIRROR_SEALING_KEY' } }],
    },
  };
}

/** The registration with a clinic. */
export function clinicClient({ baseUrl, authUrl, clients }: Clinic, changes: object = {}): object {
  return {
    ...{ profile: 'documented', baseUrl, authUrl },
    clientId: clients[0]?.clientId ?? '',
    clientSecret: { env: 'CLINIC_CLIENT_SECRET' },
    ...changes,
  };
}

/** Settings with a client named `main` at each server. @param entraUrl URL of Microsoft's sign-in */
export function registeredSettings(
  { clinic, google, graph }: RegisteringServers,
  changesOfClinicClient: object,
  entraUrl = graph.url,
) {
  return {
    ...localSettings(),
    clinicClients: { main: clinicClient(clinic, changesOfClinicClient) },
    googleClients: {
      main: { issuer: google.issuer, clientId: google.client.clientId, clientSecret: { env: 'GOOGLE_CLIENT_SECRET' } },
    },
    microsoftClients: {
      main: {
        ...{ authority: entraUrl, clientId: graph.application.clientId },
        clientSecret: { env: 'MICROSOFT_CLIENT_SECRET' },
      },
    },
  };
}

/** Keys in base64 that {@link localSettings} name. Default: the same in each run. */
export function keysOf(identityKey = Buffer.alloc(32, 1), sealingKey = Buffer.alloc(32, 2)): Record<string, string> {
  return {
    CLINIC_MIRROR_IDENTITY_KEY: identityKey.toString('base64'),
    CLINIC_MIRROR_SEALING_KEY: sealingKey.toString('base64'),
  };
}

/** Secrets of the clients that {@link registeredSettings} name. */
export function clientSecretsOf({ clinic, google, graph }: RegisteringServers): Record<string, string> {
  return {
    CLINIC_CLIENT_SECRET: clinic.clients[0]?.clientSecret ?? '',
    GOOGLE_CLIENT_SECRET: google.client.clientSecret,
    MICROSOFT_CLIENT_SECRET: graph.application.clientSecret ?? '',
  };
}

/** Content of a configuration directory. */
export interface ConfigurationContent {
  settings: object;
  /** Tenants' files by id. */
  files: ReadonlyMap<string, object>;
  /** Clinic profile that is copied. Default: `documented`. */
  profile?: string;
  /** Rows of a page in the profile. Default: as the profile says. */
  pageRows?: number;
}

/** Writes the settings, the clinic profile and the tenants' files. */
export async function writeConfiguration(
  dir: string,
  { settings, files, profile = 'documented', pageRows }: ConfigurationContent,
): Promise<void> {
  for (const folder of ['tenants', 'profiles']) await mkdir(join(dir, folder), { recursive: true });
  await writeFile(join(dir, 'clinic-mirror.yaml'), stringify(settings, { aliasDuplicateObjects: false }));
  const text = await readFile(join(PROFILES, `${profile}.yaml`), 'utf8');
  await writeFile(join(dir, 'profiles', `${profile}.yaml`), pageRows === undefined ? text : withPages(text, pageRows));
  for (const some of slices([...files], WRITTEN_AT_ONCE)) {
    await Promise.all(
      some.map(([tenant, file]) =>
        writeFile(tenantFilePath(dir, tenant), stringify(file, { aliasDuplicateObjects: false })),
      ),
    );
  }
}

function withPages(text: string, size: number): string {
  const profile = parse(text) as { paging: object };
  return stringify({ ...profile, paging: { ...profile.paging, size } });
}

/** Changes a tenant's file. */
export async function editTenantFile<File>(
  dir: string,
  tenant: string,
  change: (file: File) => unknown,
): Promise<void> {
  const path = tenantFilePath(dir, tenant);
  const file = parse(await readFile(path, 'utf8')) as File;
  change(file);
  await writeFile(path, stringify(file, { aliasDuplicateObjects: false }));
}

/** Path of a tenant's file. */
export function tenantFilePath(dir: string, tenant: string): string {
  return join(dir, 'tenants', `${tenant}.yaml`);
}
