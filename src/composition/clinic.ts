import { CompiledProfile } from '../clinic/schema/profile.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import { requireTenant } from '../control/installation.ts';
import { createHttpClient } from '../http/client.ts';
import { profileFile } from '../settings/surroundings.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { Composition } from './compose.ts';
import { requireEntry } from './connections.ts';
import { serialiseSections } from './invoice-sections.ts';

/**
 * The clinic API of a tenant, under the tenant's own login and share of the budget.
 * @throws MirrorError as `requireTenant`
 */
export function openClinicAccess(composition: Composition, id: string): ClinicAccess {
  const { configuration, composed, installation, log } = composition;
  const { leases } = requireTenant(installation, id);
  const { tenant, connections } = requireEntry(composed, id);
  const connection = requireEntry(connections, CLINIC_CONNECTION);
  const client = requireEntry(configuration.settings.clinicClients, tenant.configuration.clinic.client);
  const profile = requireEntry(configuration.profiles, client.profile);
  return {
    tenant: id,
    tenantId: tenant.clinic.tenantId,
    configuredId: tenant.configuration.clinic.tenantId,
    context: {
      profile,
      profileFile: profileFile(client.profile),
      compiled: new CompiledProfile(profile),
      pagings: new Map(),
      baseUrl: client.baseUrl,
      http: createHttpClient({ userAgent: 'clinic-mirror', clock: installation.clock }),
      budget: connection.budget,
      authorization: connection.authorizer(CLINIC_CONNECTION),
      clock: installation.clock,
      log: log.child({ tenant: id }),
    },
    serialise: serialiseSections(leases),
  };
}
