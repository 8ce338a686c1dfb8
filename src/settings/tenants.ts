import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { z } from 'zod';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { deepFreeze, type TargetConfiguration, type TenantConfiguration } from './configuration.ts';
import { configurationHashes } from './configuration-hash.ts';
import { checkTenantReferences, type KnownNames } from './cross-checks.ts';
import { checkFile } from './describe-issue.ts';
import { ConfigurationError, type ConfigurationFault } from './faults.ts';
import type { KnownVerdicts } from './known-verdicts.ts';
import { listYamlFiles, type NamedFile } from './list-files.ts';
import type { ReminderFile } from './reminder-schema.ts';
import { referencesIn, type SecretReference } from './secret-reference.ts';
import type { GuardSettings, Settings } from './settings-schema.ts';
import { outlineOf } from './tenant-outline.ts';
import { type TargetFile, type TenantFile, tenantSchema } from './tenant-schema.ts';
import type { TenantSecrets } from './tenant-secrets.ts';
import type { Verdict } from './verdicts.ts';
import { fileOf, keysAt, readBytes, readYaml, type YamlFile } from './yaml-file.ts';

/** A tenant file as far as it could be read. */
export interface ReadTenant {
  id: string;
  fileName: string;
  /** As written; each part undefined where the file does not tell. */
  clinic: { client: unknown; tenantId: unknown };
  formerly: unknown;
  faults: ConfigurationFault[];
  /** Null with faults, of this file or of the settings. */
  verdict: Verdict | null;
}

/** What the files of tenants are read with. */
export interface TenantParts {
  /** The configuration directory. */
  dir: string;
  secrets: TenantSecrets;
  known: KnownNames;
  /** Null when the settings have faults: then no tenant can be used. */
  usable: { settings: Settings; profiles: ReadonlyMap<string, ClinicProfile>; verdicts: KnownVerdicts } | null;
}

/** The files of `tenants/` below the configuration directory. */
export interface TenantFiles {
  /** Reads every file, one after the other. One that has a verdict is not parsed. */
  read(): Iterable<ReadTenant>;
  /** Checks what a file held when it was found to be without faults, under other settings and profiles. */
  checkAgain(verdict: Verdict): ReadTenant;
  /** The whole configuration of a tenant without faults, with the settings' defaults put in. */
  open(verdict: Verdict): TenantConfiguration;
}

/** Of a file that does not tell. */
export const NO_CLINIC = { client: undefined, tenantId: undefined };

interface Schemas {
  tenant: ReturnType<typeof tenantSchema>;
  /** Of the reminder channels' own parts, by kind. */
  channels: ReadonlyMap<string, z.ZodType>;
}

/** What the schemas make of a file. */
interface Checked {
  /** Null when the schema found faults. */
  value: TenantFile | null;
  /** What the connectors' schemas made of each target's own part. */
  vendorSettings: ReadonlyMap<string, unknown>;
  /** The same of each reminder channel. */
  channelSettings: ReadonlyMap<string, unknown>;
  faults: ConfigurationFault[];
}

/** A file as it was found: the digest of its bytes, and what they say. */
interface Found {
  id: string;
  digest: string;
  json: string;
}

