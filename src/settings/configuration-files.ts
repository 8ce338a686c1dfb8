import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Configuration } from './configuration.ts';
import { ConfigurationError, type ConfigurationFault } from './faults.ts';
import { type KnownOptions, knownVerdicts } from './known-verdicts.ts';
import { listYamlFiles } from './list-files.ts';
import { programDigest } from './program-digest.ts';
import {
  configurationOf,
  everyFault,
  lastGoods,
  noTenants,
  type Reading,
  type Running,
  settingsOf,
  withProfileFaults,
} from './readings.ts';
import { secretSchemas } from './secret-reference.ts';
import { type FileStamps, isSameStamps, SeenFiles, stampOf } from './seen-files.ts';
import type { Settings } from './settings-schema.ts';
import { type SettledTenants, settleTenants } from './settle-tenants.ts';
import { type ReadOptions, readSurroundings, SETTINGS_FILE, type Surroundings } from './surroundings.ts';
import { tenantSecrets } from './tenant-secrets.ts';
import { openTenantFiles, type ReadTenant, type TenantFiles } from './tenants.ts';
import { type Kept, NOTHING_KEPT, openVerdicts, type Verdict, type VerdictFile } from './verdicts.ts';

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
}

/** Long work in pieces: whoever has it done may let others have their turn after each. */
type Pieces<Result> = Generator<undefined, Result, undefined>;

const NONE_RUNS = { of: () => null, clinicOf: () => null };

/** Tenants as settings and profiles let them run. */
interface Judged extends SettledTenants {
  running: ReadonlyMap<string, Running>;
  /** Why tenants that run now could not go on. */
  lost: ConfigurationFault[];
}

/**
 * The files of a configuration, which are read again and again: what is as it was is neither read, parsed nor checked again. Settings and
 * profiles are taken up together, and not when they have faults or would keep a tenant from running that runs now. A tenant's file with
 * faults is refused, and the tenant goes on under what the file held before. What would leave no tenant at all is refused as a whole.
 */
export class ConfigurationFiles {
  readonly #options: LoadOptions;
  #verdicts: VerdictFile | null = null;
  #kept: Kept = NOTHING_KEPT;
  #reading: Reading;

