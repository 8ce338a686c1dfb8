import type { z } from 'zod';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { MirrorError } from '../core/model/errors.ts';
import { message } from '../messages/message.ts';
import type { ConfigurationFault } from './faults.ts';
import type { SecretSchemas } from './secret-reference.ts';
import type { GuardSettings, Settings } from './settings-schema.ts';
import type { ConnectionConfiguration, TargetFile, TenantFile } from './tenant-schema.ts';

/** Parts of a connector for checking a tenant's targets; a connector module fits. */
export interface ConnectorDescription {
  readonly settingsSchema: z.ZodType;
  readonly connectionKinds: readonly string[];
  /** Streams for its targets. */
  readonly streams: readonly string[];
  readonly holds: 'events' | 'objects';
  /** Default content of titles; `appointment` if absent. */
  readonly defaultTitle?: 'appointment' | 'busy';
  /** Calendar presets that the vendor supports. */
  readonly supports: { readonly presets?: readonly string[] };
}

/** Parts of a channel for checking a tenant's reminders; a channel module fits. */
export interface ChannelDescription {
  settingsSchema(secrets: SecretSchemas): z.ZodType;
}

/** A target of a tenant with all defaults. */
export interface TargetConfiguration extends Omit<TargetFile, 'guard' | 'settings' | 'agendas' | 'title'> {
  id: string;
  agendas: 'all' | readonly string[];
  title: NonNullable<TargetFile['title']>;
  guard: GuardSettings;
  /** The connector's settings, checked by its schema. */
  settings: unknown;
}

/** One clinic. */
export interface TenantConfiguration extends Omit<TenantFile, 'connections' | 'targets'> {
  id: string;
  /** Without the implicit clinic connection, named `clinic`. */
  connections: ReadonlyMap<string, ConnectionConfiguration>;
  targets: ReadonlyMap<string, TargetConfiguration>;
}

/** Digest of a calendar use, identical for equal uses, and the target that makes it. */
export type CalendarUse = readonly [use: string, target: string];

/** Part of a tenant's configuration that remains in memory while the tenant is idle. */
export interface TenantOutline {
  id: string;
  /** Name of the clinic. */
  name: string;
  /** The clinic's IANA time zone. */
  zone: string;
  paused: boolean;
  /** Original id of the state; null if unchanged. */
  formerly: string | null;
  /** Agendas by calendar, if the clinic is not named. */
  clinic: { client: string; tenantId: string | null; calendars: readonly CalendarUse[] };
  targets: readonly { id: string; formerly: string | null }[];
  /** Without the clinic connection. */
  connections: readonly string[];
  hasReminders: boolean;
  /** Interval of trigger list reads; null without triggers. */
  triggersEveryMinutes: number | null;
  /** Shortest interval of the calendars' change markers; null without a calendar. */
  changesEverySeconds: number | null;
  /** Sensitive fields for CRMs, with the stated reasons. */
  sensitive: readonly { target: string; field: string; reason: string }[];
  /** Hash of all inputs of the plan. */
  hash: string;
}

/** A tenant with an invalid configuration; other tenants continue. */
export interface InvalidTenant {
  id: string;
  faults: readonly ConfigurationFault[];
}

/** A refused file change; affected tenants continue with their last good configuration. */
export interface RefusedChange {
  /** Null: settings, profiles, or all files together. */
  tenant: string | null;
  faults: readonly ConfigurationFault[];
}

/** The whole configuration: checked, complete and frozen. */
export interface Configuration {
  settings: Settings;
  /** Outlines of all tenants, always in memory. */
  outlines: ReadonlyMap<string, TenantOutline>;
  /** Complete tenants, created at each access and not cached. */
  tenants: ReadonlyMap<string, TenantConfiguration>;
  /** Ids of tenants without a file. */
  managed: ReadonlySet<string>;
  profiles: ReadonlyMap<string, ClinicProfile>;
  /** Tenants that a started daemon has not checked yet; they do not run. */
  unchecked: ReadonlySet<string>;
  /** Empty in strict mode. */
  unusable: readonly InvalidTenant[];
  /** Empty until a reload. */
  refused: readonly RefusedChange[];
  /** Changed settings that require a restart; `settings` still holds the earlier values. */
  awaitsRestart: readonly string[];
}

/** Code of {@link uncheckedError}. */
export const UNCHECKED = 'tenant-unchecked';

/** Returns the error for work on a tenant that the started daemon has not checked yet. */
export function uncheckedError(tenant: string): MirrorError {
  return new MirrorError(message('tenant-unchecked', { tenant }), {
    ...{ actor: 'remote', code: 'tenant-unchecked', retry: 'later' },
    remedy: message('tenant-unchecked.remedy'),
  });
}

/** Freezes lists, plain objects and values of maps recursively; returns its argument. */
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
