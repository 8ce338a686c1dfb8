import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { requireEntry } from './connections.ts';

/** Another release may write the same appointment otherwise. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Hash of everything that decides what is planned for a tenant: its file with all defaults, its clinic's profile and address, the rules
 * of time zones, and the release. Secrets don't count: a new password changes no plan.
 */
export function configurationHash(tenant: TenantConfiguration, { settings, profiles }: Configuration): string {
  const { baseUrl, profile } = requireEntry(settings.clinicClients, tenant.clinic.client);
  const told = JSON.stringify(
    [version, process.versions.tz ?? '', tenant, baseUrl, profiles.get(profile)],
    (_, value: unknown) => (value instanceof Map || value instanceof Set ? [...value] : value),
  );
  return createHash('sha256').update(told).digest('base64url');
}
