import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NAME } from '../model/names.ts';
import type { Pieces } from '../model/pieces.ts';
import type { Configuration } from './configuration.ts';
import { findDoubleTenants } from './double-tenants.ts';
import { ConfigurationError, type ConfigurationFault } from './faults.ts';
import { type KnownOptions, knownVerdicts } from './known-verdicts.ts';
import { type FileUse, type LastRun, NO_LAST_RUN, openLastRun } from './last-run.ts';
import { listYamlFiles } from './list-files.ts';
import { type ManagedTenant, type ManagedTenants, managedName } from './managed-tenant.ts';
import { type OpenSecret, openSecretsIn } from './open-secrets.ts';
import { programDigest } from './program-digest.ts';
import {
  type ConfigurationReading,
  configurationOf,
  everyFault,
  lastGoods,
  noTenants,
  type Running,
  settingsOf,
  withProfileFaults,
} from './readings.ts';
import { secretSchemas } from './secret-reference.ts';
import { type FileStamps, isSameStamps, SeenFiles, stampOf } from './seen-files.ts';
import type { Settings } from './settings-schema.ts';
import { type SettledTenants, settleTenants } from './settle-tenants.ts';
import {
  type ReadOptions,
  readSurroundings,
  SETTINGS_FILE,
  type Surroundings,
  withProfilesOfBefore,
} from './surroundings.ts';
import { tenantSecrets } from './tenant-secrets.ts';
import { NO_CLINIC, openTenantFiles, type ReadTenant, type TenantFiles } from './tenants.ts';
import { contentOf, type KeptFile, NOTHING_KEPT, openVerdicts, type Verdict, type VerdictFile } from './verdicts.ts';

/** What a configuration is loaded with. */
export interface LoadOptions extends ReadOptions {
  /**
   * `strict`: any fault of any file is thrown. `set-aside`: a tenant with faults, or whose clinic profile has some, is left
   * out and listed, so that it stops no other; only faults of the settings are thrown.
   */
  mode: 'strict' | 'set-aside';
  /**
   * The one tenant that is asked about. Files of others count as they were when they were last found to be without faults, so that they need
   * not be read; only for who looks and changes nothing. Default: all tenants are.
   */
  only?: string;
  /** What the files are read for; absent: only to check them. */
  use?: FileUse;
}

/** Tenants as settings and profiles let them run. */
interface Judged extends SettledTenants {
  running: ReadonlyMap<string, Running>;
  /** Why tenants that run now could not go on. */
  lost: ConfigurationFault[];
}

/** What a reading begins with, where it was looked at before. */
interface Begun {
  surroundings: Surroundings;
  seen: SeenFiles;
  managed: ManagedTenants;
  /** Null: the settings have faults. */
  verdicts: VerdictFile | null;
  kept: KeptFile;
  lastRun: LastRun;
  /** By this tenants ran last. */
  ranBy: KeptFile;
  /** Of profiles in whose place those of before count. */
  refused: readonly ConfigurationFault[];
}

/**
 * The files of a configuration, and the documents of its managed tenants, which are read again and again: what is as it was is neither
 * read, parsed nor checked again. Settings and profiles are taken up together, and not when they have faults or would keep a tenant from
 * running that runs now. A tenant's file with faults is refused, and the tenant goes on under what the file held before. What would leave
 * no tenant of a file where there were some is refused as a whole, whoever is managed besides: managed ones are removed by a person.
 */
export class ConfigurationFiles {
  readonly #options: LoadOptions;
  readonly #verdicts: VerdictFile | null;
  readonly #lastRun: LastRun;
  #kept: ReadonlyMap<string, Verdict> = new Map();
  #reading: ConfigurationReading;

  /**
   * Reads all files, and what is managed besides.
   * @param managedOf asked once the settings could be read, since they tell where it is
   * @throws ConfigurationError with all faults, and what `managedOf` throws
   */
  static async open(
    options: LoadOptions,
    managedOf: (settings: Settings) => Promise<ManagedTenants>,
  ): Promise<ConfigurationFiles> {
    const begun = begin(options);
    const { value } = begun.surroundings.settings;
    const managed = value === null ? begun.managed : await managedOf(value);
    begun.seen.note(stampsOf(managed));
    const files = openAtFirst(options, { ...begun, managed });
    const read: ReadTenant[] = [];
    for (const step of files.read()) {
      if (step instanceof Promise) await step;
      else read.push(step);
    }
    return new ConfigurationFiles(options, { ...begun, managed }, { files, read });
  }

