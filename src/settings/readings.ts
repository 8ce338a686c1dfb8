import { join } from 'node:path';
import { type Configuration, deepFreeze } from './configuration.ts';
import { findDoubleTenants } from './double-tenants.ts';
import { ConfigurationError, type ConfigurationFault } from './faults.ts';
import type { ManagedTenants } from './managed-tenant.ts';
import { OnDemand } from './on-demand.ts';
import { takeUpSettings } from './restart-settings.ts';
import type { SeenFiles } from './seen-files.ts';
import type { LastGoods } from './settle-tenants.ts';
import { profileFaults, type Surroundings } from './surroundings.ts';
import type { ReadTenant, TenantFiles } from './tenants.ts';
import type { Verdict } from './verdicts.ts';

/** Under which content a tenant is run, and the files that it was read with: its secrets are as they were then. */
export interface Running {
  verdict: Verdict;
  files: TenantFiles;
}

/** One reading of all files. */
export interface ConfigurationReading {
  surroundings: Surroundings;
  /** As they were then. */
  managed: ManagedTenants;
  running: ReadonlyMap<string, Running>;
  seen: SeenFiles;
  configuration: Configuration;
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
export function withProfileFaults(read: readonly ReadTenant[], surroundings: Surroundings): ReadTenant[] {
  return read.map((tenant) => {
    const faults = profileFaults(surroundings, tenant.clinic.client);
    return faults.length === 0 ? tenant : { ...tenant, faults: [...tenant.faults, ...faults] };
  });
}

/**
 * What tenants are run under since the last reading. `faultsOf` tells why that is not good any more.
 * @param files checks again what was checked under other settings and profiles; null when they are the same
 */
export function lastGoods(
  { running }: Pick<ConfigurationReading, 'running'>,
  files: TenantFiles | null,
  surroundings: Surroundings,
): LastGoods & { faultsOf(id: string): readonly ConfigurationFault[] } {
  const checked = new Map<string, ReadTenant>();
  function check({ verdict }: Running): ReadTenant {
    const { id, clinic, formerly } = verdict.outline;
    const yaml = () => ({ faults: [] });
    if (files === null) return { id, fileName: '', yaml, clinic, formerly, faults: [], verdict };
    return withProfileFaults([files.checkAgain(verdict)], surroundings)[0] as ReadTenant;
  }
  function find(id: string): ReadTenant | null {
    const now = running.get(id);
    if (now === undefined) return null;
    const found = checked.get(id) ?? check(now);
    checked.set(id, found);
    return found;
  }
  return {
    of(id) {
      const found = find(id);
      return found !== null && found.faults.length === 0 ? found : null;
    },
    clinicOf: (id) => running.get(id)?.verdict.outline.clinic ?? null,
    faultsOf: (id) => find(id)?.faults ?? [],
  };
}

/** Settings as a running process takes them up; the same objects when nothing was read again. */
export function settingsOf(
  surroundings: Surroundings,
  before: ConfigurationReading,
): Pick<Configuration, 'settings' | 'awaitsRestart'> {
  const { settings, awaitsRestart } = before.configuration;
  const { value } = surroundings.settings;
  if (surroundings === before.surroundings || value === null) return { settings, awaitsRestart };
  return takeUpSettings(value, settings);
}

/** The configuration that a reading amounts to. */
export function configurationOf(
  { profiles }: Surroundings,
  running: ReadonlyMap<string, Running>,
  { settings, awaitsRestart, setAside, refused }: Omit<Configuration, 'outlines' | 'tenants' | 'profiles' | 'managed'>,
): Configuration {
  const open = (id: string) => {
    const { verdict, files } = running.get(id) as Running;
    return files.open(verdict);
  };
  return {
    ...deepFreeze({ settings, profiles: profiles.valid, setAside, refused, awaitsRestart }),
    outlines: new Map([...running].map(([id, { verdict }]) => [id, verdict.outline])),
    managed: new Set([...running].filter(([, { verdict }]) => verdict.managed !== null).map(([id]) => id)),
    tenants: new OnDemand(running.keys(), open, { keep: 0 }),
  };
}

/** The error of a folder that lost every file at once: it counts as one that can't be read now. */
export function noTenants(dir: string): ConfigurationError {
  const message = 'no tenant of a file would be left';
  const remedy = 'put the files back; to run without them, restart the daemon';
  return new ConfigurationError([{ file: join(dir, 'tenants'), line: null, path: '', message, remedy }]);
}
