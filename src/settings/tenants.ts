import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { z } from 'zod';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { atOnce, type Pieces } from '../core/model/pieces.ts';
import { withRemedy } from '../messages/message.ts';
import {
  type CalendarUse,
  deepFreeze,
  type TargetConfiguration,
  type TenantConfiguration,
  type TenantOutline,
} from './configuration.ts';
import { calendarUses, configurationHashes, outlineOf } from './configuration-changes.ts';
import { checkTenantReferences, type DefinedNames } from './cross-checks.ts';
import { checkInPieces } from './describe-issue.ts';
import { ConfigurationError, type ConfigurationFault, faultIn } from './faults.ts';
import { listYamlFiles, type NamedFile, type SeenFiles } from './list-files.ts';
import { type ManagedTenant, type ManagedTenants, managedName, readManaged } from './managed-tenant.ts';
import type { ReminderFile } from './reminder-schema.ts';
import { referencesIn, type SecretReference } from './secret-reference.ts';
import type { GuardSettings, Settings } from './settings-schema.ts';
import { type TargetFile, type TenantFile, tenantSchema } from './tenant-schema.ts';
import type { TenantSecrets } from './tenant-secrets.ts';
import { fileOf, keysAt, readBytes, readYamlInPieces, type YamlFile, type YamlRead } from './yaml-file.ts';

/** A valid tenant file, or document of a managed tenant, with its results. */
export interface CheckedTenant {
  /** SHA-256 of the file's bytes, or the revision of a managed tenant. */
  digest: string;
  /** Every external secret at that time. */
  secrets: readonly (readonly [SecretReference, string | null])[];
  outline: TenantOutline;
  /** The file's content as JSON; empty for a managed tenant, whose document stays encrypted. */
  json: string;
  /** Null: of a file. */
  managed: ManagedTenant | null;
}

/** The readable part of a tenant's file or document. */
export interface ReadTenant {
  id: string;
  /** Name in faults. */
  fileName: string;
  /** Parses the source to locate faults. */
  yaml(): Pieces<YamlRead>;
  /** As written; missing parts are undefined. */
  clinic: { client: unknown; tenantId: unknown; calendars: readonly CalendarUse[] };
  formerly: unknown;
  faults: ConfigurationFault[];
  /** Null with faults of this file or of the settings. */
  checked: CheckedTenant | null;
}

/** Dependencies of tenant files. */
export interface TenantParts {
  /** The configuration directory. */
  dir: string;
  /** Tenants without a file. */
  managed: ManagedTenants;
  secrets: TenantSecrets;
  definedNames: DefinedNames;
  seen: SeenFiles;
  /** Tenants checked under equal settings and profiles; an unchanged file with unchanged secrets is not checked again. */
  earlier: ReadonlyMap<string, CheckedTenant>;
  /** Those of `earlier` whose file had other content at the last read. */
  refused: ReadonlySet<string>;
  /** Null if the settings have faults: then no tenant is usable. */
  usable: { settings: Settings; profiles: ReadonlyMap<string, ClinicProfile> } | null;
}

/** Files in `tenants/` of the configuration directory, and documents of managed tenants. */
export interface TenantFiles {
  /** Lists the tenants. @param only a single tenant to list */
  list(only?: string): ListedTenants;
  readManaged(tenant: ManagedTenant): Pieces<ReadTenant>;
  /** Checks earlier valid content under other settings and profiles. */
  checkAgain(checked: CheckedTenant): ReadTenant;
  /** Returns the complete configuration of a valid tenant with the settings' defaults. */
  open(checked: CheckedTenant): TenantConfiguration;
}

/** The tenants at a moment. */
export interface ListedTenants {
  /** Sorted. */
  ids: readonly string[];
  /** Returns the tenant; and a file that a managed tenant replaces. */
  read(id: string): Pieces<ReadTenant[]>;
  /** Faults of files that configure no tenant. */
  strays: readonly ReadTenant[];
}

/** For a file without a clinic. */
export const NO_CLINIC: ReadTenant['clinic'] = { client: undefined, tenantId: undefined, calendars: [] };

interface Schemas {
  tenant: ReturnType<typeof tenantSchema>;
  /** Schemas of reminder channel settings, by kind. */
  channels: ReadonlyMap<string, z.ZodType>;
}

