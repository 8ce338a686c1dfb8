import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { CalendarUse, Configuration, TenantConfiguration, TenantOutline } from './configuration.ts';
import { Secret } from './secret-reference.ts';
import type { Settings } from './settings-schema.ts';
import { sortedJson } from './twin-checks.ts';
import { keysAt, type YamlFile } from './yaml-file.ts';

/** Differences between two configurations, by tenant id. */
export interface ConfigurationChanges {
  added: string[];
  /** Tenants whose plan possibly changes. */
  changed: string[];
  /** Tenants with an unchanged plan but other dependencies: a secret or a client's budget. */
  reopened: string[];
  removed: string[];
  /** Those of `changed` that lost a target or a connection. */
  reduced: string[];
  unchanged: number;
}

export const NO_CHANGES: ConfigurationChanges = {
  ...{ added: [], changed: [], reopened: [], removed: [], reduced: [] },
  unchanged: 0,
};

/** Compares two configurations. Identical objects were not read again. */
export function changesBetween(before: Configuration, after: Configuration): ConfigurationChanges {
  const changes: ConfigurationChanges = {
    ...{ added: [], changed: [], reopened: [], removed: [], reduced: [] },
    unchanged: 0,
  };
  const areSettingsSame = before.settings === after.settings && before.profiles === after.profiles;
  for (const [id, outline] of after.outlines) {
    const earlier = before.outlines.get(id);
    if (earlier === undefined) changes.added.push(id);
    else if (earlier.hash !== outline.hash) {
      changes.changed.push(id);
      if (isReduced(earlier, outline)) changes.reduced.push(id);
    } else if (earlier !== outline || !areSettingsSame) changes.reopened.push(id);
    else changes.unchanged += 1;
  }
  for (const id of before.outlines.keys()) if (!after.outlines.has(id)) changes.removed.push(id);
  return changes;
}

function isReduced(earlier: TenantOutline, later: TenantOutline): boolean {
  const partsOf = ({ targets, connections }: TenantOutline) => [targets.map(({ id }) => id), connections];
  const [targets = [], connections = []] = partsOf(later);
  const [targetsBefore = [], connectionsBefore = []] = partsOf(earlier);
  return targetsBefore.some((id) => !targets.includes(id)) || connectionsBefore.some((id) => !connections.includes(id));
}

/** Decides whether no work is affected. */
export function isNothing({ added, changed, reopened, removed }: ConfigurationChanges): boolean {
  return added.length + changed.length + reopened.length + removed.length === 0;
}

/** Joins the changes of two consecutive reads. A tenant that was added and removed is in both lists. */
export function joinChanges(earlier: ConfigurationChanges, later: ConfigurationChanges): ConfigurationChanges {
  const both = (of: keyof Omit<ConfigurationChanges, 'unchanged'>) => [...new Set([...earlier[of], ...later[of]])];
  return {
    added: both('added'),
    changed: both('changed'),
    reopened: both('reopened'),
    removed: both('removed'),
    reduced: both('reduced'),
    unchanged: later.unchanged,
  };
}

/** Settings that a process cannot change while running: Redis, files, ports, keys, collector, and worker fairness. */
const PARTS: Readonly<Record<string, (settings: Settings) => unknown>> = {
  redis: ({ redis }) => redis,
  dataDirectory: ({ dataDirectory }) => dataDirectory,
  'http.host': ({ http }) => http.host,
  'http.port': ({ http }) => http.port,
  'operator.host': ({ operator }) => operator.host,
  'operator.port': ({ operator }) => operator.port,
  'operator.token': ({ operator }) => operator.token,
  // Pages exist from the start or never; changes of access are applied.
  'operator.access': ({ operator }) => operator.access !== undefined,
  secrets: ({ secrets }) => secrets,
  'leases.ttlMs': ({ leases }) => leases.ttlMs,
  'leases.silentMs': ({ leases }) => leases.silentMs,
  'push.targetConcurrency': ({ push }) => push.targetConcurrency,
  telemetry: ({ telemetry }) => telemetry,
  'log.level': ({ log }) => log.level,
  'log.format': ({ log }) => log.format,
};

/**
 * Merges new settings into a running process, without the settings that require a restart.
 * @returns the settings, and the names of those that wait for a restart
 */
export function takeUpSettings(read: Settings, running: Settings): { settings: Settings; awaitsRestart: string[] } {
  const awaitsRestart = Object.entries(PARTS).flatMap(([name, part]) =>
    textOf(part(read)) === textOf(part(running)) ? [] : [name],
  );
  if (awaitsRestart.length === 0) return { settings: read, awaitsRestart };
  const { redis, dataDirectory, secrets, leases, telemetry, log, http } = running;
  const { host, port, token } = running.operator;
  // A revoked access takes effect at once.
  const access = running.operator.access && read.operator.access;
  const operator = { ...read.operator, host, port, token, access };
  const isElsewhere = awaitsRestart.some((name) => name.startsWith('http.'));
  const retained = { redis, dataDirectory, operator, secrets, leases, telemetry, log };
  const push = { ...read.push, targetConcurrency: running.push.targetConcurrency };
  // The public URL possibly depends on the port.
  return {
    settings: {
      ...read,
      ...retained,
      push,
      http: isElsewhere ? { ...http, trustedProxies: read.http.trustedProxies } : read.http,
    },
    awaitsRestart,
  };
}

