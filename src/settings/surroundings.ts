import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ClinicProfile, clinicProfileSchema } from '../clinic/schema/profile.ts';
import { message, withRemedy } from '../messages/message.ts';
import type { ChannelDescription, ConnectorDescription } from './configuration.ts';
import {
  CLIENT_SECTIONS,
  type ClientSection,
  checkSettingsReferences,
  type DefinedNames,
  type RegisteredClient,
} from './cross-checks.ts';
import { checkFile } from './describe-issue.ts';
import { ConfigurationError, type ConfigurationFault, faultIn } from './faults.ts';
import { listYamlFiles, SeenFiles } from './list-files.ts';
import { referencesIn, type SecretReference, type SecretSchemas } from './secret-reference.ts';
import { type Settings, settingsSchema } from './settings-schema.ts';
import { CLINIC_CONNECTION } from './tenant-schema.ts';
import { keysAt, readBytes, readYaml, readYamlFile, type YamlFile } from './yaml-file.ts';

/** File of the settings in the configuration directory. */
export const SETTINGS_FILE = 'clinic-mirror.yaml';

/** Returns the path of a clinic profile in the configuration directory. The built-in profile needs no file. */
export function profileFile(name: string): string {
  return `profiles/${name}.yaml`;
}

/** Options for reading a configuration. */
export interface ReadOptions {
  /** Directory with `clinic-mirror.yaml`, `tenants/` and `profiles/`. */
  dir: string;
  env: Readonly<Record<string, string | undefined>>;
  connectors: ReadonlyMap<string, ConnectorDescription>;
  reminderChannels: ReadonlyMap<string, ChannelDescription>;
}

/** Settings and profiles, which all tenants depend on. */
export interface SettingsAndProfiles {
  settings: ReadSettings;
  profiles: ReadProfiles;
  definedNames: DefinedNames;
  /** Digest of all these files. */
  digest: string;
}

/** Reads settings and profiles. Unchanged parts, or the whole, remain the same object. */
export function readSettingsAndProfiles(
  options: ReadOptions,
  secrets: SecretSchemas,
  seen: SeenFiles,
  before: SettingsAndProfiles | null = null,
): SettingsAndProfiles {
  const listed = listProfiles(options.dir, seen);
  const read = readSettings(options.dir, seen);
  const settings = settingsOf(read, secrets, namesOf(listed), before);
  const digest = JSON.stringify([settings.digest, digestsOf(listed)]);
  const profiles = checkProfiles(listed, before?.profiles);
  if (before !== null && settings === before.settings && profiles === before.profiles) return before;
  return { settings, profiles, definedNames: definedNames(options, settings, profiles), digest };
}

/** Replaces faulty profiles by their earlier content; returns its argument without faults. */
export function withProfilesOfBefore(
  options: ReadOptions,
  settingsAndProfiles: SettingsAndProfiles,
  before: ReadonlyMap<string, ClinicProfile>,
): SettingsAndProfiles {
  const { settings, profiles } = settingsAndProfiles;
  const mended = [...before].filter(([id]) => profiles.broken.has(id));
  if (mended.length === 0) return settingsAndProfiles;
  const broken = new Map([...profiles.broken].filter(([id]) => !before.has(id)));
  const both = { ...profiles, valid: new Map([...profiles.valid, ...mended]), broken };
  return { ...settingsAndProfiles, profiles: both, definedNames: definedNames(options, settings, both) };
}

/** Returns the faults of a clinic client's profile. */
export function profileFaults({ settings, profiles }: SettingsAndProfiles, client: unknown): ConfigurationFault[] {
  const profile = settings.value?.clinicClients.get(String(client))?.profile ?? '';
  return profiles.broken.get(profile) ?? [];
}