/** Result of the schemas for a file. */
interface CheckedFile {
  /** Null if the schema found faults. */
  value: TenantFile | null;
  /** Checked settings of each target's connector. */
  vendorSettings: ReadonlyMap<string, unknown>;
  /** Checked settings of each reminder channel. */
  channelSettings: ReadonlyMap<string, unknown>;
  /** The file with corrected keys. */
  meant: YamlFile;
  faults: ConfigurationFault[];
}

/** A file or document with its identity and content. */
interface Found extends Pick<CheckedTenant, 'digest' | 'json' | 'managed'> {
  id: string;
}

/** An unparsed source of a tenant. */
interface Source extends Pick<Found, 'digest' | 'managed'> {
  yaml(): Pieces<YamlRead>;
}

/** Dependencies of document checks. */
interface Checking extends TenantParts {
  /** Created once at first use, which takes longer than checking a file. */
  schemas(): Schemas;
  /** Null if the settings have faults. */
  hashOf: ReturnType<typeof configurationHashes> | null;
}

export function openTenantFiles(parts: TenantParts): TenantFiles {
  const { dir, managed, secrets, definedNames, usable } = parts;
  const folder = join(dir, 'tenants');
  let made: Schemas | null = null;
  const schemas = () => {
    made ??= {
      tenant: tenantSchema(secrets),
      channels: new Map(
        [...definedNames.reminderChannels].map(([kind, module]) => [kind, module.settingsSchema(secrets)]),
      ),
    };
    return made;
  };
  const hashOf = usable === null ? null : configurationHashes(usable.settings, usable.profiles);
  const checking: Checking = { ...parts, schemas, hashOf };
  const nameOf = ({ managed: document, outline: { id } }: CheckedTenant) =>
    document === null ? join(folder, `${id}.yaml`) : managedName(id);

  function readManagedTenant(document: ManagedTenant): Pieces<ReadTenant> {
    const { id, revision } = document;
    const source = { digest: revision, managed: document, yaml: () => readManaged(document) };
    return readSource(checking, { id, fileName: managedName(id) }, source);
  }

  return {
    list(only) {
      const listed = listYamlFiles(folder);
      const files = new Map(listed.files.map((named) => [named.id, named]));
      const ids = new Set([...files.keys(), ...managed.keys()]);
      return {
        ids: only !== undefined && ids.has(only) ? [only] : [...ids].toSorted(),
        *read(id) {
          const [document, named] = [managed.get(id), files.get(id)];
          const read: ReadTenant[] = [];
          if (document !== undefined) read.push(yield* readManagedTenant(document));
          else if (named !== undefined) read.push(yield* readFile(checking, named));
          if (document !== undefined && named !== undefined) read.push(stray(outdone(named)));
          return read;
        },
        strays: listed.faults.map(stray),
      };
    },
    readManaged: readManagedTenant,
    checkAgain(checked) {
      const { digest, managed: document, outline } = checked;
      const found = { id: outline.id, digest, managed: document, json: contentOf(checked) };
      // The lines of the file possibly changed.
      const again = atOnce(
        check(checking, found, { name: nameOf(checked), lineOf: () => 0, yaml: () => withFaults([]) }),
      );
      return { ...again, faults: again.faults.map((fault) => ({ ...fault, line: null })) };
    },
    open(checked) {
      if (usable === null) throw new TypeError('a tenant is never opened under settings with faults');
      const { id } = checked.outline;
      const json = contentOf(checked);
      const file = fileOf(nameOf(checked), JSON.parse(json), () => json);
      const opened = secrets.as(id, () => atOnce(checkTenant(file, schemas(), definedNames)), checked.managed);
      if (opened.faults.length > 0) throw new ConfigurationError(opened.faults);
      return deepFreeze(buildTenant(id, opened, usable.settings, definedNames));
    },
  };
}

/** Returns the checked content of a tenant as JSON. @throws MirrorError when the document of a managed tenant does not open */
export function contentOf({ json, managed }: CheckedTenant): string {
  return managed === null ? json : managed.open().json;
}

/** Skips file and secrets while their stamps are unchanged. */
function* readFile(checking: Checking, named: NamedFile): Pieces<ReadTenant> {
  const { seen, earlier, refused, dir } = checking;
  const { id, fileName } = named;
  const checked = earlier.get(id);
  const isSame = seen.isAsBefore(fileName) && !refused.has(id);
  if (isSame && checked?.managed === null && areSecretFilesAsBefore(checked, seen, dir)) {
    return asChecked(named, checked);
  }
  const read = readBytes(fileName);
  if ('faults' in read) return withoutFile(id, fileName, read.faults);
  const { bytes } = read;
  const source = { digest: hash('sha256', bytes), managed: null, yaml: () => readYamlInPieces(fileName, bytes) };
  return yield* readSource(checking, named, source);
}

