import { ofInstallation } from '../../state/keys.ts';

/**
 * Keys of managed tenants in Redis. For terms and lifetimes, see `state/keys.ts`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{clinic-mirror}:managed-tenants` | hash   | until removed     | operator          | all processes |
 * | `cm:{clinic-mirror}:managed-revisions` | hash | permanent         | operator          | all processes |
 */
export const managedTenantKeys = {
  managedTenants: ofInstallation('managed-tenants'),
  managedRevisions: ofInstallation('managed-revisions'),
} as const;
