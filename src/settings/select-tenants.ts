import type { Pieces } from '../core/model/pieces.ts';
import { message, type Text, withRemedy } from '../messages/message.ts';
import type { InvalidTenant, RefusedChange } from './configuration.ts';
import { faultAt } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import { profileFaults, type SettingsAndProfiles } from './surroundings.ts';
import { type CheckedTenant, NO_CLINIC, type ReadTenant, type TenantFiles, withFaults } from './tenants.ts';
import type { ValuePath } from './yaml-parser.ts';

/** Content of a running tenant, and its files with their secrets at that time. */
export interface Running {
  checked: CheckedTenant;
  files: TenantFiles;
}

type UsableTenant = ReadTenant & { checked: CheckedTenant };

/** Selected content of each tenant. */
export interface SelectedTenants {
  /** Valid files, or the earlier content of refused files. */
  running: UsableTenant[];
  refused: (RefusedChange & { tenant: string })[];
  /** Tenants with faults that did not run before. */
  unusable: InvalidTenant[];
}

/** Content of the running tenants, as far as still valid under the current settings and profiles. */
export class LastGood {
  readonly #running: ReadonlyMap<string, Running>;
  readonly #files: TenantFiles | null;
  readonly #settingsAndProfiles: SettingsAndProfiles;
  readonly #checked = new Map<string, ReadTenant>();

  /** @param files checks content again under changed settings and profiles; null if unchanged */
  constructor(
    running: ReadonlyMap<string, Running>,
    files: TenantFiles | null,
    settingsAndProfiles: SettingsAndProfiles,
  ) {
    this.#running = running;
    this.#files = files;
    this.#settingsAndProfiles = settingsAndProfiles;
  }

  /** Null for a tenant that did not run, or cannot continue. */
  of(id: string): UsableTenant | null {
    const found = this.#find(id);
    return found !== null && found.faults.length === 0 ? (found as UsableTenant) : null;
  }

  /** Decides whether the clinic is unchanged. */
  isClinicOf({ id, clinic }: ReadTenant): boolean {
    const now = this.#running.get(id)?.checked.outline.clinic;
    return now !== undefined && now.client === clinic.client && now.tenantId === clinic.tenantId;
  }

  /** Returns why a running tenant cannot continue. */
  faultsOf(id: string): readonly ConfigurationFault[] {
    return this.#find(id)?.faults ?? [];
  }

  #find(id: string): ReadTenant | null {
    const now = this.#running.get(id);
    if (now === undefined) return null;
    const found = this.#checked.get(id) ?? this.#check(now.checked);
    this.#checked.set(id, found);
    return found;
  }

  #check(checked: CheckedTenant): ReadTenant {
    if (this.#files !== null) return withProfileFaults(this.#files.checkAgain(checked), this.#settingsAndProfiles);
    const { id, clinic, formerly } = checked.outline;
    return { id, fileName: '', yaml: () => withFaults([]), clinic, formerly, faults: [], checked };
  }
}

/**
 * Selects the content for each tenant. A file with faults is refused: a running tenant continues with its last good content, another tenant
 * does not run. A claim on another tenant's clinic or name is also a fault; the current owner keeps the clinic or name.
 * @param unread rivals with unread files
 */
export function* selectTenants(
  read: readonly ReadTenant[],
  lastGood: LastGood,
  unread: readonly Rival[] = [],
): Pieces<SelectedTenants> {
  const faulty = new Map<string, readonly ConfigurationFault[]>();
  for (const { id, faults } of read) if (faults.length > 0) faulty.set(id, faults);
  for (;;) {
    const running = read.flatMap((tenant) =>
      faulty.has(tenant.id) ? (lastGood.of(tenant.id) ?? []) : (tenant as UsableTenant),
    );
    const rankOf = (tenant: ReadTenant) => (faulty.has(tenant.id) ? 0 : lastGood.isClinicOf(tenant) ? 1 : 2);
    const unusable = read.filter(({ id }) => faulty.has(id) && lastGood.of(id) === null);
    const doublesOf = findDoubleTenants([
      ...unread,
      ...running.map((tenant) => ({ ...tenant, rank: rankOf(tenant) })),
      // Tenants that do not run still claim their names, because stored state waits under the names.
      ...unusable.map((tenant) => ({ ...tenant, clinic: NO_CLINIC, formerly: undefined, rank: 2 })),
    ]);
    const doubles: [string, ConfigurationFault[]][] = [];
    for (const tenant of running) {
      const faults = faulty.has(tenant.id) ? [] : yield* doublesOf(tenant);
      if (faults.length > 0) doubles.push([tenant.id, faults]);
    }
    if (doubles.length === 0) {
      const [goOn, stay] = [true, false].map((runs) =>
        [...faulty].filter(([id]) => (lastGood.of(id) !== null) === runs),
      );
      return {
        running,
        refused: (goOn ?? []).map(([tenant, faults]) => ({ tenant, faults })),
        unusable: (stay ?? []).map(([id, faults]) => ({ id, faults })),
      };
    }
    // The earlier content of a refused tenant can conflict with another tenant's claim.
    for (const [id, faults] of doubles) faulty.set(id, faults);
  }
}

