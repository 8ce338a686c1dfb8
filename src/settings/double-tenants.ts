import { faultAt } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import type { ReadTenant } from './tenants.ts';
import type { ValuePath } from './yaml-file.ts';

/** What double tenants are told by. */
type Claimant = Pick<ReadTenant, 'id' | 'clinic' | 'formerly'>;

/** A tenant that wants what others may want; of two that want the same, the one of the lower rank has it. */
export interface Rival extends Claimant {
  rank: number;
}

/** Something that one tenant alone can have. */
interface Claim {
  /** The same text for the same thing. */
  what: string;
  /** Whether it is the tenant's by the name of its file; of equal rank that goes before what another says it was formerly. */
  isOwn: boolean;
  /** Where the tenant's file says so. */
  at: ValuePath;
  message(first: string): string;
  remedy: string;
}

/** How far ahead somebody is in wanting something. */
type Standing = Pick<Rival, 'id' | 'rank'> & Pick<Claim, 'isOwn'>;

/**
 * Two files for one clinic would each write its appointments, and two for one name would share what is kept under it: reminders, opt-outs,
 * tombstones. One of them is at fault.
 * @param rivals tenants that will be used, and the names of those that are set aside, whose state waits for them
 * @returns the faults of a tenant
 */
export function findDoubleTenants(
  rivals: readonly Rival[],
): (tenant: Claimant & Pick<ReadTenant, 'yaml'>) => ConfigurationFault[] {
  const firsts = new Map<string, Standing>();
  for (const rival of rivals) {
    for (const { what, isOwn } of claimsOf(rival)) {
      const standing = { id: rival.id, rank: rival.rank, isOwn };
      const first = firsts.get(what);
      if (first === undefined || isAhead(standing, first)) firsts.set(what, standing);
    }
  }
  const ranks = new Map(rivals.map(({ id, rank }) => [id, rank]));
  return (tenant) => {
    const lost = claimsOf(tenant).flatMap((claim) => {
      const first = firsts.get(claim.what);
      if (first === undefined || first.id === tenant.id) return [];
      const standing = { id: tenant.id, rank: ranks.get(tenant.id) ?? first.rank, isOwn: claim.isOwn };
      return isAhead(standing, first) ? [] : [{ ...claim, first: first.id }];
    });
    if (lost.length === 0) return [];
    const read = tenant.yaml();
    if ('faults' in read) return read.faults;
    return lost.map(({ at, message, first, remedy }) => faultAt(read.file, at, message(first), remedy));
  };
}

function isAhead(one: Standing, other: Standing): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank;
  if (one.isOwn !== other.isOwn) return one.isOwn;
  return one.id < other.id;
}

/** Nothing is claimed where the file does not tell. */
function claimsOf({ id, clinic: { client, tenantId }, formerly }: Claimant): Claim[] {
  const claims: Claim[] = [
    {
      what: nameOf(id),
      isOwn: true,
      at: [],
      message: (first) => `the tenant ${first} was formerly called so, and its state has this name`,
      remedy: 'give this file another name',
    },
  ];
  if (typeof formerly === 'string' && formerly !== id) {
    claims.push({
      what: nameOf(formerly),
      isOwn: false,
      at: ['formerly'],
      message: (first) =>
        first === formerly ? `there is a tenant ${first}` : `the tenant ${first} was formerly the same`,
      remedy: 'remove formerly, or the other file: what is kept under a name is of one tenant alone',
    });
  }
  if (typeof client === 'string' && typeof tenantId === 'string') {
    claims.push({
      what: JSON.stringify(['clinic', client, tenantId]),
      isOwn: false,
      at: ['clinic', 'tenantId'],
      message: (first) => `the tenant ${first} is the same clinic`,
      remedy: 'keep one file for one clinic, with all of its targets',
    });
  }
  return claims;
}

function nameOf(tenant: string): string {
  return JSON.stringify(['name', tenant]);
}
