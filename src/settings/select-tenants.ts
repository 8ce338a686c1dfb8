import type { RefusedChange, TenantSetAside } from './configuration.ts';
import { findDoubleTenants, type Rival } from './double-tenants.ts';
import type { ConfigurationFault } from './faults.ts';
import { profileFaults, type Surroundings } from './surroundings.ts';
import { type CheckedTenant, NO_CLINIC, type ReadTenant, type TenantFiles } from './tenants.ts';

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
  setAside: TenantSetAside[];
}

/** What tenants were run under since the last reading, as far as it is good under the settings and profiles of now. */
export class LastGood {
  readonly #running: ReadonlyMap<string, Running>;
  readonly #files: TenantFiles | null;
  readonly #surroundings: Surroundings;
  readonly #checked = new Map<string, ReadTenant>();

  /** @param files checks again what was checked under other settings and profiles; null when they are the same */
  constructor(running: ReadonlyMap<string, Running>, files: TenantFiles | null, surroundings: Surroundings) {
    this.#running = running;
    this.#files = files;
    this.#surroundings = surroundings;
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
    if (this.#files !== null) return withProfileFaults(this.#files.checkAgain(checked), this.#surroundings);
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
        setAside: (stay ?? []).map(([id, faults]) => ({ id, faults })),
      };
    }
    // What a refused tenant goes on with may be what another one wants.
    for (const [id, faults] of doubles) faulty.set(id, faults);
  }
}

/** Every fault of every file. With `set-aside` a tenant with faults is no rival of another. */
export function everyFault(
  { settings, profiles }: Surroundings,
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
export function withProfileFaults(tenant: ReadTenant, surroundings: Surroundings): ReadTenant {
  const faults = profileFaults(surroundings, tenant.clinic.client);
  return faults.length === 0 ? tenant : { ...tenant, faults: [...tenant.faults, ...faults] };
}
