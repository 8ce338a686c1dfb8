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
  /** By which key of its file; null: by the file's name. Of equal rank that goes before what another says it was formerly. */
  by: 'formerly' | 'clinic' | 'calendar' | null;
  /** Of a calendar the target that writes to it. */
  target?: string;
}

/** How far ahead somebody is in wanting something. */
type Standing = Pick<Rival, 'id' | 'rank'> & { isOwn: boolean };

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
    for (const { what, by } of claimsOf(rival)) {
      const standing = { id: rival.id, rank: rival.rank, isOwn: by === null };
      const first = firsts.get(what);
      if (first === undefined || isAhead(standing, first)) firsts.set(what, standing);
    }
  }
  const ranks = new Map(rivals.map(({ id, rank }) => [id, rank]));
  return (tenant) => {
    const lost = claimsOf(tenant).flatMap((claim) => {
      const first = firsts.get(claim.what);
      if (first === undefined || first.id === tenant.id) return [];
      const standing = { id: tenant.id, rank: ranks.get(tenant.id) ?? first.rank, isOwn: claim.by === null };
      return isAhead(standing, first) ? [] : [toldOf(claim, first.id, tenant)];
    });
    if (lost.length === 0) return [];
    const read = tenant.yaml();
    if ('faults' in read) return read.faults;
    // Of a target that shares several agendas it is said once.
    const told = new Map(lost.map((each) => [`${each.at.join('.')} ${each.other}`, each]));
    return [...told.values()].map(({ at, message, remedy, other }) => ({
      ...faultAt(read.file, at, message, remedy),
      other,
    }));
  };
}

function isAhead(one: Standing, other: Standing): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank;
  if (one.isOwn !== other.isOwn) return one.isOwn;
  return one.id < other.id;
}

/** Nothing is claimed where the file does not tell. A start looks at thousands, so what is said of one is made for who lost it. */
function claimsOf({ id, clinic: { client, tenantId, calendars }, formerly }: Claimant): Claim[] {
  const claims: Claim[] = [{ what: `name ${id}`, by: null }];
  if (typeof formerly === 'string' && formerly !== id) claims.push({ what: `name ${formerly}`, by: 'formerly' });
  if (typeof client === 'string' && typeof tenantId === 'string') {
    claims.push({ what: JSON.stringify([client, tenantId]), by: 'clinic' });
  }
  for (const [use, target] of calendars) claims.push({ what: `calendar ${use}`, by: 'calendar', target });
  return claims;
}

/** What is said to whoever wants what another tenant has, and where its file says that it wants it. */
function toldOf(
  { by, target = '' }: Claim,
  first: string,
  { formerly }: Claimant,
): { at: ValuePath; message: string; remedy: string; other: string } {
  const other = first;
  if (by === null) {
    const message = `the tenant ${first} was formerly called so, and its state has this name`;
    return { at: [], message, remedy: 'give this file another name', other };
  }
  if (by === 'formerly') {
    const message = first === formerly ? `there is a tenant ${first}` : `the tenant ${first} was formerly the same`;
    const remedy = 'remove formerly, or the other file: what is kept under a name is of one tenant alone';
    return { at: ['formerly'], message, remedy, other };
  }
  if (by === 'calendar') {
    const message = `the tenant ${first} writes the same agendas into the same calendar`;
    const remedy = 'keep one file for one clinic, with all of its targets; of two clinics name each in clinic.tenantId';
    return { at: ['targets', target], message, remedy, other };
  }
  const remedy = 'keep one file for one clinic, with all of its targets';
  return { at: ['clinic', 'tenantId'], message: `the tenant ${first} is the same clinic`, remedy, other };
}
