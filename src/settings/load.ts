import { hash } from 'node:crypto';
import { join } from 'node:path';
import { type ClinicProfile, clinicProfileSchema } from './clinic-profile.ts';
import {
  type ChannelDescription,
  type Configuration,
  type ConnectorDescription,
  deepFreeze,
  type TenantSetAside,
} from './configuration.ts';
import {
  CLIENT_SECTIONS,
  type ClientSection,
  checkSettingsReferences,
  type KnownClient,
  type KnownNames,
} from './cross-checks.ts';
import { checkFile } from './describe-issue.ts';
import { ConfigurationError, type ConfigurationFault } from './faults.ts';
import { listYamlFiles } from './list-files.ts';
import { OnDemand } from './on-demand.ts';
import { programDigest } from './program-digest.ts';
import { type SecretSchemas, secretSchemas } from './secret-reference.ts';
import { type Settings, settingsSchema } from './settings-schema.ts';
import { findDoubleTenants, openTenantFiles } from './tenants.ts';
import { openVerdicts, type Verdict } from './verdicts.ts';
import { keysAt, readBytes, readYaml, type YamlFile } from './yaml-file.ts';

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
 * Reads and checks the whole configuration, secrets included. Where there is a data directory, a tenant's file that is as it was when it
 * was found to be without faults is neither parsed nor checked again, as long as all that decides is as it was.
 * @throws ConfigurationError with all faults of all files; the operator must act
 */
export function loadConfiguration(options: LoadOptions): Configuration {
  const { dir, mode } = options;
  const secrets = secretSchemas(options);
  const profiles = readProfiles(dir);
  const settings = readSettings(dir, secrets, [...profiles.valid.keys(), ...profiles.broken.keys()]);
  const usable = settings.value === null ? null : { settings: settings.value, profiles: profiles.valid };
  const verdicts =
    usable === null
      ? null
      : openVerdicts({
          dir,
          dataDirectory: usable.settings.dataDirectory ?? null,
          identityKey: usable.settings.secrets.identityKey.reveal(),
          surroundings: () => surroundingsOf(options, settings, profiles),
          secretAt: secrets.secretAt,
        });
  const files = openTenantFiles({
    dir,
    secrets,
    known: knownNames(options, settings, profiles),
    usable: usable === null || verdicts === null ? null : { ...usable, verdicts },
  });
  const tenants = files.read();
  const judged = new Map(tenants.flatMap(({ id, verdict }) => (verdict === null ? [] : [[id, verdict] as const])));
  verdicts?.keep(judged, { makeDirectory: mode === 'set-aside' });
  const rivals = mode === 'strict' ? tenants : tenants.filter((tenant) => tenant.faults.length === 0);
  const doublesOf = findDoubleTenants(rivals);
  const read = tenants.map((tenant) => ({ ...tenant, faults: [...tenant.faults, ...doublesOf(tenant)] }));
  const everyFault = [
    ...settings.faults,
    ...[...profiles.broken.values()].flat(),
    ...profiles.strayFaults,
    ...read.flatMap((tenant) => tenant.faults),
  ];
  if (usable === null || (mode === 'strict' && everyFault.length > 0)) throw new ConfigurationError(everyFault);
  const setAside = read.flatMap((tenant): TenantSetAside[] => {
    const client = usable.settings.clinicClients.get(String(tenant.clinic.client));
    const faults = [...tenant.faults, ...(profiles.broken.get(client?.profile ?? '') ?? [])];
    return faults.length === 0 ? [] : [{ id: tenant.id, faults }];
  });
  for (const { id } of setAside) judged.delete(id);
  const open = (id: string) => files.open(judged.get(id) as Verdict);
  return {
    ...deepFreeze({ settings: usable.settings, profiles: profiles.valid, setAside }),
    outlines: new Map([...judged].map(([id, { outline }]) => [id, outline])),
    tenants: new OnDemand(judged.keys(), open, { keep: 0 }),
  };
}

function knownNames(options: LoadOptions, { file }: ReadSettings, profiles: ReadProfiles): KnownNames {
  return {
    clinicClients: file && keysAt(file, ['clinicClients']),
    vendorClients: file && vendorClients(file),
    connectors: options.connectors,
    reminderChannels: options.reminderChannels,
    publicUrl: file?.valueAt(['http', 'publicUrl']),
    consents(clinicClient) {
      const profile = profiles.valid.get(String(file?.valueAt(['clinicClients', clinicClient, 'profile'])));
      return profile === undefined ? null : Object.keys(profile.patients.consents);
    },
  };
}

/** Digest of all that decides what is found in a tenant's file, beside the file and its secrets. */
function surroundingsOf(options: LoadOptions, settings: ReadSettings, { digests }: ReadProfiles): string {
  const modules = [...options.connectors.keys(), ...options.reminderChannels.keys()];
  return hash('sha256', JSON.stringify([programDigest(), settings.digest, [...digests], modules]));
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
  /** SHA-256 of the file's bytes. */
  digest: string;
  file: YamlFile | null;
  value: Settings | null;
  faults: ConfigurationFault[];
}

function readSettings(dir: string, secrets: SecretSchemas, profiles: readonly string[]): ReadSettings {
  const read = readDigested(join(dir, SETTINGS_FILE));
  const { digest } = read;
  if ('faults' in read) return { digest, file: null, value: null, faults: read.faults };
  const checked = checkFile(read.file, settingsSchema(secrets));
  const ownFaults = 'faults' in checked ? checked.faults : [];
  const faults = [...ownFaults, ...checkSettingsReferences(read.file, profiles)];
  return { digest, file: read.file, value: 'value' in checked && faults.length === 0 ? checked.value : null, faults };
}

/** A file with the SHA-256 of its bytes, empty when they can't be had. */
function readDigested(fileName: string) {
  const read = readBytes(fileName);
  if ('faults' in read) return { digest: '', ...read };
  return { digest: hash('sha256', read.bytes), ...readYaml(fileName, read.bytes) };
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
  /** SHA-256 of each file's bytes. */
  digests: Map<string, string>;
  /** Files that stand in the directory under a name that no profile can have. */
  strayFaults: ConfigurationFault[];
}

function readProfiles(dir: string): ReadProfiles {
  const listed = listYamlFiles(join(dir, 'profiles'));
  const profiles: ReadProfiles = {
    ...{ valid: new Map(), broken: new Map(), digests: new Map() },
    strayFaults: listed.faults,
  };
  for (const { id, fileName } of listed.files) {
    const read = readDigested(fileName);
    profiles.digests.set(id, read.digest);
    const checked = 'faults' in read ? read : checkFile(read.file, clinicProfileSchema);
    if ('faults' in checked) profiles.broken.set(id, checked.faults);
    else profiles.valid.set(id, checked.value);
  }
  return profiles;
}