  /** Reads all files; without managed tenants, unless they are given. @throws ConfigurationError with all faults */
  constructor(options: LoadOptions, begun: Begun = begin(options), { files, read } = readAtOnce(options, begun)) {
    const { surroundings, seen, managed, verdicts, kept, refused } = begun;
    this.#options = options;
    this.#lastRun = begun.lastRun;
    const settings = surroundings.settings.value;
    this.#verdicts = verdicts;
    this.#kept = kept.tenantsWith(managed);
    noteStray(read, seen);
    const found = new Map(read.flatMap(({ id, verdict }) => (verdict === null ? [] : [[id, verdict]])));
    // By profiles of before nothing was found of those of now.
    if (refused.length === 0) this.#keep(found, surroundings);
    const faults = everyFault(surroundings, read, options.mode);
    if (settings === null || (options.mode === 'strict' && faults.length > 0)) throw new ConfigurationError(faults);
    const ran = new Map([...begun.ranBy.tenantsWith(new Map())].map(([id, verdict]) => [id, { verdict, files }]));
    const before = lastGoods({ running: ran }, files, surroundings);
    const settled = settleTenants(withProfileFaults(read, surroundings), before);
    const running = new Map(settled.standing.map(({ id, verdict }) => [id, { verdict: verdict as Verdict, files }]));
    const others = refused.length === 0 ? [] : [{ tenant: null, faults: refused }];
    const configuration = configurationOf(surroundings, running, {
      ...{ settings, awaitsRestart: [], setAside: settled.setAside, refused: [...others, ...settled.refused] },
    });
    this.#reading = { surroundings, managed, running, seen, configuration };
    this.#lastRun.note(this.#reading);
  }

  /** As it was read last. */
  get configuration(): Configuration {
    return this.#reading.configuration;
  }

  /** The managed tenants as they were read last. */
  get managed(): ManagedTenants {
    return this.#reading.managed;
  }