function definedNames(options: ReadOptions, { file, value }: ReadSettings, profiles: ReadProfiles): DefinedNames {
  const profileOf = (clinicClient: string) =>
    profiles.valid.get(String(file?.valueAt(['clinicClients', clinicClient, 'profile'])));
  return {
    clinicClients: file && keysAt(file, ['clinicClients']),
    vendorClients: file && vendorClients(file),
    connectors: options.connectors,
    reminderChannels: options.reminderChannels,
    outbound: value?.outbound ?? null,
    publicUrl: file?.valueAt(['http', 'publicUrl']),
    consents(clinicClient) {
      const profile = profileOf(clinicClient);
      return profile === undefined ? null : Object.keys(profile.patients.consents);
    },
    links(clinicClient) {
      const { pageUrl, teleVisitUrl } = profileOf(clinicClient)?.appointments ?? {};
      if (pageUrl === undefined || teleVisitUrl === undefined) return null;
      return { page: pageUrl !== null, teleVisit: teleVisitUrl.length > 0 };
    },
  };
}

function vendorClients(file: YamlFile): Record<ClientSection, ReadonlyMap<string, RegisteredClient>> {
  const sections = Object.keys(CLIENT_SECTIONS) as ClientSection[];
  const read = sections.map((section): [ClientSection, ReadonlyMap<string, RegisteredClient>] => {
    const partOf = (client: string, part: string) => file.valueAt([section, client, part]);
    const found = (client: string): RegisteredClient => ({
      hasSecret: partOf(client, 'clientSecret') !== undefined,
      hasCertificate: partOf(client, 'certificate') !== undefined,
      loginUrl: partOf(client, 'loginUrl'),
    });
    return [section, new Map(keysAt(file, [section]).map((client) => [client, found(client)]))];
  });
  return Object.fromEntries(read) as Record<ClientSection, ReadonlyMap<string, RegisteredClient>>;
}

/** The readable part of the settings. */
export interface ReadSettings {
  /** SHA-256 of the file's bytes. */
  digest: string;
  file: YamlFile | null;
  value: Settings | null;
  faults: ConfigurationFault[];
  /** Every secret in the file at that time. */
  secrets: readonly (readonly [SecretReference, string | null])[];
}

function settingsOf(
  { digest, parse }: Digested,
  secrets: SecretSchemas,
  profileNames: readonly string[],
  before: SettingsAndProfiles | null,
): ReadSettings {
  const isUnchanged =
    before?.settings.digest === digest &&
    before.settings.secrets.every(([reference, value]) => secrets.secretAt(reference) === value) &&
    JSON.stringify([...before.profiles.digests.keys()]) === JSON.stringify(profileNames);
  if (isUnchanged) return before.settings;
  const read = parse();
  if ('faults' in read) return { digest, file: null, value: null, faults: read.faults, secrets: [] };
  const checked = checkFile(read.file, settingsSchema(secrets));
  const ownFaults = 'faults' in checked ? checked.faults : [];
  const file = 'meant' in checked ? checked.meant : read.file;
  const faults = [...ownFaults, ...checkSettingsReferences(file, profileNames)];
  const value = 'value' in checked && faults.length === 0 ? checked.value : null;
  const named = referencesIn(read.file.value).map((where) => [where, secrets.secretAt(where)] as const);
  return { digest, file, value, faults, secrets: named };
}

/** A file with the SHA-256 of its bytes, empty if unreadable; parsed at first use. */
interface Digested {
  digest: string;
  parse(): ReturnType<typeof readYaml>;
}

function readDigested(fileName: string, seen: SeenFiles): Digested {
  seen.isAsBefore(fileName);
  const read = readBytes(fileName);
  if ('faults' in read) return { digest: '', parse: () => read };
  return { digest: hash('sha256', read.bytes), parse: () => readYaml(fileName, read.bytes) };
}

function readSettings(dir: string, seen: SeenFiles): Digested {
  const fileName = join(dir, SETTINGS_FILE);
  const read = readDigested(fileName, seen);
  if (existsSync(fileName)) return read;
  const fault = faultIn(fileName, message('yaml.no-such-file'), message('settings.no-settings.remedy'));
  return { ...read, parse: () => ({ faults: [fault] }) };
}