/** Checks all secret files, so that this read records every stamp. */
function areSecretFilesAsBefore({ secrets }: CheckedTenant, seen: SeenFiles, dir: string): boolean {
  const files = secrets.flatMap(([reference]) => ('file' in reference ? [resolve(dir, reference.file)] : []));
  return files.filter((file) => !seen.isAsBefore(file)).length === 0;
}

function* readSource(checking: Checking, named: NamedFile, source: Source): Pieces<ReadTenant> {
  const { id, fileName } = named;
  const { digest, managed } = source;
  const earlier = checking.earlier.get(id);
  if (earlier?.digest === digest && areSecretsAsBefore(checking, earlier)) return asChecked(named, earlier);
  const parsed = yield* source.yaml();
  if ('faults' in parsed) return withoutFile(id, fileName, parsed.faults);
  const json = JSON.stringify(parsed.file.value);
  yield;
  const { lineOf } = parsed;
  return yield* check(checking, { id, digest, json, managed }, { name: fileName, lineOf, yaml: source.yaml });
}

function areSecretsAsBefore({ secrets }: Checking, { outline, secrets: before, managed }: CheckedTenant): boolean {
  const isAsBefore = () => before.every(([reference, value]) => secrets.secretAt(reference) === value);
  return secrets.as(outline.id, isAsBefore, managed);
}

/** Where the text of a tenant is. */
interface Origin extends Pick<YamlFile, 'name' | 'lineOf'>, Pick<Source, 'yaml'> {}

/** The check and a later opening use equal content. */
function* check(checking: Checking, found: Found, { name, lineOf, yaml }: Origin): Pieces<ReadTenant> {
  const { secrets, schemas, definedNames } = checking;
  const { id, json, managed } = found;
  const file = { ...fileOf(name, JSON.parse(json), () => json), lineOf };
  const made = schemas();
  yield;
  const checked = yield* secrets.inPieces(id, checkTenant(file, made, definedNames), managed);
  const faults = [...checked.faults, ...(yield* checkTenantReferences(checked.meant, definedNames))];
  const of = (part: string) => file.valueAt(['clinic', part]);
  const clinic = { client: of('client'), tenantId: of('tenantId'), calendars: calendarUses(file) };
  const tenant =
    faults.length > 0 ? null : checkedTenant(checking, found, file, { checked, calendars: clinic.calendars });
  return { id, fileName: name, yaml, clinic, formerly: file.valueAt(['formerly']), faults, checked: tenant };
}

function checkedTenant(
  { usable, hashOf, secrets, definedNames }: Checking,
  { id, digest, json, managed }: Found,
  file: YamlFile,
  { checked, calendars }: { checked: CheckedFile; calendars: readonly CalendarUse[] },
): CheckedTenant | null {
  if (usable === null || hashOf === null) return null;
  const tenant = buildTenant(id, checked, usable.settings, definedNames);
  // The revision covers the stored secrets of a managed tenant.
  const named = secrets.as(id, () =>
    referencesIn(file.value).map((reference) => [reference, secrets.secretAt(reference)] as const),
  );
  const outline = outlineOf(tenant, calendars, hashOf(tenant));
  return { digest, managed, json: managed === null ? json : '', secrets: named, outline };
}

/** The fault of a file without a tenant is reported by file name. */
function stray(fault: ConfigurationFault): ReadTenant {
  return withoutFile(fault.file, fault.file, [fault]);
}

/**
 * A managed tenant has priority over a file until an administrator removes the managed tenant. The file then applies with the stored state.
 */
function outdone({ id, fileName }: NamedFile): ConfigurationFault {
  return faultIn(fileName, ...withRemedy('settings.file-of-managed', { tenant: id }));
}

function asChecked({ id, fileName }: NamedFile, checked: CheckedTenant): ReadTenant {
  const { managed, outline } = checked;
  const { clinic, formerly } = outline;
  const yaml = () => (managed === null ? readAgain(fileName) : readManaged(managed));
  return { id, fileName, yaml, clinic, formerly, faults: [], checked };
}

function* readAgain(fileName: string): Pieces<YamlRead> {
  const read = readBytes(fileName);
  return 'faults' in read ? read : yield* readYamlInPieces(fileName, read.bytes);
}

