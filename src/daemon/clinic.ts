import { CompiledProfile } from '../clinic/schema/profile.ts';
import type { SerialiseSection } from '../clinic/write/invoice-calls.ts';
import { createHttpClient } from '../core/http/client.ts';
import { MINUTE_MS } from '../core/model/time.ts';
import type { ClinicAccess } from '../operator/control/clinic.ts';
import { requireTenant } from '../operator/control/installation.ts';
import { profileFile } from '../settings/surroundings.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { Leases } from '../state/leases.ts';
import type { Composition } from './compose.ts';
import { requireEntry } from './open-connection.ts';

/**
 * Opens the clinic API of a tenant with the tenant's connection and share of the budget.
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

/** Longest wait for a section in which other daemons create invoices. */
const WAIT_MS = 2 * MINUTE_MS;

/**
 * Serialises the creation of invoices per section across all daemons with shared leases. Calls of this process queue locally, so that only
 * the first waits for the lease. Throws `lease-busy` if the section stays busy, `lease-lost` if another process took over.
 */
export function serialiseSections(leases: Leases): SerialiseSection {
  const lines = new Map<string, Promise<unknown>>();

  async function alone<Value>(
    name: string,
    work: (signal: AbortSignal) => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value> {
    const lease = await leases.take(name, WAIT_MS, signal);
    try {
      return await work(AbortSignal.any([signal, lease.signal]));
    } finally {
      await lease.release();
    }
  }

  return async ({ tenantId, sectionId }, work, signal) => {
    const name = `invoices:${tenantId}:${sectionId}`;
    const before = lines.get(name) ?? Promise.resolve();
    const mine = before.then(() => alone(name, work, signal));
    const completion = mine.catch(() => undefined);
    lines.set(name, completion);
    try {
      return await mine;
    } finally {
      if (lines.get(name) === completion) lines.delete(name);
    }
  };
}