/** The readable profiles. */
export interface ReadProfiles {
  valid: Map<string, ClinicProfile>;
  broken: Map<string, ConfigurationFault[]>;
  /** SHA-256 of each file's bytes. */
  digests: Map<string, string>;
  /** Faults of files with invalid names. */
  strayFaults: ConfigurationFault[];
}

/** The profile files with their bytes. */
interface ListedProfiles {
  files: (Digested & { id: string })[];
  strayFaults: ConfigurationFault[];
}

function listProfiles(dir: string, seen: SeenFiles): ListedProfiles {
  const listed = listYamlFiles(join(dir, 'profiles'));
  for (const { file } of listed.faults) seen.isAsBefore(file);
  const files = listed.files.map(({ id, fileName }) => ({ id, ...readDigested(fileName, seen) }));
  return { files, strayFaults: listed.faults };
}

function readProfiles(dir: string, seen: SeenFiles): ReadProfiles {
  return checkProfiles(listProfiles(dir, seen));
}

/** Reuses the objects of unchanged profiles, and of an unchanged whole. */
function checkProfiles(listed: ListedProfiles, before?: ReadProfiles): ReadProfiles {
  const digests = new Map(digestsOf(listed));
  const profiles: ReadProfiles = { valid: new Map(), broken: new Map(), digests, strayFaults: listed.strayFaults };
  for (const { id, digest, parse } of listed.files) {
    const found = before?.digests.get(id) === digest ? before.valid.get(id) : undefined;
    const checked = found === undefined ? checkProfile(parse()) : { value: found };
    if ('faults' in checked) profiles.broken.set(id, checked.faults);
    else profiles.valid.set(id, checked.value);
  }
  const serialize = (one: ReadProfiles) => JSON.stringify([[...one.digests], one.strayFaults]);
  return before !== undefined && serialize(before) === serialize(profiles) ? before : profiles;
}

function checkProfile(read: ReturnType<typeof readYaml>) {
  return 'faults' in read ? read : checkFile(read.file, clinicProfileSchema);
}

function namesOf({ files }: ListedProfiles): string[] {
  return files.map(({ id }) => id);
}

function digestsOf({ files }: ListedProfiles): [string, string][] {
  return files.map(({ id, digest }) => [id, digest]);
}

/**
 * Reads one clinic profile without the rest of the configuration; `documented` is built in unless a file exists.
 * @throws ConfigurationError when the file has faults or, for another name, is missing
 */
export function loadProfile(dir: string, name: string): ClinicProfile {
  const { valid, broken } = readProfiles(dir, new SeenFiles());
  const faults = broken.get(name);
  if (faults !== undefined) throw new ConfigurationError(faults);
  const profile = valid.get(name) ?? (name === 'documented' ? clinicProfileSchema.parse({}) : undefined);
  if (profile !== undefined) return profile;
  const names = [...valid.keys()].join(', ') || 'documented';
  const file = join(dir, 'profiles', `${name}.yaml`);
  throw new ConfigurationError([faultIn(file, ...withRemedy('settings.no-profile', { names }))]);
}

/** Returns names in the configuration files; skips unreadable files. */
export function configuredNames(dir: string) {
  const folder = join(dir, 'tenants');
  const keysOf = (tenant: string, part: string) => {
    const read = readYamlFile(join(folder, `${tenant}.yaml`));
    return 'file' in read ? keysAt(read.file, [part]) : [];
  };
  return {
    tenants: () => listYamlFiles(folder).files.map(({ id }) => id),
    targets: (tenant: string) => keysOf(tenant, 'targets'),
    connections: (tenant: string) => [CLINIC_CONNECTION, ...keysOf(tenant, 'connections')],
  };
}