/** Returns a text of a whole value with its secrets, only for comparison. */
function textOf(value: unknown): string {
  return JSON.stringify([value], function (this: Record<string, unknown>, name, inner: unknown) {
    // A secret has already replaced itself by a mask in `inner`.
    const revealed = this[name] instanceof Secret ? this[name].reveal() : inner;
    if (revealed instanceof Uint8Array) return Buffer.from(revealed).toString('base64');
    return revealed instanceof Map ? [...revealed] : revealed;
  });
}

/** Returns a hash of the configuration that all daemons share: without secrets, and without parts that depend on the host. */
export function sharedConfigurationHash({ settings, outlines }: Pick<Configuration, 'settings' | 'outlines'>): string {
  const { redis, dataDirectory, http, operator, secrets, leases, push, telemetry, log, ...shared } = settings;
  const tenants = [...outlines].map(([id, outline]) => [id, outline.hash]).sort();
  const parts = [shared, operator.access, tenants];
  const serialized = JSON.stringify(parts, (_name, value) => (value instanceof Map ? [...value] : value));
  return hash('sha256', serialized, 'base64url').slice(0, 22);
}

function shortest(seconds: readonly number[]): number | null {
  return seconds.length === 0 ? null : Math.min(...seconds);
}

/** Returns the outline of a complete configuration. */
export function outlineOf(tenant: TenantConfiguration, calendars: readonly CalendarUse[], hash: string): TenantOutline {
  const { id, name, zone, paused, formerly = null, clinic, targets, connections, reminders, triggers } = tenant;
  const all = [...targets.values()];
  return {
    id,
    name,
    zone,
    paused,
    formerly,
    clinic: { client: clinic.client, tenantId: clinic.tenantId, calendars },
    targets: all.map((target) => ({ id: target.id, formerly: target.formerly ?? null })),
    connections: [...connections.keys()],
    hasReminders: reminders !== undefined,
    triggersEveryMinutes: triggers?.everyMinutes ?? null,
    changesEverySeconds: shortest(
      all.flatMap(({ crm, audit }) => (crm === undefined ? [audit.changesEverySeconds] : [])),
    ),
    sensitive: all.flatMap((target) =>
      [...(target.crm?.sensitive ?? [])].map(([field, reason]) => ({ target: target.id, field, reason })),
    ),
    hash,
  };
}

/** Parts of a connection that identify its account. */
const ACCOUNT_PARTS = ['account', 'username', 'subject', 'keyFile'];

/**
 * Lists which agendas a tenant's file writes into which calendars, if the file does not name its clinic: two files with a common use belong
 * to one clinic. A use of all agendas requires a connection with a named account, because another account can have a calendar with an equal
 * name.
 */
export function calendarUses(file: YamlFile): CalendarUse[] {
  if ((file.valueAt(['clinic', 'tenantId']) ?? null) !== null) return [];
  const client = file.valueAt(['clinic', 'client']);
  return keysAt(file, ['targets']).flatMap((target) => {
    const of = (part: string) => file.valueAt(['targets', target, part]);
    const connection: unknown = file.valueAt(['connections', String(of('connection'))]);
    const [connector, settings, agendas] = [of('connector'), of('settings'), of('agendas')];
    if (of('crm') !== undefined || typeof connection !== 'object' || settings === undefined) return [];
    const isNamedAccount = ACCOUNT_PARTS.some((part) => Object.hasOwn(connection ?? {}, part));
    const shown = Array.isArray(agendas) ? agendas : agendas === 'all' && isNamedAccount ? ['all'] : [];
    return shown.map((agenda): CalendarUse => {
      const use = sortedJson([client, connector, connection, settings, agenda]);
      return [hash('sha256', use, 'base64url').slice(0, 22), target];
    });
  });
}

/** Another release possibly writes an equal appointment differently. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Returns a hash of all inputs of a tenant's plan: file with defaults, clinic profile and URL, time zone rules, and release. Secrets are
 * excluded, because a new password changes no plan.
 */
export function configurationHashes(
  { clinicClients }: Pick<Settings, 'clinicClients'>,
  profiles: ReadonlyMap<string, ClinicProfile>,
): (tenant: TenantConfiguration) => string {
  // Serialised once per client, because a profile takes longer than the rest of a tenant.
  const ofClients = new Map(
    [...clinicClients].map(([name, { baseUrl, profile }]) => [name, hashOf([baseUrl, profiles.get(profile)])]),
  );
  return (tenant) => hashOf([version, process.versions.tz ?? '', tenant, ofClients.get(tenant.clinic.client)]);
}

function hashOf(value: unknown): string {
  const serialized = JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof Map || inner instanceof Set ? [...inner] : inner,
  );
  return hash('sha256', serialized, 'base64url');
}
