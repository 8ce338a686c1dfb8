import type { Pieces } from '../core/model/pieces.ts';
import { type Configuration, deepFreeze } from './configuration.ts';
import { ConfigurationError, type ConfigurationFault } from './faults.ts';
import { type FileUse, type LastRun, NO_LAST_RUN, readLastRun } from './last-run.ts';
import { SeenFiles } from './list-files.ts';
import type { ManagedTenants } from './managed-tenant.ts';
import { secretSchemas } from './secret-reference.ts';
import { everyFault, type Rival, type Running } from './select-tenants.ts';
import {
  type ReadOptions,
  readSettingsAndProfiles,
  type SettingsAndProfiles,
  withProfilesOfBefore,
} from './surroundings.ts';
import { tenantSecrets } from './tenant-secrets.ts';
import {
  type ListedTenants,
  NO_CLINIC,
  openTenantFiles,
  type ReadTenant,
  type TenantFiles,
  type TenantParts,
} from './tenants.ts';

/** Options for loading a configuration. */
export interface LoadOptions extends ReadOptions {
  /**
   * `strict`: throws on any fault of any file. `set-aside`: omits and lists a tenant with faults, or with a faulty profile, so that other
   * tenants run; throws only for faults of the settings.
   */
  mode: 'strict' | 'set-aside';
  /** Reads only one tenant's file, for read-only commands. Default, and for an unknown tenant: all files. */
  only?: string;
  /** Purpose of the read; absent: check only. A daemon checks its tenants after the start: `ConfigurationFiles.check`. */
  use?: FileUse;
}

/** Result of reading all files. */
export interface Reading {
  settingsAndProfiles: SettingsAndProfiles;
  /** Managed tenants at that time. */
  managed: ManagedTenants;
  running: ReadonlyMap<string, Running>;
  seen: SeenFiles;
  configuration: Configuration;
}

/** Unfinished part of a first read. */
export interface FirstReading extends Begun {
  files: TenantFiles;
  listed: ListedTenants;
  /** Claims of the tenants read so far. */
  rivals: Rival[];
}

/** Start of a first read. */
export interface Begun {
  settingsAndProfiles: SettingsAndProfiles;
  seen: SeenFiles;
  managed: ManagedTenants;
  /** Content of the last run of the tenants. */
  lastRun: LastRun;
  /** Faults of profiles that are replaced by their earlier content. */
  ofProfiles: readonly ConfigurationFault[];
}

export function openFiles(
  options: LoadOptions,
  {
    settingsAndProfiles,
    managed,
    seen,
    earlier = new Map(),
    refused = new Set(),
  }: Pick<Begun, 'settingsAndProfiles' | 'managed' | 'seen'> & Partial<Pick<TenantParts, 'earlier' | 'refused'>>,
): TenantFiles {
  const { settings, profiles, definedNames } = settingsAndProfiles;
  const ofSettings = settings.secrets.map(([reference]) => reference);
  const secrets = tenantSecrets({ ...options, seen }, ofSettings);
  const usable = settings.value === null ? null : { settings: settings.value, profiles: profiles.valid };
  const { dir } = options;
  return openTenantFiles({
    dir,
    managed,
    secrets,
    definedNames,
    seen,
    earlier,
    refused,
    usable,
  });
}

export function* readAll(files: TenantFiles, only?: string): Pieces<ReadTenant[]> {
  const listed = files.list(only);
  return [...(yield* readSome(listed, listed.ids)), ...listed.strays];
}

export function* readSome(listed: ListedTenants, ids: readonly string[]): Pieces<ReadTenant[]> {
  const read: ReadTenant[] = [];
  for (const id of ids) {
    read.push(...(yield* listed.read(id)));
    yield;
  }
  return read;
}

/** Collects all faults: faults of settings stop the start of a daemon at once, other processes report the faults of all files. */
export function* whyUnusable(options: LoadOptions, begun: Begun): Pieces<ConfigurationError> {
  const read = options.use === 'daemon' ? [] : yield* readAll(openFiles(options, begun), options.only);
  return new ConfigurationError(yield* everyFault(begun.settingsAndProfiles, read, options.mode));
}

/** Returns a tenant that claims only its name, for which its stored state is reserved. */
export function nameAlone(id: string): Rival {
  return { id, clinic: NO_CLINIC, formerly: undefined, rank: 2 };
}

