import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { atOnce, type Pieces } from '../core/model/pieces.ts';
import { NAME } from '../core/model/text.ts';
import { withRemedy } from '../messages/message.ts';
import { type Configuration, uncheckedError } from './configuration.ts';
import { takeUpSettings } from './configuration-changes.ts';
import { ConfigurationError, type ConfigurationFault, faultIn } from './faults.ts';
import { type LastRun, NO_LAST_RUN, writeLastRun } from './last-run.ts';
import { type FileStamps, isSameStamps, listYamlFiles, SeenFiles, stampOf } from './list-files.ts';
import type { ManagedTenant, ManagedTenants } from './managed-tenant.ts';
import {
  type Begun,
  begin,
  claimsOnly,
  configurationOf,
  type FirstReading,
  type LoadOptions,
  nameAlone,
  openFiles,
  type Reading,
  readAll,
  readSome,
  recordStray,
  whyUnusable,
} from './reading.ts';
import { type OpenSecret, openSecretsIn, secretSchemas } from './secret-reference.ts';
import {
  everyFault,
  findDoubleTenants,
  LastGood,
  type Rival,
  type Running,
  type SelectedTenants,
  selectTenants,
  withProfileFaults,
} from './select-tenants.ts';
import type { Settings } from './settings-schema.ts';
import { readSettingsAndProfiles, SETTINGS_FILE, type SettingsAndProfiles } from './surroundings.ts';
import { contentOf, type ListedTenants } from './tenants.ts';

/** Runs work in slices, so that other work can continue. */
type InSlices = <Result>(work: Pieces<Result>) => Promise<Result>;

/** Tenants that settings and profiles allow to run. */
interface Judged extends Omit<SelectedTenants, 'running'> {
  running: ReadonlyMap<string, Running>;
  /** Why running tenants could not continue. */
  lost: ConfigurationFault[];
}

/**
 * Reads and checks the whole configuration with secrets.
 * @throws ConfigurationError with all faults of all files; the operator must act
 */
export function loadConfiguration(options: LoadOptions): Configuration {
  return new ConfigurationFiles(options).configuration;
}

/**
 * Files of a configuration and documents of its managed tenants, for repeated reads. Unchanged files are not read, parsed or checked again.
 * Settings and profiles are applied together, but not with faults or if a running tenant would stop. A tenant file with faults is refused,
 * and the tenant continues with its earlier content. A change that would remove all tenants of files is refused as a whole; only an
 * administrator can remove managed tenants.
 */
export class ConfigurationFiles {
  readonly #options: LoadOptions;
  #written: LastRun = NO_LAST_RUN;
  #reading: Reading;
  /** Null after all tenants of the first read are checked. */
  #first: FirstReading | null;

  /**
   * Reads all files and the managed tenants; for a daemon, only settings and profiles.
   * @param managedOf called after the settings are read, because they contain the location
   * @throws ConfigurationError with all faults, and errors of `managedOf` and `inSlices`
   */
  static async open(
    options: LoadOptions,
    managedOf: (settings: Settings) => Promise<ManagedTenants>,
    inSlices: InSlices,
  ): Promise<ConfigurationFiles> {
    const begun = begin(options);
    const { value } = begun.settingsAndProfiles.settings;
    if (value === null) throw await inSlices(whyUnusable(options, begun));
    begun.managed = await managedOf(value);
    const opened = new ConfigurationFiles(options, begun);
    if (options.use !== 'daemon') await inSlices(opened.check());
    return opened;
  }