function withoutFile(id: string, fileName: string, faults: ConfigurationFault[]): ReadTenant {
  const yaml = () => withFaults(faults);
  return { id, fileName, yaml, clinic: NO_CLINIC, formerly: undefined, faults, checked: null };
}

/** Stands for the parsing of a tenant with known faults. */
// biome-ignore lint/correctness/useYield: nothing is parsed
export function* withFaults(faults: ConfigurationFault[]): Pieces<YamlRead> {
  return { faults };
}

function* checkTenant(file: YamlFile, schemas: Schemas, names: DefinedNames): Pieces<CheckedFile> {
  const checked = yield* checkInPieces(file, schemas.tenant);
  const meant = 'meant' in checked ? checked.meant : file;
  const vendor = yield* readVendorSettings(meant, names);
  const channels = yield* readChannelSettings(meant, schemas);
  const ownFaults = 'faults' in checked ? checked.faults : [];
  return {
    value: 'value' in checked ? checked.value : null,
    vendorSettings: vendor.settings,
    channelSettings: channels.settings,
    meant,
    faults: [...ownFaults, ...vendor.faults, ...channels.faults],
  };
}

/** Settings by the name of their target or channel. */
interface CheckedSettings {
  settings: Map<string, unknown>;
  faults: ConfigurationFault[];
}

/** Checks each target's settings by its connector; skips unknown connectors. */
function* readVendorSettings(file: YamlFile, names: DefinedNames): Pieces<CheckedSettings> {
  const settings = new Map<string, unknown>();
  const faults: ConfigurationFault[] = [];
  for (const id of keysAt(file, ['targets'])) {
    const connector = names.connectors.get(String(file.valueAt(['targets', id, 'connector'])));
    if (connector === undefined) continue;
    const checked = yield* checkInPieces(file, connector.settingsSchema, ['targets', id, 'settings']);
    if ('faults' in checked) faults.push(...checked.faults);
    else settings.set(id, checked.value);
  }
  return { settings, faults };
}

/** Checks each reminder channel's settings by its module; skips unknown kinds. */
function* readChannelSettings(file: YamlFile, schemas: Schemas): Pieces<CheckedSettings> {
  const settings = new Map<string, unknown>();
  const faults: ConfigurationFault[] = [];
  for (const id of keysAt(file, ['reminders', 'channels'])) {
    const at = ['reminders', 'channels', id];
    const schema = schemas.channels.get(String(file.valueAt([...at, 'kind'])));
    if (schema === undefined) continue;
    const checked = yield* checkInPieces(file, schema, [...at, 'settings']);
    if ('faults' in checked) faults.push(...checked.faults);
    else settings.set(id, checked.value);
  }
  return { settings, faults };
}

function buildTenant(
  id: string,
  { value, vendorSettings, channelSettings }: CheckedFile,
  settings: Settings,
  names: DefinedNames,
): TenantConfiguration {
  if (value === null) throw new TypeError('a tenant with faults is never built');
  const targets = [...value.targets].map(([name, target]): [string, TargetConfiguration] => {
    const guard = mergeGuard(settings.guard, target.guard);
    const title = target.title ?? names.connectors.get(target.connector)?.defaultTitle ?? 'appointment';
    const filled = { agendas: target.agendas ?? 'all', title, settings: vendorSettings.get(name) };
    const built = { ...target, id: name, guard, ...filled };
    return [name, built];
  });
  const { reminders, ...rest } = value;
  const tenant = { ...rest, id, targets: new Map(targets) };
  return reminders === undefined ? tenant : { ...tenant, reminders: withSettings(reminders, channelSettings) };
}

function withSettings(reminders: ReminderFile, settings: ReadonlyMap<string, unknown>): ReminderFile {
  const channels = [...reminders.channels].map(
    ([id, channel]) => [id, { ...channel, settings: settings.get(id) }] as const,
  );
  return { ...reminders, channels: new Map(channels) };
}

function mergeGuard(defaults: GuardSettings, own: TargetFile['guard']): GuardSettings {
  return {
    vanished: {
      share: own.vanished.share ?? defaults.vanished.share,
      count: own.vanished.count ?? defaults.vanished.count,
    },
    cancelled: {
      share: own.cancelled.share ?? defaults.cancelled.share,
      count: own.cancelled.count ?? defaults.cancelled.count,
    },
    holdExpiresAfterHours: own.holdExpiresAfterHours ?? defaults.holdExpiresAfterHours,
  };
}
