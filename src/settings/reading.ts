import type { Pieces } from '../model/pieces.ts';
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

/** What a configuration is loaded with. */
export interface LoadOptions extends ReadOptions {
  /**
   * `strict`: any fault of any file is thrown. `set-aside`: a tenant with faults, or whose clinic profile has some, is left
   * out and listed, so that it stops no other; only faults of the settings are thrown.
   */
  mode: 'strict' | 'set-aside';
  /**
   * The one tenant that is asked about: files of others are not read; only for who looks and changes nothing. Default, and where there is no
   * such tenant: all are.
   */
  only?: string;
  /** What the files are read for; absent: only to check them. A daemon checks its tenants after it began: `ConfigurationFiles.check`. */
  use?: FileUse;
}

/** One reading of all files. */
export interface Reading {
  settingsAndProfiles: SettingsAndProfiles;
  /** As they were then. */
  managed: ManagedTenants;
  running: ReadonlyMap<string, Running>;
  seen: SeenFiles;
  configuration: Configuration;
}

/** What is left to do of a first reading. */
export interface FirstReading extends Begun {
  files: TenantFiles;
  listed: ListedTenants;
  /** What the tenants that were read so far claim. */
  rivals: Rival[];
}

/** What a first reading begins with. */
export interface Begun {
  settingsAndProfiles: SettingsAndProfiles;
  seen: SeenFiles;
  managed: ManagedTenants;
  /** By this tenants ran last. */
  lastRun: LastRun;
  /** Of profiles in whose place those of before count. */
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
  const { dir, outlineApart } = options;
  return openTenantFiles({
    dir,
    managed,
    secrets,
    definedNames,
    seen,
    earlier,
    refused,
    usable,
    outlineApart,
  });
}

export function* readAll(files: TenantFiles, only?: string): Pieces<ReadTenant[]> {
  const listed = files.list(only);
  return [...(yield* readSome(listed, listed.ids)), ...listed.strays];
}

export function* readSome(listed: ListedTenants, ids: readonly string[]): Pieces<ReadTenant[]> {
  const read: ReadTenant[] = [];
  for (const id of ids) {
    for (const step of listed.read(id)) {
      if (step instanceof Promise) yield step;
      else {
        read.push(step);
        yield;
      }
    }
  }
  return read;
}

/** Faults of settings end the start of a daemon at once; others are told those of all files. */
export function* whyUnusable(options: LoadOptions, begun: Begun): Pieces<ConfigurationError> {
  const read = options.use === 'daemon' ? [] : yield* readAll(openFiles(options, begun), options.only);
  return new ConfigurationError(everyFault(begun.settingsAndProfiles, read, options.mode));
}

/** A tenant of which nothing else counts: what is stored under its name waits for it. */
export function nameAlone(id: string): Rival {
  return { id, clinic: NO_CLINIC, formerly: undefined, rank: 2 };
}

export function claimsOnly({ id, clinic, formerly }: ReadTenant): Rival {
  return { id, clinic, formerly, rank: 2 };
}

/** Reads what decides over tenants: settings and profiles. */
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

/** Files under names that no tenant can have are not read; they are seen all the same. */
export function recordStray(read: readonly ReadTenant[], seen: SeenFiles): void {
  for (const { id, fileName } of read) if (id === fileName) seen.isAsBefore(fileName);
}

/** The configuration that a reading amounts to. */
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

/** How a map of what is made on demand keeps it. */
interface OnDemandOptions<Value> {
  /** How many are kept; those that were asked for longest ago go first. */
  capacity: number;
  /** Whether one may go now; always when absent. One that may not stays beyond the number. */
  mayGo?(value: Value): boolean;
}

/** A map whose keys are known and whose values are made when they are asked for, one after the other by who goes through all of them. */
export class OnDemand<Value> implements ReadonlyMap<string, Value> {
  #keys: ReadonlySet<string>;
  readonly #make: (key: string) => Value;
  readonly #options: OnDemandOptions<Value>;
  /** In the order of their last use. */
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

  /** Has other keys from here on; what is kept under `changed`, or under a key that is gone, is made anew when it is asked for. */
  change(keys: Iterable<string>, changed: Iterable<string>): void {
    this.#keys = new Set(keys);
    for (const key of changed) this.#values.delete(key);
    for (const key of this.#values.keys()) if (!this.#keys.has(key)) this.#values.delete(key);
  }

  /** What is made and kept under a key; it isn't made for this. */
  peek(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Those that are made and kept. */
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
