import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { TenantConfiguration } from './configuration.ts';
import type { Settings } from './settings-schema.ts';

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
  const told = JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof Map || inner instanceof Set ? [...inner] : inner,
  );
  return hash('sha256', told, 'base64url');
}
