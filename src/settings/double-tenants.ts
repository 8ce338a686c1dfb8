import { faultAt } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import type { ReadTenant } from './tenants.ts';
import { readYamlFile } from './yaml-file.ts';

/** A tenant that wants a clinic; of two that want the same, the one of the lower rank has it, else the first by name. */
export interface Rival extends Pick<ReadTenant, 'id' | 'fileName' | 'clinic'> {
  rank: number;
}

/**
 * Two files for one clinic would each write its appointments: one of them is at fault.
 * @param rivals tenants that will be used; one that is set aside hurts no other
 * @returns the faults of a tenant
 */
export function findDoubleTenants(
  rivals: readonly Rival[],
): (tenant: Pick<ReadTenant, 'id' | 'fileName' | 'clinic'>) => ConfigurationFault[] {
  const firsts = new Map<string, Rival>();
  for (const rival of rivals) {
    const clinic = clinicOf(rival);
    if (clinic === null) continue;
    const first = firsts.get(clinic);
    if (first === undefined || isAhead(rival, first)) firsts.set(clinic, rival);
  }
  const ranks = new Map(rivals.map(({ id, rank }) => [id, rank]));
  return (tenant) => {
    const first = firsts.get(clinicOf(tenant) ?? '');
    if (first === undefined || first.id === tenant.id) return [];
    if (isAhead({ id: tenant.id, rank: ranks.get(tenant.id) ?? first.rank }, first)) return [];
    const read = readYamlFile(tenant.fileName);
    if ('faults' in read) return read.faults;
    const message = `the tenant ${first.id} is the same clinic`;
    const remedy = 'keep one file for one clinic, with all of its targets';
    return [faultAt(read.file, ['clinic', 'tenantId'], message, remedy)];
  };
}

function isAhead(one: Pick<Rival, 'id' | 'rank'>, other: Pick<Rival, 'id' | 'rank'>): boolean {
  return one.rank < other.rank || (one.rank === other.rank && one.id < other.id);
}

/** The same text for the same clinic; null where the file does not tell. */
function clinicOf({ clinic: { client, tenantId } }: Pick<ReadTenant, 'clinic'>): string | null {
  const named = [client, tenantId];
  return named.every((part) => typeof part === 'string') ? JSON.stringify(named) : null;
}
