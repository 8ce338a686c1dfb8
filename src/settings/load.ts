import { join } from 'node:path';
import { type ClinicProfile, clinicProfileSchema } from './clinic-profile.ts';
import {
  type ChannelDescription,
  type Configuration,
  type ConnectorDescription,
  deepFreeze,
  type TenantSetAside,
} from './configuration.ts';
import { CLIENT_SECTIONS, type ClientSection, checkSettingsReferences, type KnownClient } from './cross-checks.ts';
import { checkFile } from './describe-issue.ts';
import { ConfigurationError, type ConfigurationFault } from './faults.ts';
import { listYamlFiles } from './list-files.ts';
import { secretSchemas } from './secret-reference.ts';
import { type Settings, settingsSchema } from './settings-schema.ts';
import { buildTenant, findDoubleTenants, readTenantFiles } from './tenants.ts';
import { keysAt, readYamlFile, type YamlFile } from './yaml-file.ts';

/** File of the daemon's own settings, in the configuration directory. */
export const SETTINGS_FILE = 'clinic-mirror.yaml';

/** What {@link loadConfiguration} needs. */
export interface LoadOptions {
  /** Directory with `clinic-mirror.yaml`, `tenants/` and `profiles/`. */
  dir: string;
  env: Readonly<Record<string, string | undefined>>;
  connectors: ReadonlyMap<string, ConnectorDescription>;
  reminderChannels: ReadonlyMap<string, ChannelDescription>;
  /**
   * `strict`: any fault of any file is thrown. `set-aside`: a tenant with faults, or whose clinic profile has some, is left
   * out and listed, so that it stops no other; only faults of the settings are thrown.
   */
  mode: 'strict' | 'set-aside';
}

/**
 * Reads and checks the whole configuration, secrets included.
 * @throws ConfigurationError with all faults of all files; the operator must act
 */
export function loadConfiguration(options: LoadOptions): Configuration {
  const profiles = readProfiles(options.dir);
  const settings = readSettings(options, [...profiles.valid.keys(), ...profiles.broken.keys()]);
  const tenants = readTenantFiles(options.dir, secretSchemas(options), {
    clinicClients: settings.file && keysAt(settings.file, ['clinicClients']),
    vendorClients: settings.file && vendorClients(settings.file),
    connectors: options.connectors,
    reminderChannels: options.reminderChannels,
    publicUrl: settings.file?.valueAt(['http', 'publicUrl']),
    consents(clinicClient) {
      const profile = profiles.valid.get(String(settings.file?.valueAt(['clinicClients', clinicClient, 'profile'])));
      return profile === undefined ? null : Object.keys(profile.patients.consents);
    },
  });
  const rivals = options.mode === 'strict' ? tenants : tenants.filter((tenant) => tenant.faults.length === 0);
  const doublesOf = findDoubleTenants(rivals);
  const read = tenants.map((tenant) => ({ ...tenant, faults: [...tenant.faults, ...doublesOf(tenant)] }));
  const everyFault = [
    ...settings.faults,
    ...[...profiles.broken.values()].flat(),
    ...profiles.strayFaults,
    ...read.flatMap((tenant) => tenant.faults),
  ];
  if (settings.value === null || (options.mode === 'strict' && everyFault.length > 0)) {
    throw new ConfigurationError(everyFault);
  }
  const usable = settings.value;
  const setAside = read.flatMap((tenant): TenantSetAside[] => {
    const client = usable.clinicClients.get(String(tenant.file?.valueAt(['clinic', 'client'])));
    const faults = [...tenant.faults, ...(profiles.broken.get(client?.profile ?? '') ?? [])];
    return faults.length === 0 ? [] : [{ id: tenant.id, faults }];
  });
  const isSetAside = new Set(setAside.map(({ id }) => id));
  const built = read.flatMap((tenant) => (isSetAside.has(tenant.id) ? [] : [buildTenant(tenant, usable)]));
  return deepFreeze({
    settings: usable,
    tenants: new Map(built.map((tenant) => [tenant.id, tenant])),
    profiles: profiles.valid,
    setAside,
  });
}

function vendorClients(file: YamlFile): Record<ClientSection, ReadonlyMap<string, KnownClient>> {
  const sections = Object.keys(CLIENT_SECTIONS) as ClientSection[];
  const read = sections.map((section): [ClientSection, ReadonlyMap<string, KnownClient>] => {
    const partOf = (client: string, part: string) => file.valueAt([section, client, part]);
    const known = (client: string): KnownClient => ({
      hasSecret: partOf(client, 'clientSecret') !== undefined,
      hasCertificate: partOf(client, 'certificate') !== undefined,
      loginUrl: partOf(client, 'loginUrl'),
    });
    return [section, new Map(keysAt(file, [section]).map((client) => [client, known(client)]))];
  });
  return Object.fromEntries(read) as Record<ClientSection, ReadonlyMap<string, KnownClient>>;
}

interface ReadSettings {
  file: YamlFile | null;
  value: Settings | null;
  faults: ConfigurationFault[];
}

function readSettings(options: LoadOptions, profiles: readonly string[]): ReadSettings {
  const read = readYamlFile(join(options.dir, SETTINGS_FILE));
  if ('faults' in read) return { file: null, value: null, faults: read.faults };
  const checked = checkFile(read.file, settingsSchema(secretSchemas(options)));
  const ownFaults = 'faults' in checked ? checked.faults : [];
  const faults = [...ownFaults, ...checkSettingsReferences(read.file, profiles)];
  return { file: read.file, value: 'value' in checked && faults.length === 0 ? checked.value : null, faults };
}

/**
 * One clinic profile, without the rest of the configuration; `documented` is built in where there is no such file.
 * @throws ConfigurationError when the file has faults or, for another name, when there is none
 */
export function loadProfile(dir: string, name: string): ClinicProfile {
  const { valid, broken } = readProfiles(dir);
  const faults = broken.get(name);
  if (faults !== undefined) throw new ConfigurationError(faults);
  const profile = valid.get(name) ?? (name === 'documented' ? clinicProfileSchema.parse({}) : undefined);
  if (profile !== undefined) return profile;
  const remedy = `choose one of: ${[...valid.keys()].join(', ') || 'documented'}`;
  const file = join(dir, 'profiles', `${name}.yaml`);
  throw new ConfigurationError([{ file, line: null, path: '', message: 'there is no such profile', remedy }]);
}

interface ReadProfiles {
  valid: Map<string, ClinicProfile>;
  broken: Map<string, ConfigurationFault[]>;
  /** Files that stand in the directory under a name that no profile can have. */
  strayFaults: ConfigurationFault[];
}

function readProfiles(dir: string): ReadProfiles {
  const listed = listYamlFiles(join(dir, 'profiles'));
  const profiles: ReadProfiles = { valid: new Map(), broken: new Map(), strayFaults: listed.faults };
  for (const { id, fileName } of listed.files) {
    const read = readYamlFile(fileName);
    const checked = 'faults' in read ? read : checkFile(read.file, clinicProfileSchema);
    if ('faults' in checked) profiles.broken.set(id, checked.faults);
    else profiles.valid.set(id, checked.value);
  }
  return profiles;
}