  /** The file that configures a tenant, or would if it were not managed; null where there is none. */
  fileOf(tenant: string): string | null {
    const file = join(this.#options.dir, 'tenants', `${tenant}.yaml`);
    return NAME.test(tenant) && existsSync(file) ? file : null;
  }

  /** Files of secrets that everybody on the machine may read. @param tenant one that runs; null: those of the settings */
  openSecrets(tenant: string | null): OpenSecret[] {
    const { surroundings, running } = this.#reading;
    if (tenant === null) return openSecretsIn(surroundings.settings.file?.value, this.#options.dir);
    const { verdict } = running.get(tenant) ?? {};
    return verdict === undefined ? [] : openSecretsIn(JSON.parse(contentOf(verdict)), this.#options.dir);
  }

  /**
   * What would be wrong with a managed tenant as it is given, beside all others as they are now. Nothing is kept of it.
   * @returns every fault; those of which another tenant is the reason name it
   */
  async faultsOf(tenant: ManagedTenant): Promise<ConfigurationFault[]> {
    const { surroundings, running, configuration } = this.#reading;
    const known = { verdicts: new Map(), seen: new SeenFiles(), isOfFile: () => false };
    const files = this.#open(surroundings, new Map(), known);
    const steps: ReadTenant[] = [];
    for (const step of files.readManaged(tenant)) {
      if (step instanceof Promise) await step;
      else steps.push(step);
    }
    const [read] = withProfileFaults(steps, surroundings) as [ReadTenant];
    const others = [
      ...[...running.values()].map(({ verdict: { outline } }) => ({ ...outline, rank: 0 })),
      ...configuration.setAside.map(({ id }) => ({ id, clinic: NO_CLINIC, formerly: undefined, rank: 0 })),
    ].filter(({ id }) => id !== tenant.id);
    return [...read.faults, ...findDoubleTenants([...others, { ...read, rank: 1 }])(read)];
  }

  /** Looks at the names, sizes and times of all files, those of secrets included, and reads none. */
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

  /** Whether a look found what was read. */
  isAsRead(stamps: FileStamps): boolean {
    return isSameStamps(stamps, this.#reading.seen.stamps);
  }

  /**
   * Reads what changed since the last reading.
   * @param options.sure reads every file's bytes, whatever its size and times tell
   * @param options.managed as they are now; default: as they were read last
   */
  *readAgain(stamps: FileStamps, { sure = false, managed = this.managed } = {}): Pieces<Configuration> {
    const before = this.#reading;
    const seen = new SeenFiles(sure ? null : before.seen, stamps);
    seen.note(stampsOf(managed));
    try {
      this.#reading = yield* this.#readChanges(before, managed, seen);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      const stillRefused = before.configuration.refused.filter(({ tenant }) => tenant !== null);
      const refused = [{ tenant: null, faults: error.faults }, ...stillRefused];
      this.#reading = { ...before, configuration: { ...before.configuration, refused } };
    }
    this.#lastRun.note(this.#reading);
    return this.configuration;
  }

  /** Keeps what was found in the files for the next start. */
  keep(): void {
    const { surroundings } = this.#reading;
    this.#keep(verdictsIn(this.#reading), surroundings);
  }

  *#readChanges(before: ConfigurationReading, managed: ManagedTenants, seen: SeenFiles): Pieces<ConfigurationReading> {
    const secrets = secretSchemas({ ...this.#options, seen });
    const wanted = readSurroundings(this.#options, secrets, seen, { before: before.surroundings });
    let judged = wanted.settings.value === null ? null : yield* this.#judge(wanted, managed, seen, before);
    const faults = judged === null ? wanted.settings.faults : judged.lost;
    const surroundings = faults.length === 0 ? wanted : before.surroundings;
    if (judged === null || faults.length > 0) judged = yield* this.#judge(surroundings, managed, seen, before);
    const ofFiles = [filesIn(before), filesIn(judged)].map((ids) => ids.filter((id) => !managed.has(id)).length);
    if (ofFiles[0] !== 0 && ofFiles[1] === 0) throw noTenants(this.#options.dir);
    const { settings, awaitsRestart } = settingsOf(surroundings, before);
    const refused = [...(faults.length === 0 ? [] : [{ tenant: null, faults }]), ...judged.refused];
    const { running, setAside } = judged;
    const configuration = configurationOf(surroundings, running, { settings, awaitsRestart, setAside, refused });
    return { surroundings, managed, running, seen, configuration };
  }

  *#judge(
    surroundings: Surroundings,
    managed: ManagedTenants,
    seen: SeenFiles,
    before: ConfigurationReading,
  ): Pieces<Judged> {
    const isAround = surroundings.digest === before.surroundings.digest;
    const verdicts = isAround
      ? verdictsIn(before)
      : (this.#verdicts?.read(surroundings.digest) ?? NOTHING_KEPT).tenantsWith(managed);
    const isOfFile = isAround ? whetherNotRefused(before) : () => false;
    const files = this.#open(surroundings, managed, { verdicts, seen, isOfFile });
    const lastGood = lastGoods(before, isAround ? null : files, surroundings);
    const read: ReadTenant[] = [];
    for (const step of files.read()) {
      if (step instanceof Promise) yield step;
      else {
        read.push(step);
        yield;
      }
    }
    noteStray(read, seen);
    const settled = settleTenants(withProfileFaults(read, surroundings), lastGood);
    const refused = new Set(settled.refused.map(({ tenant }) => tenant));
    const running = settled.standing.map(({ id, verdict }): [string, Running] => {
      const goesOn = isAround && refused.has(id) ? before.running.get(id) : undefined;
      return [id, goesOn ?? { verdict: verdict as Verdict, files }];
    });
    // A profile's faults are those of every tenant under it.
    const lost = new Set(settled.setAside.flatMap(({ id }) => lastGood.faultsOf(id)));
    return { ...settled, running: new Map(running), lost: [...lost] };
  }

  #open(surroundings: Surroundings, managed: ManagedTenants, known: Omit<KnownOptions, 'secrets'>): TenantFiles {
    return openFiles(this.#options, this.#verdicts, { surroundings, managed }, known);
  }

  #keep(tenants: ReadonlyMap<string, Verdict>, { digest, profiles }: Surroundings): void {
    const kept = this.#kept;
    const isKept = tenants.size === kept.size && [...tenants].every(([id, verdict]) => kept.get(id) === verdict);
    if (isKept) return;
    this.#kept = tenants;
    this.#verdicts?.keep({ tenants, profiles: profiles.valid }, digest, {
      makeDirectory: this.#options.mode === 'set-aside',
    });
  }
}

function openFiles(
  options: LoadOptions,
  verdictFile: VerdictFile | null,
  { surroundings, managed }: Pick<Begun, 'surroundings' | 'managed'>,
  known: Omit<KnownOptions, 'secrets'>,
): TenantFiles {
  const { settings, profiles } = surroundings;
  const ofSettings = settings.secrets.map(([reference]) => reference);
  const secrets = tenantSecrets({ ...options, seen: known.seen }, ofSettings);
  const verdicts = verdictFile === null ? null : knownVerdicts({ ...known, secrets }, verdictFile.tagOf);
  const usable =
    settings.value === null || verdicts === null
      ? null
      : { settings: settings.value, profiles: profiles.valid, verdicts };
  const { dir, outlineApart } = options;
  return openTenantFiles({ dir, managed, secrets, known: surroundings.known, usable, outlineApart });
}

/** The files as they are read first. */
function openAtFirst(options: LoadOptions, begun: Begun): TenantFiles {
  const { only } = options;
  return openFiles(options, begun.verdicts, begun, {
    ...{ verdicts: begun.kept.tenantsWith(begun.managed), seen: begun.seen },
    isOfFile: () => false,
    isAside: (id) => only !== undefined && id !== only,
  });
}

function readAtOnce(options: LoadOptions, begun: Begun): { files: TenantFiles; read: ReadTenant[] } {
  begun.seen.note(stampsOf(begun.managed));
  const files = openAtFirst(options, begun);
  return { files, read: [...files.read()].filter((step) => 'id' in step) };
}

/** Reads what decides over tenants: settings and profiles. */
function begin(options: LoadOptions): Begun {
  const seen = new SeenFiles();
  let verdicts: VerdictFile | null = null;
  let [kept, lastRun, ranBy] = [NOTHING_KEPT, NO_LAST_RUN, NOTHING_KEPT];
  const read = readSurroundings(options, secretSchemas({ ...options, seen }), seen, {
    kept(settings, digest) {
      if (options.use !== undefined) lastRun = openLastRun(options.dir, settings, options.use);
      ranBy = lastRun.read();
      verdicts = verdictsOf(options, settings);
      kept = verdicts.read(digest);
      return kept.profiles;
    },
  });
  const surroundings = withProfilesOfBefore(options, read, ranBy.profiles);
  const isOfNow = (id: string) => surroundings.profiles.broken.has(id);
  const refused = [...read.profiles.broken].flatMap(([id, faults]) => (isOfNow(id) ? [] : faults));
  return { surroundings, seen, managed: new Map(), verdicts, kept, lastRun, ranBy, refused };
}

/** Each document with its revision, as files have their times. */
function stampsOf(managed: ManagedTenants): [name: string, revision: string][] {
  return [...managed.values()].map(({ id, revision }) => [managedName(id), revision]);
}

function verdictsOf({ dir, connectors, reminderChannels }: ReadOptions, { dataDirectory, secrets }: Settings) {
  const modules = [...connectors.keys(), ...reminderChannels.keys()];
  return openVerdicts({
    name: 'checked',
    dir,
    dataDirectory: dataDirectory ?? null,
    identityKey: secrets.identityKey.reveal(),
    sealingKeys: secrets.sealingKeys.map(({ key }) => key.reveal()),
    program: () => hash('sha256', JSON.stringify([programDigest(), modules])),
  });
}

function verdictsIn({ running }: ConfigurationReading): Map<string, Verdict> {
  return new Map([...running].map(([id, { verdict }]) => [id, verdict]));
}

/** Tenants that run by a file. */
function filesIn({ running }: Pick<ConfigurationReading, 'running'>): string[] {
  return [...running].flatMap(([id, { verdict }]) => (verdict.managed === null ? [id] : []));
}

/** What a refused file held before is not what it holds. */
function whetherNotRefused({ configuration }: ConfigurationReading): (id: string) => boolean {
  const refused = new Set(configuration.refused.map(({ tenant }) => tenant));
  return (id) => !refused.has(id);
}

/** Files under names that no tenant can have are not read; they are seen all the same. */
function noteStray(read: readonly ReadTenant[], seen: SeenFiles): void {
  for (const { id, fileName } of read) if (id === fileName) seen.isAsBefore(fileName);
}
