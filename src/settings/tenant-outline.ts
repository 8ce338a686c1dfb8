import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { CalendarUse, TargetConfiguration, TenantConfiguration, TenantOutline } from './configuration.ts';
import { cachedOutlines } from './crm-expressions.ts';
import { sortedJson } from './cross-checks.ts';
import type { Settings } from './settings-schema.ts';
import { keysAt, type YamlFile } from './yaml-file.ts';

function expressionsOf(crm: TargetConfiguration['crm']): string[] {
  return [...(crm?.mapping.values() ?? [])].flatMap(({ expression }) => expression ?? []);
}

/** The outline of a whole configuration. */
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
    sensitive: all.flatMap((target) =>
      [...(target.crm?.sensitive ?? [])].map(([field, reason]) => ({ target: target.id, field, reason })),
    ),
    expressions: cachedOutlines(all.flatMap(({ crm }) => expressionsOf(crm))),
    hash,
  };
}

/** Parts of a login that tell whose it is. */
const ACCOUNT_PARTS = ['account', 'username', 'subject', 'keyFile'];

/**
 * Which agendas a tenant's file writes into which calendars, where the file does not name its clinic: two files with a use in common are of one clinic.
 * Every agenda of a clinic counts only with a login whose account the file names: whoever else logs in may have a calendar of the same name.
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

/** Another release may write the same appointment otherwise. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Opens the hash of everything that decides what is planned for a tenant: its file with all defaults, its clinic's profile and address, the
 * rules of time zones, and the release. Secrets don't count: a new password changes no plan.
 */
export function configurationHashes(
  { clinicClients }: Pick<Settings, 'clinicClients'>,
  profiles: ReadonlyMap<string, ClinicProfile>,
): (tenant: TenantConfiguration) => string {
  // A profile takes longer to write out than all the rest of a tenant.
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