/** Opens the files of tenants. */
export function openTenantFiles({ dir, secrets, known, usable }: TenantParts): TenantFiles {
  const folder = join(dir, 'tenants');
  let made: Schemas | null = null;
  // Made once, and only when they are needed: making them takes longer than checking a file.
  const schemas = () => {
    made ??= {
      tenant: tenantSchema(secrets),
      channels: new Map([...known.reminderChannels].map(([kind, module]) => [kind, module.settingsSchema(secrets)])),
    };
    return made;
  };
  const hashOf = usable === null ? null : configurationHashes(usable.settings, usable.profiles);

  function readFile(named: NamedFile): ReadTenant {
    const { id, fileName } = named;
    const unread = usable?.verdicts.unread(named) ?? null;
    if (unread !== null) return withVerdict(id, fileName, unread);
    const bytes = readBytes(fileName);
    if ('faults' in bytes) return withoutFile(id, fileName, bytes.faults);
    const digest = hash('sha256', bytes.bytes);
    const verdict = usable?.verdicts.find(id, digest) ?? null;
    if (verdict !== null) return withVerdict(id, fileName, verdict);
    const read = readYaml(fileName, bytes.bytes);
    if ('faults' in read) return withoutFile(id, fileName, read.faults);
    return check({ id, digest, json: JSON.stringify(read.file.value) }, fileName, read.file.lineOf);
  }

  /** Checked as it will be opened. */
  function check(found: Found, name: string, lineOf?: YamlFile['lineOf']) {
    const { id, json } = found;
    const plain = fileOf(name, JSON.parse(json), () => json);
    const file = { ...plain, lineOf: lineOf ?? plain.lineOf };
    const checked = secrets.as(id, () => checkTenant(file, schemas(), known));
    const faults = [...checked.faults, ...checkTenantReferences(file, known)];
    const clinic = { client: file.valueAt(['clinic', 'client']), tenantId: file.valueAt(['clinic', 'tenantId']) };
    const verdict = faults.length > 0 ? null : judge(found, file, checked);
    return { id, fileName: name, clinic, formerly: file.valueAt(['formerly']), faults, verdict };
  }

  function judge(found: Found, file: YamlFile, checked: Checked): Verdict | null {
    if (usable === null || hashOf === null) return null;
    const { id, ...content } = found;
    const tenant = buildTenant(id, checked, usable.settings, known);
    const tagOf = (reference: SecretReference) => usable.verdicts.tagOf(secrets.secretAt(reference) ?? '');
    const named = secrets.as(id, () =>
      referencesIn(file.value).map((reference) => [reference, tagOf(reference)] as const),
    );
    return { ...content, secrets: named, outline: outlineOf(tenant, hashOf(tenant)) };
  }

  return {
    *read() {
      const listed = listYamlFiles(folder);
      for (const named of listed.files) yield readFile(named);
      for (const fault of listed.faults) yield withoutFile(fault.file, fault.file, [fault]);
    },
    checkAgain({ digest, json, outline: { id } }) {
      const again = check({ id, digest, json }, join(folder, `${id}.yaml`));
      // By now other lines may stand in the file.
      return { ...again, faults: again.faults.map((fault) => ({ ...fault, line: null })) };
    },
    open({ outline: { id }, json }) {
      if (usable === null) throw new TypeError('a tenant is never opened under settings with faults');
      const file = fileOf(join(folder, `${id}.yaml`), JSON.parse(json), () => json);
      const checked = secrets.as(id, () => checkTenant(file, schemas(), known));
      if (checked.faults.length > 0) throw new ConfigurationError(checked.faults);
      return deepFreeze(buildTenant(id, checked, usable.settings, known));
    },
  };
}

function withVerdict(id: string, fileName: string, verdict: Verdict): ReadTenant {
  const { clinic, formerly } = verdict.outline;
  return { id, fileName, clinic, formerly, faults: [], verdict };
}

function withoutFile(id: string, fileName: string, faults: ConfigurationFault[]): ReadTenant {
  return { id, fileName, clinic: NO_CLINIC, formerly: undefined, faults, verdict: null };
}

function checkTenant(file: YamlFile, schemas: Schemas, known: KnownNames): Checked {
  const checked = checkFile(file, schemas.tenant);
  const vendor = readVendorSettings(file, known);
  const channels = readChannelSettings(file, schemas);
  const ownFaults = 'faults' in checked ? checked.faults : [];
  return {
    value: 'value' in checked ? checked.value : null,
    vendorSettings: vendor.settings,
    channelSettings: channels.settings,
    faults: [...ownFaults, ...vendor.faults, ...channels.faults],
  };
}

/** Each target's own part, checked by its connector; targets of an unknown connector are passed over here. */
function readVendorSettings(file: YamlFile, known: KnownNames) {
  const settings = new Map<string, unknown>();
  const faults: ConfigurationFault[] = [];
  for (const id of keysAt(file, ['targets'])) {
    const connector = known.connectors.get(String(file.valueAt(['targets', id, 'connector'])));
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
  { value, vendorSettings, channelSettings }: Checked,
  settings: Settings,
  known: KnownNames,
): TenantConfiguration {
  if (value === null) throw new TypeError('a tenant with faults is never built');
  const targets = [...value.targets].map(([name, target]): [string, TargetConfiguration] => {
    const guard = mergeGuard(settings.guard, target.guard);
    const title = target.title ?? known.connectors.get(target.connector)?.defaultTitle ?? 'appointment';
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
