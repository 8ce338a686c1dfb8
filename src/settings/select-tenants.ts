import { message, type Text, withRemedy } from '../messages/message.ts';
import type { InvalidTenant, RefusedChange } from './configuration.ts';
import { faultAt } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import { profileFaults, type SettingsAndProfiles } from './surroundings.ts';
import { type CheckedTenant, NO_CLINIC, type ReadTenant, type TenantFiles } from './tenants.ts';
import type { ValuePath } from './yaml-file.ts';

/** Under which content a tenant is run, and the files that it was read with: its secrets are as they were then. */
export interface Running {
  checked: CheckedTenant;
  files: TenantFiles;
}

/** A tenant that has no faults. */
type UsableTenant = ReadTenant & { checked: CheckedTenant };

/** Under which content each tenant is run. */
export interface SelectedTenants {
  /** Their files are without faults, or are refused and these are what they held before. */
  running: UsableTenant[];
  refused: (RefusedChange & { tenant: string })[];
  /** Tenants whose files have faults and that did not run. */
  unusable: InvalidTenant[];
}

/** What tenants were run under since the last reading, as far as it is good under the settings and profiles of now. */
export class LastGood {
  readonly #running: ReadonlyMap<string, Running>;
  readonly #files: TenantFiles | null;
  readonly #settingsAndProfiles: SettingsAndProfiles;
  readonly #checked = new Map<string, ReadTenant>();

  /** @param files checks again what was checked under other settings and profiles; null when they are the same */
  constructor(
    running: ReadonlyMap<string, Running>,
    files: TenantFiles | null,
    settingsAndProfiles: SettingsAndProfiles,
  ) {
    this.#running = running;
    this.#files = files;
    this.#settingsAndProfiles = settingsAndProfiles;
  }

  /** Null for a tenant that did not run, or can't go on. */
  of(id: string): UsableTenant | null {
    const found = this.#find(id);
    return found !== null && found.faults.length === 0 ? (found as UsableTenant) : null;
  }

  /** Whether it is the clinic of the tenant that ran. */
  isClinicOf({ id, clinic }: ReadTenant): boolean {
    const now = this.#running.get(id)?.checked.outline.clinic;
    return now !== undefined && now.client === clinic.client && now.tenantId === clinic.tenantId;
  }

  /** Why a tenant that ran can't go on. */
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
    return { id, fileName: '', yaml: () => ({ faults: [] }), clinic, formerly, faults: [], checked };
  }
}

/**
 * Decides for each tenant under which content it is run. A file with faults is refused: a tenant that runs goes on under its last good
 * content, another is set aside. So is one that wants a clinic or a name that another tenant has; who has it now keeps it.
 * @param unread rivals whose files were not read
 */
export function selectTenants(
  read: readonly ReadTenant[],
  lastGood: LastGood,
  unread: readonly Rival[] = [],
): SelectedTenants {
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
      // They hurt no other, but for their names: what is kept under these waits for them.
      ...unusable.map((tenant) => ({ ...tenant, clinic: NO_CLINIC, formerly: undefined, rank: 2 })),
    ]);
    const doubles = running.flatMap((tenant): [string, ConfigurationFault[]][] => {
      const faults = faulty.has(tenant.id) ? [] : doublesOf(tenant);
      return faults.length === 0 ? [] : [[tenant.id, faults]];
    });
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
    // What a refused tenant goes on with may be what another one wants.
    for (const [id, faults] of doubles) faulty.set(id, faults);
  }
}

/** Every fault of every file. With `set-aside` a tenant with faults is no rival of another. */
export function everyFault(
  { settings, profiles }: SettingsAndProfiles,
  read: readonly ReadTenant[],
  mode: 'strict' | 'set-aside',
): ConfigurationFault[] {
  const rivals = mode === 'strict' ? read : read.filter((tenant) => tenant.faults.length === 0);
  const doublesOf = findDoubleTenants(rivals.map((tenant) => ({ ...tenant, rank: 0 })));
  return [
    ...settings.faults,
    ...[...profiles.broken.values()].flat(),
    ...profiles.strayFaults,
    ...read.flatMap((tenant) => [...tenant.faults, ...doublesOf(tenant)]),
  ];
}

/** A tenant whose clinic goes by a profile with faults can't be used either. */
export function withProfileFaults(tenant: ReadTenant, settingsAndProfiles: SettingsAndProfiles): ReadTenant {
  const faults = profileFaults(settingsAndProfiles, tenant.clinic.client);
  return faults.length === 0 ? tenant : { ...tenant, faults: [...tenant.faults, ...faults] };
}

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
type Precedence = Pick<Rival, 'id' | 'rank'> & { isOwn: boolean };

/**
 * Two files for one clinic would each write its appointments, and two for one name would share what is kept under it: reminders, opt-outs,
 * tombstones. One of them is at fault.
 * @param rivals tenants that will be used, and the names of those that are set aside, whose state waits for them
 * @returns the faults of a tenant
 */
export function findDoubleTenants(
  rivals: readonly Rival[],
): (tenant: Claimant & Pick<ReadTenant, 'yaml'>) => ConfigurationFault[] {
  const firsts = new Map<string, Precedence>();
  for (const rival of rivals) {
    for (const { what, by } of claimsOf(rival)) {
      const precedence = { id: rival.id, rank: rival.rank, isOwn: by === null };
      const first = firsts.get(what);
      if (first === undefined || isAhead(precedence, first)) firsts.set(what, precedence);
    }
  }
  const ranks = new Map(rivals.map(({ id, rank }) => [id, rank]));
  return (tenant) => {
    const lost = claimsOf(tenant).flatMap((claim) => {
      const first = firsts.get(claim.what);
      if (first === undefined || first.id === tenant.id) return [];
      const precedence = { id: tenant.id, rank: ranks.get(tenant.id) ?? first.rank, isOwn: claim.by === null };
      return isAhead(precedence, first) ? [] : [conflictOf(claim, first.id, tenant)];
    });
    if (lost.length === 0) return [];
    const read = tenant.yaml();
    if ('faults' in read) return read.faults;
    // Of a target that shares several agendas it is said once.
    const distinct = new Map(lost.map((each) => [`${each.at.join('.')} ${each.other}`, each]));
    return [...distinct.values()].map(({ at, text, remedy, other }) => ({
      ...faultAt(read.file, at, text, remedy),
      other,
    }));
  };
}

function isAhead(one: Precedence, other: Precedence): boolean {
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

/** What another tenant has, what to do, and where the file claims the same. */
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
