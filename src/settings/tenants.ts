import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { z } from 'zod';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { withRemedy } from '../messages/message.ts';
import {
  type CalendarUse,
  deepFreeze,
  type TargetConfiguration,
  type TenantConfiguration,
  type TenantOutline,
} from './configuration.ts';
import { calendarUses, configurationHashes, outlineOf } from './configuration-changes.ts';
import { expressionsToOutline, type OutlineApart, rememberOutlines } from './crm-expressions.ts';
import { checkTenantReferences, type DefinedNames } from './cross-checks.ts';
import { checkFile } from './describe-issue.ts';
import { ConfigurationError, type ConfigurationFault, faultIn } from './faults.ts';
import { listYamlFiles, type NamedFile, type SeenFiles } from './list-files.ts';
import { type ManagedTenant, type ManagedTenants, managedName, readManaged } from './managed-tenant.ts';
import type { ReminderFile } from './reminder-schema.ts';
import { referencesIn, type SecretReference } from './secret-reference.ts';
import type { GuardSettings, Settings } from './settings-schema.ts';
import { type TargetFile, type TenantFile, tenantSchema } from './tenant-schema.ts';
import type { TenantSecrets } from './tenant-secrets.ts';
import { fileOf, keysAt, readBytes, readYaml, readYamlFile, type YamlFile, type YamlRead } from './yaml-file.ts';

/** A tenant's file, or the document of a managed tenant, that has no fault, with what was made of it. */
export interface CheckedTenant {
  /** SHA-256 of the file's bytes; of a managed tenant its revision. */
  digest: string;
  /** Every secret that it names and that is outside of it, as it was then. */
  secrets: readonly (readonly [SecretReference, string | null])[];
  outline: TenantOutline;
  /** The file's content as JSON; empty for a managed tenant, whose document stays sealed. */
  json: string;
  /** Null: a file's. */
  managed: ManagedTenant | null;
}

/** A tenant as far as its file, or its document, could be read. */
export interface ReadTenant {
  id: string;
  /** As faults call it. */
  fileName: string;
  /** Reads it for where in it something stands. */
  yaml(): YamlRead;
  /** As written; each part undefined where the file does not tell. */
  clinic: { client: unknown; tenantId: unknown; calendars: readonly CalendarUse[] };
  formerly: unknown;
  faults: ConfigurationFault[];
  /** Null with faults, of this file or of the settings. */
  checked: CheckedTenant | null;
}

/** What the files of tenants are read with. */
export interface TenantParts {
  /** The configuration directory. */
  dir: string;
  /** Tenants that no file configures. */
  managed: ManagedTenants;
  secrets: TenantSecrets;
  definedNames: DefinedNames;
  seen: SeenFiles;
  /** Tenants that were checked under the same settings and profiles: one whose file and secrets are the same is not checked again. */
  earlier: ReadonlyMap<string, CheckedTenant>;
  /** Of `earlier`, those whose file held something else when it was read last. */
  refused: ReadonlySet<string>;
  /** Absent: expressions are outlined in this thread. */
  outlineApart?: OutlineApart | undefined;
  /** Null when the settings have faults: then no tenant can be used. */
  usable: { settings: Settings; profiles: ReadonlyMap<string, ClinicProfile> } | null;
}

/** The files of `tenants/` below the configuration directory, and the documents of managed tenants. */
export interface TenantFiles {
  /** Lists them. @param only the one that is asked about, where there is one */
  list(only?: string): ListedTenants;
  /** Reads one document. */
  readManaged(tenant: ManagedTenant): Iterable<ReadTenant | Outlining>;
  /** Checks what a file held when it had no faults, under other settings and profiles. */
  checkAgain(checked: CheckedTenant): ReadTenant;
  /** The whole configuration of a tenant without faults, with the settings' defaults put in. */
  open(checked: CheckedTenant): TenantConfiguration;
}

/** The tenants that there are at one moment. */
export interface ListedTenants {
  /** In order. */
  ids: readonly string[];
  /** Reads one of them. */
  read(id: string): Iterable<ReadTenant | Outlining>;
  /** What is wrong with files that configure no tenant. */
  strays: readonly ReadTenant[];
}

/** Comes before a tenant whose expressions are outlined meanwhile: it is read on when this is over. */
export type Outlining = Promise<void>;

/** Of a file that does not tell. */
export const NO_CLINIC: ReadTenant['clinic'] = { client: undefined, tenantId: undefined, calendars: [] };

interface Schemas {
  tenant: ReturnType<typeof tenantSchema>;
  /** Of the reminder channels' own parts, by kind. */
  channels: ReadonlyMap<string, z.ZodType>;
}