export function claimsOnly({ id, clinic, formerly }: ReadTenant): Rival {
  return { id, clinic, formerly, rank: 2 };
}

/** Reads settings and profiles, which all tenants depend on. */
export function begin(options: LoadOptions): Begun {
  const seen = new SeenFiles();
  const read = readSettingsAndProfiles(options, secretSchemas({ ...options, seen }), seen);
  const { value } = read.settings;
  const lastRun = options.use !== 'command' || value === null ? NO_LAST_RUN : readLastRun(options.dir, value);
  const settingsAndProfiles = withProfilesOfBefore(options, read, lastRun.profiles);
  const isOfNow = (id: string) => settingsAndProfiles.profiles.broken.has(id);
  const ofProfiles = [...read.profiles.broken].flatMap(([id, faults]) => (isOfNow(id) ? [] : faults));
  return { settingsAndProfiles, seen, managed: new Map(), lastRun, ofProfiles };
}

/** Records files with invalid names, which are not read. */
export function recordStray(read: readonly ReadTenant[], seen: SeenFiles): void {
  for (const { id, fileName } of read) if (id === fileName) seen.isAsBefore(fileName);
}

/** Returns the configuration of a read. */
export function configurationOf(
  { profiles }: SettingsAndProfiles,
  running: ReadonlyMap<string, Running>,
  parts: Omit<Configuration, 'outlines' | 'tenants' | 'profiles' | 'managed'>,
): Configuration {
  const open = (id: string) => {
    const { checked, files } = running.get(id) as Running;
    return files.open(checked);
  };
  const { settings, unchecked, unusable, refused, awaitsRestart } = parts;
  return {
    ...deepFreeze({ settings, profiles: profiles.valid, unusable, refused, awaitsRestart }),
    unchecked,
    outlines: new Map([...running].map(([id, { checked }]) => [id, checked.outline])),
    managed: new Set([...running].filter(([, { checked }]) => checked.managed !== null).map(([id]) => id)),
    tenants: new OnDemand(running.keys(), open, { capacity: 0 }),
  };
}

/** Options of an {@link OnDemand} map. */
interface OnDemandOptions<Value> {
  /** Maximum number of cached values; the least recently used is removed first. */
  capacity: number;
  /** Decides whether a value may be removed; default: always. Other values remain above the maximum. */
  mayGo?(value: Value): boolean;
}

/** A map with known keys whose values are created at first use; iteration creates one after another. */
export class OnDemand<Value> implements ReadonlyMap<string, Value> {
  #keys: ReadonlySet<string>;
  readonly #make: (key: string) => Value;
  readonly #options: OnDemandOptions<Value>;
  /** Ordered by last use. */
  readonly #values = new Map<string, Value>();

  constructor(keys: Iterable<string>, make: (key: string) => Value, options: OnDemandOptions<Value>) {
    this.#keys = new Set(keys);
    this.#make = make;
    this.#options = options;
  }

  get size(): number {
    return this.#keys.size;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  get(key: string): Value | undefined {
    if (!this.#keys.has(key)) return undefined;
    const value = this.#values.get(key) ?? this.#make(key);
    this.#values.delete(key);
    this.#values.set(key, value);
    this.#letGo();
    return value;
  }

  /** Replaces the keys. Cached values of changed or removed keys are created again at the next use. */
  change(keys: Iterable<string>, changed: Iterable<string>): void {
    this.#keys = new Set(keys);
    for (const key of changed) this.#values.delete(key);
    for (const key of this.#values.keys()) if (!this.#keys.has(key)) this.#values.delete(key);
  }

  /** Returns a cached value without creating one. */
  peek(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Returns the cached values. */
  cachedValues(): Value[] {
    return [...this.#values.values()];
  }

  keys(): SetIterator<string> {
    return this.#keys.values();
  }

  *values(): Generator<Value, undefined> {
    for (const [, value] of this) yield value;
  }

  entries(): Generator<[string, Value], undefined> {
    return this[Symbol.iterator]();
  }

  *[Symbol.iterator](): Generator<[string, Value], undefined> {
    for (const key of this.#keys) yield [key, this.get(key) as Value];
  }

  forEach(visit: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  #letGo(): void {
    const { capacity, mayGo = () => true } = this.#options;
    for (const [key, value] of this.#values) {
      if (this.#values.size <= capacity) break;
      if (mayGo(value)) this.#values.delete(key);
    }
  }
}