  /** Reads all files. @throws ConfigurationError with all faults */
  constructor(options: LoadOptions) {
    this.#options = options;
    const seen = new SeenFiles();
    const surroundings = readSurroundings(options, secretSchemas({ ...options, seen }), seen, {
      kept: (settings, digest) => {
        this.#verdicts = verdictsOf(options, settings);
        this.#kept = this.#verdicts.read(digest);
        return this.#kept.profiles;
      },
    });
    const settings = surroundings.settings.value;
    const { only } = options;
    const files = this.#open(surroundings, {
      ...{ verdicts: this.#kept.tenants, seen },
      isOfFile: () => false,
      isAside: (id) => only !== undefined && id !== only,
    });
    const read = [...files.read()];
    noteStray(read, seen);
    this.#keep(new Map(read.flatMap(({ id, verdict }) => (verdict === null ? [] : [[id, verdict]]))), surroundings);
    const faults = everyFault(surroundings, read, options.mode);
    if (settings === null || (options.mode === 'strict' && faults.length > 0)) throw new ConfigurationError(faults);
    const settled = settleTenants(withProfileFaults(read, surroundings), NONE_RUNS);
    const running = new Map(settled.standing.map(({ id, verdict }) => [id, { verdict: verdict as Verdict, files }]));
    const configuration = configurationOf(surroundings, running, { ...settled, settings, awaitsRestart: [] });
    this.#reading = { surroundings, running, seen, configuration };
  }

  /** As it was read last. */
  get configuration(): Configuration {
    return this.#reading.configuration;
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

  /** Reads what changed since the last reading. @param options.sure reads every file's bytes, whatever its size and times tell */
  *readAgain(stamps: FileStamps, { sure = false } = {}): Pieces<Configuration> {
    const before = this.#reading;
    try {
      this.#reading = yield* this.#readChanges(before, new SeenFiles(sure ? null : before.seen, stamps));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      const stillRefused = before.configuration.refused.filter(({ tenant }) => tenant !== null);
      const refused = [{ tenant: null, faults: error.faults }, ...stillRefused];
      this.#reading = { ...before, configuration: { ...before.configuration, refused } };
    }
    return this.configuration;
  }

  /** Keeps what was found in the files for the next start. */
  keep(): void {
    const { surroundings } = this.#reading;
    this.#keep(verdictsIn(this.#reading), surroundings);
  }

  *#readChanges(before: Reading, seen: SeenFiles): Pieces<Reading> {
    const secrets = secretSchemas({ ...this.#options, seen });
    const wanted = readSurroundings(this.#options, secrets, seen, { before: before.surroundings });
    let judged = wanted.settings.value === null ? null : yield* this.#judge(wanted, seen, before);
    const faults = judged === null ? wanted.settings.faults : judged.lost;
    const surroundings = faults.length === 0 ? wanted : before.surroundings;
    if (judged === null || faults.length > 0) judged = yield* this.#judge(surroundings, seen, before);
    if (judged.running.size === 0 && before.running.size > 0) throw noTenants(this.#options.dir);
    const { settings, awaitsRestart } = settingsOf(surroundings, before);
    const refused = [...(faults.length === 0 ? [] : [{ tenant: null, faults }]), ...judged.refused];
    const { running, setAside } = judged;
    const configuration = configurationOf(surroundings, running, { settings, awaitsRestart, setAside, refused });
    return { surroundings, running, seen, configuration };
  }

  *#judge(surroundings: Surroundings, seen: SeenFiles, before: Reading): Pieces<Judged> {
    const isAround = surroundings.digest === before.surroundings.digest;
    const verdicts = isAround
      ? verdictsIn(before)
      : (this.#verdicts?.read(surroundings.digest) ?? NOTHING_KEPT).tenants;
    const isOfFile = isAround ? whetherNotRefused(before) : () => false;
    const files = this.#open(surroundings, { verdicts, seen, isOfFile });
    const lastGood = lastGoods(before, isAround ? null : files, surroundings);
    const read: ReadTenant[] = [];
    for (const tenant of files.read()) {
      read.push(tenant);
      yield;
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

  #open(surroundings: Surroundings, known: Omit<KnownOptions, 'secrets'>): TenantFiles {
    const { settings, profiles } = surroundings;
    const verdictFile = this.#verdicts;
    const ofSettings = settings.secrets.map(([reference]) => reference);
    const secrets = tenantSecrets({ ...this.#options, seen: known.seen }, ofSettings);
    const verdicts = verdictFile === null ? null : knownVerdicts({ ...known, secrets }, verdictFile.tagOf);
    const usable =
      settings.value === null || verdicts === null
        ? null
        : { settings: settings.value, profiles: profiles.valid, verdicts };
    return openTenantFiles({ dir: this.#options.dir, secrets, known: surroundings.known, usable });
  }

  #keep(tenants: ReadonlyMap<string, Verdict>, { digest, profiles }: Surroundings): void {
    const { tenants: kept } = this.#kept;
    const isKept = tenants.size === kept.size && [...tenants].every(([id, verdict]) => kept.get(id) === verdict);
    if (isKept) return;
    this.#kept = { tenants, profiles: profiles.valid };
    this.#verdicts?.keep(this.#kept, digest, { makeDirectory: this.#options.mode === 'set-aside' });
  }
}

function verdictsOf({ dir, connectors, reminderChannels }: ReadOptions, { dataDirectory, secrets }: Settings) {
  const modules = [...connectors.keys(), ...reminderChannels.keys()];
  return openVerdicts({
    dir,
    dataDirectory: dataDirectory ?? null,
    identityKey: secrets.identityKey.reveal(),
    program: () => hash('sha256', JSON.stringify([programDigest(), modules])),
  });
}

function verdictsIn({ running }: Reading): Map<string, Verdict> {
  return new Map([...running].map(([id, { verdict }]) => [id, verdict]));
}

/** What a refused file held before is not what it holds. */
function whetherNotRefused({ configuration }: Reading): (id: string) => boolean {
  const refused = new Set(configuration.refused.map(({ tenant }) => tenant));
  return (id) => !refused.has(id);
}

/** Files under names that no tenant can have are not read; they are seen all the same. */
function noteStray(read: readonly ReadTenant[], seen: SeenFiles): void {
  for (const { id, fileName } of read) if (id === fileName) seen.isAsBefore(fileName);
}
