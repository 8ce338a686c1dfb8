import type { z } from 'zod';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { PlainOutline } from './crm-expressions.ts';
import type { ConfigurationFault } from './faults.ts';
import type { SecretSchemas } from './secret-reference.ts';
import type { GuardSettings, Settings } from './settings-schema.ts';
import type { ConnectionConfiguration, TargetFile, TenantFile } from './tenant-schema.ts';

/** What is read of a connector to check a tenant's targets; a connector module fits. */
export interface ConnectorDescription {
  readonly settingsSchema: z.ZodType;
  readonly connectionKinds: readonly string[];
  /** Streams that its targets can follow. */
  readonly streams: readonly string[];
  readonly holds: 'events' | 'objects';
  /** What titles tell where a target does not say; `appointment` when absent. */
  readonly defaultTitle?: 'appointment' | 'busy';
  /** What of a calendar's presets its vendor has a place for. */
  readonly supports: { readonly presets?: readonly string[] };
}

/** What is read of a kind of channel to check a tenant's reminders; a channel module fits. */
export interface ChannelDescription {
  settingsSchema(secrets: SecretSchemas): z.ZodType;
}

/** One use of a connector by a tenant, all defaults filled in. */
export interface TargetConfiguration extends Omit<TargetFile, 'guard' | 'settings' | 'agendas' | 'title'> {
  id: string;
  agendas: 'all' | readonly string[];
  title: NonNullable<TargetFile['title']>;
  guard: GuardSettings;
  /** The connector's own part, checked by its schema. */
  settings: unknown;
}

/** One clinic. */
export interface TenantConfiguration extends Omit<TenantFile, 'connections' | 'targets'> {
  id: string;
  /** Without the login to the clinic itself, which every tenant has under the name `clinic`. */
  connections: ReadonlyMap<string, ConnectionConfiguration>;
  targets: ReadonlyMap<string, TargetConfiguration>;
}

/** One use of a calendar, as a digest that is the same for the same use, and the target that makes it. */
export type CalendarUse = readonly [use: string, target: string];

/** What of a tenant's configuration is in memory while nothing is done for the tenant. */
export interface TenantOutline {
  id: string;
  /** As the clinic is called. */
  name: string;
  /** The clinic's IANA time zone. */
  zone: string;
  paused: boolean;
  /** Id under which its state was first kept; null when it is the same. */
  formerly: string | null;
  /** With which agendas are written into which calendars, where the clinic is not named. */
  clinic: { client: string; tenantId: string | null; calendars: readonly CalendarUse[] };
  targets: readonly { id: string; formerly: string | null }[];
  /** Without the login to the clinic itself. */
  connections: readonly string[];
  hasReminders: boolean;
  /** How often the lists of its triggers are read; null where none are configured. */
  triggersEveryMinutes: number | null;
  /** Sensitive fields that CRMs are told, and on what ground. */
  sensitive: readonly { target: string; field: string; reason: string }[];
  /** Expressions of its mappings, which need not be parsed again. */
  expressions: readonly [expression: string, outline: PlainOutline | null][];
  /** Of everything that decides what is planned. */
  hash: string;
}

/** A tenant that can't be used as configured; the others go on. */
export interface InvalidTenant {
  id: string;
  faults: readonly ConfigurationFault[];
}

/** A change of files that is not taken up: what it would have changed goes on under its last good configuration. */
export interface RefusedChange {
  /** Null: settings, profiles, or all files together. */
  tenant: string | null;
  faults: readonly ConfigurationFault[];
}

/** The whole configuration: checked, complete and frozen. */
export interface Configuration {
  settings: Settings;
  /** What is known of every tenant at any time. */
  outlines: ReadonlyMap<string, TenantOutline>;
  /** The same tenants whole: each is made anew whenever it is asked for, and not kept. */
  tenants: ReadonlyMap<string, TenantConfiguration>;
  /** Which of them no file configures. */
  managed: ReadonlySet<string>;
  profiles: ReadonlyMap<string, ClinicProfile>;
  /** Tenants whose files or documents a daemon that started has not checked yet: they are not run. */
  unchecked: ReadonlySet<string>;
  /** Empty when the configuration was read strictly. */
  unusable: readonly InvalidTenant[];
  /** Empty until files are read again. */
  refused: readonly RefusedChange[];
  /** Names of settings whose change waits for a restart of the process: those above are as they were before. */
  awaitsRestart: readonly string[];
}

/** Code of {@link uncheckedError}. */
export const UNCHECKED = 'tenant-unchecked';

/** The error of work on a tenant that a daemon has not checked since it started. */
export function uncheckedError(tenant: string): MirrorError {
  return new MirrorError(message('tenant-unchecked', { tenant }), {
    ...{ actor: 'remote', code: 'tenant-unchecked', retry: 'later' },
    remedy: message('tenant-unchecked.remedy'),
  });
}

/** Freezes lists, plain objects and the values of maps, all the way down; returns what it was given. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map) {
    for (const inner of value.values()) deepFreeze(inner);
    return value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