  /**
   * Reads all files, without managed tenants. @param begun skips the tenants, which `check` then reads. @throws ConfigurationError with all
   * faults
   */
  constructor(options: LoadOptions, begun?: Begun) {
    this.#options = options;
    const first = begun ?? begin(options);
    const { settingsAndProfiles, seen, managed, ofProfiles } = first;
    const { value } = settingsAndProfiles.settings;
    if (value === null) throw atOnce(whyUnusable(options, first));
    const files = openFiles(options, first);
    const listed = files.list(options.only);
    this.#first = { ...first, files, listed, rivals: this.#unreadRivals(first.lastRun, listed) };
    const configuration = configurationOf(settingsAndProfiles, new Map(), {
      ...{ settings: value, awaitsRestart: [], unusable: [], unchecked: new Set(listed.ids) },
      refused: ofProfiles.length === 0 ? [] : [{ tenant: null, faults: ofProfiles }],
    });
    this.#reading = { settingsAndProfiles, managed, running: new Map(), seen, configuration };
    if (begun === undefined) atOnce(this.check());
  }

  /**
   * Checks the unchecked tenants of the first read in the order of ids. If two tenants claim a resource, the first one gets it. All names
   * are known from the beginning, so later tenants do not affect a decision.
   * @param most maximum number of tenants
   * @throws ConfigurationError with all faults in strict mode
   */
  *check(most = Number.POSITIVE_INFINITY): Pieces<Configuration> {
    if (this.#first === null) return this.configuration;
    const { files, listed, rivals, lastRun } = this.#first;
    const { settingsAndProfiles, seen, configuration, running: before } = this.#reading;
    const some = [...configuration.unchecked].slice(0, most);
    const unchecked = new Set([...configuration.unchecked].slice(some.length));
    const read = yield* readSome(listed, some);
    if (unchecked.size === 0) read.push(...listed.strays);
    recordStray(read, seen);
    const faults = this.#options.mode === 'strict' ? yield* everyFault(settingsAndProfiles, read, 'strict') : [];
    if (faults.length > 0) throw new ConfigurationError(faults);
    const ran = new Map([...lastRun.tenants].map(([id, checked]) => [id, { checked, files }]));
    const usable = read.map((tenant) => withProfileFaults(tenant, settingsAndProfiles));
    const names = [...unchecked].map((id) => nameAlone(id));
    const selected = yield* selectTenants(usable, new LastGood(ran, files, settingsAndProfiles), [...rivals, ...names]);
    for (const tenant of usable) rivals.push(tenant.faults.length > 0 ? nameAlone(tenant.id) : claimsOnly(tenant));
    const running = new Map(before);
    for (const { id, checked } of selected.running) running.set(id, { checked, files });
    const refused = [...configuration.refused, ...selected.refused];
    const invalid = [...configuration.unusable, ...selected.unusable];
    const next = configurationOf(settingsAndProfiles, running, {
      ...configuration,
      unchecked,
      unusable: invalid,
      refused,
    });
    this.#reading = { ...this.#reading, running, configuration: next };
    if (unchecked.size === 0) {
      this.#first = null;
      this.#writeLastRun();
    }
    return next;
  }

  /** Returns tenants of the last run with unread files. */
  #unreadRivals({ tenants }: LastRun, { ids }: ListedTenants): Rival[] {
    const isRead = new Set(ids);
    return [...tenants.values()].flatMap(({ outline }) =>
      isRead.has(outline.id) || this.fileOf(outline.id) === null ? [] : { ...outline, rank: 0 },
    );
  }

  /** The configuration of the last read. */
  get configuration(): Configuration {
    return this.#reading.configuration;
  }

  /** The managed tenants of the last read. */
  get managed(): ManagedTenants {
    return this.#reading.managed;
  }