/** Returns every fault of every file. With `set-aside`, a tenant with faults is no rival of others. */
export function* everyFault(
  { settings, profiles }: SettingsAndProfiles,
  read: readonly ReadTenant[],
  mode: 'strict' | 'set-aside',
): Pieces<ConfigurationFault[]> {
  const rivals = mode === 'strict' ? read : read.filter((tenant) => tenant.faults.length === 0);
  const doublesOf = findDoubleTenants(rivals.map((tenant) => ({ ...tenant, rank: 0 })));
  const faults = [...settings.faults, ...[...profiles.broken.values()].flat(), ...profiles.strayFaults];
  for (const tenant of read) faults.push(...tenant.faults, ...(yield* doublesOf(tenant)));
  return faults;
}

/** Adds the faults of a tenant's profile. */
export function withProfileFaults(tenant: ReadTenant, settingsAndProfiles: SettingsAndProfiles): ReadTenant {
  const faults = profileFaults(settingsAndProfiles, tenant.clinic.client);
  return faults.length === 0 ? tenant : { ...tenant, faults: [...tenant.faults, ...faults] };
}

/** Facts that identify double tenants. */
type Claimant = Pick<ReadTenant, 'id' | 'clinic' | 'formerly'>;

/** A tenant that competes for claims; the lower rank wins. */
export interface Rival extends Claimant {
  rank: number;
}

/** A claim that only one tenant can own. */
interface Claim {
  /** Equal for equal claims. */
  what: string;
  /** Key in the file; null for the file name. With equal ranks, the file name wins over another tenant's `formerly`. */
  by: 'formerly' | 'clinic' | 'calendar' | null;
  /** Target that writes to the calendar. */
  target?: string;
}

/** Precedence of a claimant. */
type Precedence = Pick<Rival, 'id' | 'rank'> & { isOwn: boolean };

/**
 * Finds tenants that share a clinic, which would duplicate appointments, or a name, which would share state: reminders, opt-outs,
 * tombstones. One of the two gets a fault.
 * @param rivals tenants that will run, and the names of tenants that do not run but have stored state
 * @returns the faults of a tenant
 */
export function findDoubleTenants(
  rivals: readonly Rival[],
): (tenant: Claimant & Pick<ReadTenant, 'yaml'>) => Pieces<ConfigurationFault[]> {
  const firsts = new Map<string, Precedence>();
  for (const rival of rivals) {
    for (const { what, by } of claimsOf(rival)) {
      const precedence = { id: rival.id, rank: rival.rank, isOwn: by === null };
      const first = firsts.get(what);
      if (first === undefined || isAhead(precedence, first)) firsts.set(what, precedence);
    }
  }
  const ranks = new Map(rivals.map(({ id, rank }) => [id, rank]));
  return function* (tenant) {
    const lost = claimsOf(tenant).flatMap((claim) => {
      const first = firsts.get(claim.what);
      if (first === undefined || first.id === tenant.id) return [];
      const precedence = { id: tenant.id, rank: ranks.get(tenant.id) ?? first.rank, isOwn: claim.by === null };
      return isAhead(precedence, first) ? [] : [conflictOf(claim, first.id, tenant)];
    });
    if (lost.length === 0) return [];
    const read = yield* tenant.yaml();
    if ('faults' in read) return read.faults;
    const { lineOf } = read;
    const file = { ...read.file, lineOf };
    // Reported once for a target that shares several agendas.
    const distinct = new Map(lost.map((each) => [`${each.at.join('.')} ${each.other}`, each]));
    return [...distinct.values()].map(({ at, text, remedy, other }) => ({
      ...faultAt(file, at, text, remedy),
      other,
    }));
  };
}

function isAhead(one: Precedence, other: Precedence): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank;
  if (one.isOwn !== other.isOwn) return one.isOwn;
  return one.id < other.id;
}

/** Missing values claim nothing. A start checks thousands of claims, so texts are created only for a lost claim. */
function claimsOf({ id, clinic: { client, tenantId, calendars }, formerly }: Claimant): Claim[] {
  const claims: Claim[] = [{ what: `name ${id}`, by: null }];
  if (typeof formerly === 'string' && formerly !== id) claims.push({ what: `name ${formerly}`, by: 'formerly' });
  if (typeof client === 'string' && typeof tenantId === 'string') {
    claims.push({ what: JSON.stringify([client, tenantId]), by: 'clinic' });
  }
  for (const [use, target] of calendars) claims.push({ what: `calendar ${use}`, by: 'calendar', target });
  return claims;
}

/** Returns the conflicting claim, its remedy, and its path in the file. */
function conflictOf(
  { by, target = '' }: Claim,
  other: string,
  { formerly }: Claimant,
): { at: ValuePath; text: Text; remedy: Text; other: string } {
  const tenant = other;
  const conflict = (at: ValuePath, [text, remedy]: readonly [Text, Text]) => ({ at, text, remedy, other });
  if (by === null) return conflict([], withRemedy('settings.tenant-name', { tenant }));
  if (by === 'formerly') {
    const text = message(other === formerly ? 'settings.tenant-exists' : 'settings.tenant-renamed', { tenant });
    return conflict(['formerly'], [text, message('settings.tenant-formerly.remedy')]);
  }
  if (by === 'calendar') return conflict(['targets', target], withRemedy('settings.same-calendar', { tenant }));
  return conflict(['clinic', 'tenantId'], withRemedy('settings.same-clinic', { tenant }));
}
