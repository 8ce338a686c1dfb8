import { join } from 'node:path';
import type { z } from 'zod';
import type { TargetConfiguration, TenantConfiguration } from './configuration.ts';
import { checkTenantReferences, type KnownNames } from './cross-checks.ts';
import { checkFile, faultAt } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import { listYamlFiles, type NamedFile } from './list-files.ts';
import type { ReminderFile } from './reminder-schema.ts';
import type { SecretSchemas } from './secret-reference.ts';
import type { GuardSettings, Settings } from './settings-schema.ts';
import { type TargetFile, type TenantFile, tenantSchema } from './tenant-schema.ts';
import { keysAt, readYamlFile, type YamlFile } from './yaml-file.ts';

/** A tenant file as far as it could be read. */
export interface ReadTenant {
  id: string;
  file: YamlFile | null;
  /** Null when the schema found faults. */
  value: TenantFile | null;
  /** What the connectors' schemas made of each target's own part. */
  vendorSettings: ReadonlyMap<string, unknown>;
  /** The same of each reminder channel. */
  channelSettings: ReadonlyMap<string, unknown>;
  faults: ConfigurationFault[];
}

interface Schemas {
  tenant: ReturnType<typeof tenantSchema>;
  /** Of the reminder channels' own parts, by kind. */
  channels: ReadonlyMap<string, z.ZodType>;
}

/** Reads every file of `tenants/` below the configuration directory. */
export function readTenantFiles(dir: string, secrets: SecretSchemas, known: KnownNames): ReadTenant[] {
  const listed = listYamlFiles(join(dir, 'tenants'));
  // Made once: making them takes longer than checking a file.
  const schemas: Schemas = {
    tenant: tenantSchema(secrets),
    channels: new Map([...known.reminderChannels].map(([kind, module]) => [kind, module.settingsSchema(secrets)])),
  };
  const read = listed.files.map((file) => readTenantFile(file, schemas, known));
  const stray = listed.faults.map((fault): ReadTenant => withoutFile(fault.file, [fault]));
  return [...read, ...stray];
}

function withoutFile(id: string, faults: ConfigurationFault[]): ReadTenant {
  return { id, file: null, value: null, vendorSettings: new Map(), channelSettings: new Map(), faults };
}

function readTenantFile({ id, fileName }: NamedFile, schemas: Schemas, known: KnownNames): ReadTenant {
  const read = readYamlFile(fileName);
  if ('faults' in read) return withoutFile(id, read.faults);
  const checked = checkFile(read.file, schemas.tenant);
  const vendor = readVendorSettings(read.file, known);
  const channels = readChannelSettings(read.file, schemas);
  const ownFaults = 'faults' in checked ? checked.faults : [];
  return {
    id,
    file: read.file,
    value: 'value' in checked ? checked.value : null,
    vendorSettings: vendor.settings,
    channelSettings: channels.settings,
    faults: [...ownFaults, ...checkTenantReferences(read.file, known), ...vendor.faults, ...channels.faults],
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

/**
 * Two files for one clinic would each write its appointments: the later file, by name, is at fault.
 * @param rivals tenants that will be used; one that is set aside hurts no other
 * @returns the faults of a tenant
 */
export function findDoubleTenants(rivals: readonly ReadTenant[]): (tenant: ReadTenant) => ConfigurationFault[] {
  const firsts = new Map<string, string>();
  for (const rival of rivals) {
    const clinic = clinicOf(rival);
    if (clinic === null) continue;
    const first = firsts.get(clinic);
    if (first === undefined || rival.id < first) firsts.set(clinic, rival.id);
  }
  return (tenant) => {
    const first = firsts.get(clinicOf(tenant) ?? '');
    if (tenant.file === null || first === undefined || first >= tenant.id) return [];
    const message = `the tenant ${first} is the same clinic`;
    const remedy = 'keep one file for one clinic, with all of its targets';
    return [faultAt(tenant.file, ['clinic', 'tenantId'], message, remedy)];
  };
}

/** The same text for the same clinic; null where the file does not tell. */
function clinicOf({ file }: ReadTenant): string | null {
  const named = [file?.valueAt(['clinic', 'client']), file?.valueAt(['clinic', 'tenantId'])];
  return named.every((part) => typeof part === 'string') ? JSON.stringify(named) : null;
}

/** A tenant without faults, with the settings' defaults put in. */
export function buildTenant(tenant: ReadTenant, settings: Settings): TenantConfiguration {
  if (tenant.value === null) throw new TypeError('a tenant with faults is never built');
  const targets = [...tenant.value.targets].map(([id, target]): [string, TargetConfiguration] => {
    const guard = mergeGuard(settings.guard, target.guard);
    return [id, { ...target, id, guard, agendas: target.agendas ?? 'all', settings: tenant.vendorSettings.get(id) }];
  });
  const { reminders, ...value } = tenant.value;
  const built = { ...value, id: tenant.id, targets: new Map(targets) };
  return reminders === undefined ? built : { ...built, reminders: withSettings(reminders, tenant.channelSettings) };
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
