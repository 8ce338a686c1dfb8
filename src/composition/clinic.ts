import type { ClinicAccess } from '../control/clinic.ts';
import { requireTenant } from '../control/estate.ts';
import { createHttpDoor } from '../http/door.ts';
import { SECOND_MS } from '../model/time.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { Composition } from './compose.ts';
import { requireEntry } from './connections.ts';

/** Longest wait for another invoice of the same section. */
const SECTION_WAIT_MS = 60 * SECOND_MS;

/**
 * The clinic API of a tenant, under the tenant's own login and share of the budget.
 * @throws MirrorError as `requireTenant`
 */
export function openClinicAccess(composition: Composition, id: string): ClinicAccess {
  const { configuration, composed, estate, log } = composition;
  const { leases } = requireTenant(estate, id);
  const { tenant, connections } = requireEntry(composed, id);
  const connection = requireEntry(connections, CLINIC_CONNECTION);
  const client = requireEntry(configuration.settings.clinicClients, tenant.configuration.clinic.client);
  return {
    configuredTenantId: tenant.configuration.clinic.tenantId,
    context: {
      profile: requireEntry(configuration.profiles, client.profile),
      baseUrl: client.baseUrl,
      http: createHttpDoor({ userAgent: 'clinic-mirror', clock: estate.clock }),
      budget: connection.budget,
      authorization: connection.authorizer(CLINIC_CONNECTION),
      clock: estate.clock,
      log: log.child({ tenant: id }),
    },
    async serialise({ sectionId }, work, signal) {
      const lease = await leases.take(`invoices ${sectionId}`, SECTION_WAIT_MS, signal);
      try {
        return await work(AbortSignal.any([lease.signal, signal]));
      } finally {
        await lease.release();
      }
    },
  };
}
