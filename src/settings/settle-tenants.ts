import type { RefusedChange, TenantSetAside } from './configuration.ts';
import { findDoubleTenants } from './double-tenants.ts';
import type { ConfigurationFault } from './faults.ts';
import { NO_CLINIC, type ReadTenant } from './tenants.ts';

/** What tenants that run are run under. */
export interface LastGoods {
  /** As far as it is good under the settings and profiles of now; null for a tenant that does not run. */
  of(id: string): ReadTenant | null;
  clinicOf(id: string): ReadTenant['clinic'] | null;
}

/** Under which content each tenant is run. */
export interface SettledTenants {
  /** Their files are without faults, or are refused and these are what they held before. */
  standing: ReadTenant[];
  refused: (RefusedChange & { tenant: string })[];
  /** Tenants whose files have faults and that did not run. */
  setAside: TenantSetAside[];
}

/**
 * Decides for each tenant under which content it is run. A file with faults is refused: a tenant that runs goes on under its last good
 * content, another is set aside. So is one that wants a clinic or a name that another tenant has; who has it now keeps it.
 */
export function settleTenants(read: readonly ReadTenant[], lastGoods: LastGoods): SettledTenants {
  const faulty = new Map<string, readonly ConfigurationFault[]>();
  for (const { id, faults } of read) if (faults.length > 0) faulty.set(id, faults);
  for (;;) {
    const standing = read.flatMap((tenant) => (faulty.has(tenant.id) ? (lastGoods.of(tenant.id) ?? []) : tenant));
    const rankOf = (tenant: ReadTenant) => (faulty.has(tenant.id) ? 0 : hasClinic(tenant, lastGoods) ? 1 : 2);
    const aside = read.filter(({ id }) => faulty.has(id) && lastGoods.of(id) === null);
    const doublesOf = findDoubleTenants([
      ...standing.map((tenant) => ({ ...tenant, rank: rankOf(tenant) })),
      // They hurt no other, but for their names: what is kept under these waits for them.
      ...aside.map((tenant) => ({ ...tenant, clinic: NO_CLINIC, formerly: undefined, rank: 2 })),
    ]);
    let isSettled = true;
    for (const tenant of standing) {
      const faults = faulty.has(tenant.id) ? [] : doublesOf(tenant);
      if (faults.length === 0) continue;
      // What it goes on with may be what another one wants.
      faulty.set(tenant.id, faults);
      isSettled = false;
    }
    if (isSettled) return { standing, ...told(faulty, lastGoods) };
  }
}

function told(
  faulty: ReadonlyMap<string, readonly ConfigurationFault[]>,
  lastGoods: LastGoods,
): Pick<SettledTenants, 'refused' | 'setAside'> {
  const all = [...faulty].map(([id, faults]) => ({ id, faults, runs: lastGoods.of(id) !== null }));
  return {
    refused: all.filter(({ runs }) => runs).map(({ id, faults }) => ({ tenant: id, faults })),
    setAside: all.filter(({ runs }) => !runs).map(({ id, faults }) => ({ id, faults })),
  };
}

function hasClinic({ id, clinic }: ReadTenant, { clinicOf }: LastGoods): boolean {
  const now = clinicOf(id);
  return now !== null && now.client === clinic.client && now.tenantId === clinic.tenantId;
}