  /** Returns the path of a tenant's file, also for a managed tenant; null without a file. */
  fileOf(tenant: string): string | null {
    const file = join(this.#options.dir, 'tenants', `${tenant}.yaml`);
    return NAME.test(tenant) && existsSync(file) ? file : null;
  }

  /** Returns secret files that all users of the host can read. @param tenant a running tenant; null for the settings */
  openSecrets(tenant: string | null): OpenSecret[] {
    const { settingsAndProfiles, running } = this.#reading;
    if (tenant === null) return openSecretsIn(settingsAndProfiles.settings.file?.value, this.#options.dir);
    const { checked } = running.get(tenant) ?? {};
    return checked === undefined ? [] : openSecretsIn(JSON.parse(contentOf(checked)), this.#options.dir);
  }

  /**
   * Checks a managed tenant's document next to all other tenants, without storing it.
   * @returns every fault; a conflict contains the other tenant
   * @throws MirrorError `settings`, code `tenant-unchecked`, while others are not checked yet
   */
  *faultsOf(tenant: ManagedTenant): Pieces<ConfigurationFault[]> {
    const { settingsAndProfiles, running, configuration } = this.#reading;
    const [unchecked] = configuration.unchecked;
    if (unchecked !== undefined) throw uncheckedError(unchecked);
    const files = openFiles(this.#options, {
      settingsAndProfiles,
      managed: new Map(),
      seen: new SeenFiles(),
    });
    const read = withProfileFaults(yield* files.readManaged(tenant), settingsAndProfiles);
    const others = [
      ...[...running.values()].map(({ checked: { outline } }) => ({ ...outline, rank: 0 })),
      ...configuration.unusable.map(({ id }) => ({ ...nameAlone(id), rank: 0 })),
    ].filter(({ id }) => id !== tenant.id);
    return [...read.faults, ...(yield* findDoubleTenants([...others, { ...read, rank: 1 }])(read))];
  }

  /** Returns the stamps (names, sizes and times) of all files and secret files, without reading contents. */
  *readStamps(): Pieces<FileStamps> {
    const { dir } = this.#options;
    const names = new Set([join(dir, SETTINGS_FILE), ...this.#reading.seen.stamps.keys()]);
    const stamps = new Map<string, string>();
    for (const folder of ['profiles', 'tenants']) {
      try {
        const { files, faults } = listYamlFiles(join(dir, folder));
        for (const { fileName } of files) names.add(fileName);
        for (const { file } of faults) names.add(file);
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        stamps.set(folder, error.message);
      }
    }
    for (const name of names) {
      stamps.set(name, stampOf(name));
      yield;
    }
    return stamps;
  }

  /** Decides whether stamps match the last read. */
  isAsRead(stamps: FileStamps): boolean {
    return isSameStamps(stamps, this.#reading.seen.stamps);
  }

  /**
   * Reads the changes since the last read.
   * @param options.sure reads the bytes of every file, whatever the stamps
   * @param options.managed current managed tenants; default: from the last read
   */
  *readAgain(stamps: FileStamps, { sure = false, managed = this.managed } = {}): Pieces<Configuration> {
    const before = this.#reading;
    const seen = new SeenFiles(sure ? new Map() : before.seen.stamps, stamps);
    try {
      this.#reading = yield* this.#readChanges(before, managed, seen);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      const stillRefused = before.configuration.refused.filter(({ tenant }) => tenant !== null);
      const refused = [{ tenant: null, faults: error.faults }, ...stillRefused];
      this.#reading = { ...before, configuration: { ...before.configuration, refused } };
    }
    this.#writeLastRun();
    return this.configuration;
  }

  *#readChanges(before: Reading, managed: ManagedTenants, seen: SeenFiles): Pieces<Reading> {
    const secrets = secretSchemas({ ...this.#options, seen });
    const wanted = readSettingsAndProfiles(this.#options, secrets, seen, before.settingsAndProfiles);
    let judged = wanted.settings.value === null ? null : yield* this.#judge(wanted, managed, seen, before);
    const faults = judged === null ? wanted.settings.faults : judged.lost;
    const settingsAndProfiles = faults.length === 0 ? wanted : before.settingsAndProfiles;
    if (judged === null || faults.length > 0) judged = yield* this.#judge(settingsAndProfiles, managed, seen, before);
    const ofFiles = [before, judged].map((one) => filesIn(one.running).filter(([id]) => !managed.has(id)).length);
    if (ofFiles[0] !== 0 && ofFiles[1] === 0) throw noTenants(this.#options.dir);
    const { settings, awaitsRestart } = settingsOf(settingsAndProfiles, before);
    const refused = [...(faults.length === 0 ? [] : [{ tenant: null, faults }]), ...judged.refused];
    const { running, unusable } = judged;
    const { unchecked } = before.configuration;
    const parts = { settings, awaitsRestart, unchecked, unusable, refused };
    const configuration = configurationOf(settingsAndProfiles, running, parts);
    return { settingsAndProfiles, managed, running, seen, configuration };
  }

  *#judge(
    settingsAndProfiles: SettingsAndProfiles,
    managed: ManagedTenants,
    seen: SeenFiles,
    before: Reading,
  ): Pieces<Judged> {
    const isAround = settingsAndProfiles.digest === before.settingsAndProfiles.digest;
    const earlier = isAround ? [...before.running].map(([id, { checked }]) => [id, checked] as const) : [];
    const refusedBefore = before.configuration.refused.flatMap(({ tenant }) => tenant ?? []);
    const files = openFiles(this.#options, {
      ...{ settingsAndProfiles, managed, seen },
      earlier: new Map(earlier),
      refused: new Set(refusedBefore),
    });
    const lastGood = new LastGood(before.running, isAround ? null : files, settingsAndProfiles);
    const read = yield* readAll(files);
    recordStray(read, seen);
    const selected = yield* selectTenants(
      read.map((tenant) => withProfileFaults(tenant, settingsAndProfiles)),
      lastGood,
    );
    const refused = new Set(selected.refused.map(({ tenant }) => tenant));
    const running = selected.running.map(({ id, checked }): [string, Running] => {
      const goesOn = isAround && refused.has(id) ? before.running.get(id) : undefined;
      return [id, goesOn ?? { checked, files }];
    });
    // Faults of a profile apply to all of its tenants.
    const lost = new Set(selected.unusable.flatMap(({ id }) => lastGood.faultsOf(id)));
    return { ...selected, running: new Map(running), lost: [...lost] };
  }

  /** Managed tenants are stored elsewhere. */
  #writeLastRun(): void {
    if (this.#options.use !== 'daemon') return;
    const { running, settingsAndProfiles, configuration } = this.#reading;
    const tenants = new Map(filesIn(running).map(([id, { checked }]) => [id, checked]));
    const now = { tenants, profiles: settingsAndProfiles.profiles.valid };
    if (isSame(now.tenants, this.#written.tenants) && isSame(now.profiles, this.#written.profiles)) return;
    this.#written = now;
    writeLastRun(this.#options.dir, configuration.settings, now);
  }
}

function isSame(one: ReadonlyMap<string, object>, other: ReadonlyMap<string, object>): boolean {
  return one.size === other.size && [...one].every(([id, value]) => other.get(id) === value);
}

/** Returns running tenants with a file. */
function filesIn(running: ReadonlyMap<string, Running>): [string, Running][] {
  return [...running].filter(([, { checked }]) => checked.managed === null);
}

/** Returns settings for a running process; identical objects without a new read. */
function settingsOf(
  settingsAndProfiles: SettingsAndProfiles,
  before: Reading,
): Pick<Configuration, 'settings' | 'awaitsRestart'> {
  const { settings, awaitsRestart } = before.configuration;
  const { value } = settingsAndProfiles.settings;
  if (settingsAndProfiles === before.settingsAndProfiles || value === null) return { settings, awaitsRestart };
  return takeUpSettings(value, settings);
}

/** Returns the error for a directory that lost all files at once, which is treated as unreadable. */
function noTenants(dir: string): ConfigurationError {
  return new ConfigurationError([faultIn(join(dir, 'tenants'), ...withRemedy('settings.tenants-gone'))]);
}