/** What the schemas make of a file. */
interface CheckedFile {
  /** Null when the schema found faults. */
  value: TenantFile | null;
  /** What the connectors' schemas made of each target's own part. */
  vendorSettings: ReadonlyMap<string, unknown>;
  /** The same of each reminder channel. */
  channelSettings: ReadonlyMap<string, unknown>;
  /** The file without slips in its keys. */
  meant: YamlFile;
  faults: ConfigurationFault[];
}

/** A file as it was found, or a document: what it is known by, and what it says. */
interface Found extends Pick<CheckedTenant, 'digest' | 'json' | 'managed'> {
  id: string;
}

/** Where a tenant is configured, not yet parsed. */
interface Source extends Pick<Found, 'digest' | 'managed'> {
  yaml(): YamlRead;
}

/** What documents are checked with. */
interface Checking extends TenantParts {
  /** Made once, and only when they are needed: making them takes longer than checking a file. */
  schemas(): Schemas;
  /** Null when the settings have faults. */
  hashOf: ReturnType<typeof configurationHashes> | null;
}

/** Opens the files of tenants. */
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

  function readManagedTenant(document: ManagedTenant): Iterable<ReadTenant | Outlining> {
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
          if (document !== undefined) yield* readManagedTenant(document);
          else if (named !== undefined) yield* readFile(checking, named);
          if (document !== undefined && named !== undefined) yield stray(outdone(named));
        },
        strays: listed.faults.map(stray),
      };
    },
    readManaged: readManagedTenant,
    checkAgain(checked) {
      const { digest, managed: document, outline } = checked;
      rememberOutlines(outline.expressions);
      const found = { id: outline.id, digest, managed: document, json: contentOf(checked) };
      const again = check(checking, found, nameOf(checked));
      // By now other lines may stand in the file.
      return { ...again, faults: again.faults.map((fault) => ({ ...fault, line: null })) };
    },
    open(checked) {
      if (usable === null) throw new TypeError('a tenant is never opened under settings with faults');
      const { id } = checked.outline;
      rememberOutlines(checked.outline.expressions);
      const json = contentOf(checked);
      const file = fileOf(nameOf(checked), JSON.parse(json), () => json);
      const opened = secrets.as(id, () => checkTenant(file, schemas(), definedNames), checked.managed);
      if (opened.faults.length > 0) throw new ConfigurationError(opened.faults);
      return deepFreeze(buildTenant(id, opened, usable.settings, definedNames));
    },
  };
}

/** What a tenant's file or document held when it was checked, as JSON. @throws MirrorError when the document of a managed tenant does not open */
export function contentOf({ json, managed }: CheckedTenant): string {
  return managed === null ? json : managed.open().json;
}

/** Neither the file nor its secrets are read while their stamps are those of the last reading. */
function* readFile(checking: Checking, named: NamedFile): Generator<ReadTenant | Outlining, void> {
  const { seen, earlier, refused, dir } = checking;
  const { id, fileName } = named;
  const checked = earlier.get(id);
  const isSame = seen.isAsBefore(fileName) && !refused.has(id);
  if (isSame && checked?.managed === null && areSecretFilesAsBefore(checked, seen, dir)) {
    return yield asChecked(named, checked);
  }
  const read = readBytes(fileName);
  if ('faults' in read) return yield withoutFile(id, fileName, read.faults);
  const { bytes } = read;
  const source = { digest: hash('sha256', bytes), managed: null, yaml: () => readYaml(fileName, bytes) };
  yield* readSource(checking, named, source);
}

/** Looks at all of them, so that the stamps of this reading hold each. */
function areSecretFilesAsBefore({ secrets }: CheckedTenant, seen: SeenFiles, dir: string): boolean {
  const files = secrets.flatMap(([reference]) => ('file' in reference ? [resolve(dir, reference.file)] : []));
  return files.filter((file) => !seen.isAsBefore(file)).length === 0;
}

function* readSource(checking: Checking, named: NamedFile, source: Source): Generator<ReadTenant | Outlining, void> {
  const { id, fileName } = named;
  const { digest, managed } = source;
  const earlier = checking.earlier.get(id);
  if (earlier?.digest === digest && areSecretsAsBefore(checking, earlier)) return yield asChecked(named, earlier);
  const parsed = source.yaml();
  if ('faults' in parsed) return yield withoutFile(id, fileName, parsed.faults);
  yield* outlined(checking, parsed.file.value);
  const json = JSON.stringify(parsed.file.value);
  yield check(checking, { id, digest, json, managed }, fileName, parsed.file.lineOf);
}

