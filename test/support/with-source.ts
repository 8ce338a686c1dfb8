import { createClinicSource } from '../../src/domain/clinic-source.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';

/** Returns the tenant with a source that reads with the tenant's own members, also with those that a test replaces later. */
export function withSource(members: Omit<OpenTenant, 'source'>): OpenTenant {
  const tenant = { ...members };
  return Object.assign(tenant, { source: createClinicSource(tenant) });
}