function areSecretsAsBefore({ secrets }: Checking, { outline, secrets: before, managed }: CheckedTenant): boolean {
  const isAsBefore = () => before.every(([reference, value]) => secrets.secretAt(reference) === value);
  return secrets.as(outline.id, isAsBefore, managed);
}

function* outlined({ outlineApart }: TenantParts, value: unknown): Generator<Outlining, void> {
  const expressions = outlineApart === undefined ? [] : expressionsToOutline(value);
  if (outlineApart === undefined || expressions.length === 0) return;
  yield outlineApart(expressions).then((outlines) =>
    rememberOutlines(expressions.map((expression, index) => [expression, outlines[index] ?? null])),
  );
}

/** Checked as it will be opened. */
function check(checking: Checking, found: Found, name: string, lineOf?: YamlFile['lineOf']): ReadTenant {
  const { secrets, schemas, definedNames } = checking;
  const { id, json, managed } = found;
  const plain = fileOf(name, JSON.parse(json), () => json);
  const file = { ...plain, lineOf: lineOf ?? plain.lineOf };
  const checked = secrets.as(id, () => checkTenant(file, schemas(), definedNames), managed);
  const faults = [...checked.faults, ...checkTenantReferences(checked.meant, definedNames)];
  const of = (part: string) => file.valueAt(['clinic', part]);
  const clinic = { client: of('client'), tenantId: of('tenantId'), calendars: calendarUses(file) };
  const tenant =
    faults.length > 0 ? null : checkedTenant(checking, found, file, { checked, calendars: clinic.calendars });
  const yaml = () => ({ file });
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
  // What a managed tenant keeps sealed is part of its revision.
  const named = secrets.as(id, () =>
    referencesIn(file.value).map((reference) => [reference, secrets.secretAt(reference)] as const),
  );
  const outline = outlineOf(tenant, calendars, hashOf(tenant));
  return { digest, managed, json: managed === null ? json : '', secrets: named, outline };
}

/** Of a file that configures nobody it is said by its name. */
function stray(fault: ConfigurationFault): ReadTenant {
  return withoutFile(fault.file, fault.file, [fault]);
}

/** Whoever is managed stays so until somebody removes it there: then the file counts, and nothing of its state is lost. */
function outdone({ id, fileName }: NamedFile): ConfigurationFault {
  return faultIn(fileName, ...withRemedy('settings.file-of-managed', { tenant: id }));
}

function asChecked({ id, fileName }: NamedFile, checked: CheckedTenant): ReadTenant {
  const { managed, outline } = checked;
  const { clinic, formerly } = outline;
  const yaml = () => (managed === null ? readYamlFile(fileName) : readManaged(managed));
  return { id, fileName, yaml, clinic, formerly, faults: [], checked };
}

function withoutFile(id: string, fileName: string, faults: ConfigurationFault[]): ReadTenant {
  return { id, fileName, yaml: () => ({ faults }), clinic: NO_CLINIC, formerly: undefined, faults, checked: null };
}

function checkTenant(file: YamlFile, schemas: Schemas, names: DefinedNames): CheckedFile {
  const checked = checkFile(file, schemas.tenant);
  const meant = 'meant' in checked ? checked.meant : file;
  const vendor = readVendorSettings(meant, names);
  const channels = readChannelSettings(meant, schemas);
  const ownFaults = 'faults' in checked ? checked.faults : [];
  return {
    value: 'value' in checked ? checked.value : null,
    vendorSettings: vendor.settings,
    channelSettings: channels.settings,
    meant,
    faults: [...ownFaults, ...vendor.faults, ...channels.faults],
  };
}

/** Each target's own part, checked by its connector; targets of an unknown connector are passed over here. */
function readVendorSettings(file: YamlFile, names: DefinedNames) {
  const settings = new Map<string, unknown>();
  const faults: ConfigurationFault[] = [];
  for (const id of keysAt(file, ['targets'])) {
    const connector = names.connectors.get(String(file.valueAt(['targets', id, 'connector'])));
    if (connector === undefined) continue;
    const checked = checkFile(file, connector.settingsSchema, ['targets', id, 'settings']);
    if ('faults' in checked) faults.push(...checked.faults);
    else settings.set(id, checked.value);
  }
  return { settings, faults };
}

/** Each reminder channel's own part, checked by its module; channels of an unknown kind are passed over here. */
function readChannelSettings(file: YamlFile, schemas: Schemas) {
  const settings = new Map<string, unknown>();
  const faults: ConfigurationFault[] = [];
  for (const id of keysAt(file, ['reminders', 'channels'])) {
    const at = ['reminders', 'channels', id];
    const schema = schemas.channels.get(String(file.valueAt([...at, 'kind'])));
    if (schema === undefined) continue;
    const checked = checkFile(file, schema, [...at, 'settings']);
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
