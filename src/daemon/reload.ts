import { hostname } from 'node:os';
import type { Logger } from '../core/log/logger.ts';
import { asMirrorError, isRedisFault } from '../core/model/errors.ts';
import type { RefusedFiles, RunningConfiguration } from '../core/model/state-schemas.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';
import type { ManagedSnapshot } from '../features/managed-tenants/store.ts';
import { message, render } from '../messages/message.ts';
import { recordAct } from '../operator/control/recording.ts';
import { MOST_REPORTED, refusedFiles } from '../operator/control/status.ts';
import type { Configuration } from '../settings/configuration.ts';
import {
  type ConfigurationChanges,
  changesBetween,
  isNothing,
  joinChanges,
  NO_CHANGES,
  sharedConfigurationHash,
} from '../settings/configuration-changes.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import { type FileStamps, isSameStamps } from '../settings/list-files.ts';
import type { ManagedTenants } from '../settings/managed-tenant.ts';
import { principalOfDaemon } from './acts.ts';
import type { Composition } from './compose.ts';

/** Result of a reload: completely applied, or partly refused. */
type ReloadResult = 'applied' | 'refused';

/** Dependencies of configuration reloads. */
interface ReloadParts {
  files: ConfigurationFiles;
  composition: Composition;
  log: Logger;
  /** Applies changes to the work. Called again with equal changes after a failure. */
  onTakenUp(changes: ConfigurationChanges, signal: AbortSignal): Promise<void>;
  /** Reports each reload with changes. */
  observe(result: ReloadResult, refusedFiles: number): void;
}

/** A configuration that follows its files. */
export interface Reloading {
  /** Reads every file now and makes this process's configuration the newest. */
  reload(): void;
  /** Checks for changes now; resolves when they are applied, or left to the next check. */
  look(): Promise<void>;
  end(): Promise<void>;
}

/** Interval of checks of names, sizes and times. A change is applied when two consecutive checks agree. */
const LOOK_MS = 5 * SECOND_MS;
/** Interval to read refused files again, changed or not, because the cause is possibly gone. */
const RETRY_MS = 10 * MINUTE_MS;
/** Interval of reports. */
const REPORT_EVERY_MS = 20 * SECOND_MS;
/** Tenants per batch of checks at a start; each batch then begins to run. */
const CHECKED_AT_ONCE = 250;
/** Maximum number of tenant names per reload in the audit log. */
const MOST_NAMED = 20;

/**
 * Polls the files and applies changes. Polling works everywhere: bind mounts and network shares send no notifications, a ConfigMap changes
 * by a link, and editors replace files. A change is applied when a check finds no further change since the previous check, so that
 * incomplete files are skipped.
 */
export function startReloading(parts: ReloadParts): Reloading {
  const { log } = parts;
  const end = new AbortController();
  const { signal } = end;
  const steps = new ReloadSteps(parts, signal);
  let running: Promise<void> | null = null;
  let isFailing = false;

  function begin(): void {
    running ??= steps
      .step()
      .then(() => {
        isFailing = false;
      })
      .catch((error: unknown) => {
        // Retried by the next check; logged once.
        if (!signal.aborted && !isFailing) log.warn({ error }, 'configuration was not applied: the next check retries');
        isFailing = true;
      })
      .finally(() => {
        running = null;
        if (steps.isAsked && !isFailing && !signal.aborted) begin();
      });
  }

  begin();
  const timer = setInterval(begin, LOOK_MS).unref();
  return {
    reload() {
      steps.ask();
      begin();
    },
    async look() {
      // The active reload possibly began before the change.
      await running;
      begin();
      await running;
    },
    async end() {
      clearInterval(timer);
      end.abort();
      await running;
      await steps.withdraw();
    },
  };
}

/** Sequential reload steps, with unfinished work of earlier steps. */
class ReloadSteps {
  readonly #parts: ReloadParts;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #stableStamps: StableStamps;
  #isAsked = false;
  /** An unfinished reload is due. */
  #isUnread = false;
  #readAt: Instant;
  /** Managed tenants at the last check and at the last file read. */
  #managed: ManagedSnapshot;
  #managedRead: ManagedSnapshot;
  /** Start of a data loss in Redis; null without one. */
  #lostAt: Instant | null = null;
  /** Whether the read failure was logged. */
  #isUnreadable = false;
  #unfinished: { changes: ConfigurationChanges; rejoins: boolean } | null = null;
  #refused: RefusedFiles[] = [];
  #reportedAt: Instant | null = null;
  #hasReported = false;
  /** With the configuration that it describes. */
  #running: [RunningConfiguration, Configuration] | null = null;

  constructor(parts: ReloadParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#clock = parts.composition.installation.clock;
    this.#signal = signal;
    this.#stableStamps = new StableStamps((stamps) => parts.files.isAsRead(stamps));
    this.#readAt = this.#clock();
    // A start identifies managed tenants by revisions; the version is unknown.
    this.#managed = { version: null, tenants: parts.files.managed, lost: new Map(), damaged: [] };
    this.#managedRead = this.#managed;
  }

  /** Whether a requested reload has not begun. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Makes the next step read every file. */
  ask(): void {
    this.#isAsked = true;
  }

  async step(): Promise<void> {
    await this.#checkTenants();
    await this.#lookAtManaged();
    const stamps = await inPieces(this.#parts.files.readStamps(), this.#signal);
    const isRetry = this.#isUnread || (this.#refused.length > 0 && this.#clock() >= this.#readAt + RETRY_MS);
    const isDue = this.#stableStamps.isDue(stamps, { isAsked: this.#isAsked });
    // Documents are always complete, so managed tenants wait only while files are being written.
    const isManagedDue = this.#managed !== this.#managedRead && this.#stableStamps.isAtRest(stamps);
    this.#isUnread = isDue || isManagedDue || isRetry;
    if (this.#isUnread) await this.#readAgain(stamps);
    this.#isUnread = false;
    await this.#finish();
    await this.#report();
  }

  /** Removes the report of a process that ends. */
  async withdraw(): Promise<void> {
    if (this.#hasReported) await this.#parts.composition.reloads.write(null).catch(() => {});
  }

  /** Continues the checks of the start, one batch per step. Checked tenants begin to run. */
  async #checkTenants(): Promise<void> {
    const { files, composition, log } = this.#parts;
    if (composition.configuration.unchecked.size === 0) return;
    while (composition.configuration.unchecked.size > 0) {
      const { unusable } = composition.configuration;
      const next = await inPieces(files.check(CHECKED_AT_ONCE), this.#signal);
      const changes = await composition.takeUp(next, this.#signal);
      this.#unfinished = { changes: joinChanges(this.#unfinished?.changes ?? NO_CHANGES, changes), rejoins: false };
      logInvalidTenants(next.unusable.slice(unusable.length), log);
      await this.#finish();
    }
    const { outlines, unusable } = composition.configuration;
    log.info({ tenants: outlines.size, unusable: unusable.length }, 'all tenants are checked');
  }

  /** Keeps the known managed tenants while Redis is unreachable or has lost them: a partial restore must not remove tenants. */
  async #lookAtManaged(): Promise<void> {
    const { managedTenants, log } = this.#parts.composition;
    try {
      this.#managed = await managedTenants.read();
      this.#isUnreadable = false;
      const { size } = this.#managed.lost;
      if (size > 0 === (this.#lostAt !== null)) return;
      this.#lostAt = size > 0 ? this.#clock() : null;
      this.#reportedAt = null;
      if (size > 0) log.error({ tenants: size }, 'Redis lost managed tenants: they run until this process exits');
    } catch (error) {
      const { code, message, remedy } = asMirrorError(error);
      if (code !== 'managed-tenants-lost') {
        if (!isRedisFault(code) && !this.#isUnreadable) log.warn({ error }, 'managed tenants are not readable');
        this.#isUnreadable ||= !isRedisFault(code);
        return;
      }
      if (this.#lostAt !== null) return;
      this.#lostAt = this.#clock();
      this.#reportedAt = null;
      log.error({ code, remedy }, message);
    }
  }

  async #readAgain(stamps: FileStamps): Promise<void> {
    const { files, composition, log, observe } = this.#parts;
    const isSure = this.#isAsked;
    this.#isAsked = false;
    this.#readAt = this.#clock();
    const before = composition.configuration;
    const managed = this.#managed;
    const next = await inPieces(files.readAgain(stamps, { sure: isSure, managed: goingOn(managed) }), this.#signal);
    this.#managedRead = managed;
    const changes = await this.#takeUp(before, next, isSure);
    const earlier = this.#unfinished ?? { changes: NO_CHANGES, rejoins: false };
    this.#unfinished = { changes: joinChanges(earlier.changes, changes), rejoins: earlier.rejoins || isSure };
    this.#refused = refusedFiles(next.refused, this.#refused, this.#readAt);
    if (!isOther(before, next, changes) && !isSure) return;
    observe(next.refused.length === 0 ? 'applied' : 'refused', next.refused.length);
    logChanges(log, next, changes);
    this.#reportedAt = null;
  }

  /** A change that cannot be recorded is not applied; the next check retries. */
  #takeUp(before: Configuration, next: Configuration, isSure: boolean): Promise<ConfigurationChanges> {
    const { composition } = this.#parts;
    const take = () => composition.takeUp(next, this.#signal);
    const changes = changesBetween(before, next);
    if (!isSure && !isOther(before, next, changes)) return take();
    const { added, changed, reopened, removed } = changes;
    const tenants = {
      added: added.length,
      changed: changed.length,
      reopened: reopened.length,
      removed: removed.length,
    };
    const what = {
      by: isSure ? 'SIGHUP' : 'files',
      ...tenants,
      refused: next.refused.length,
      damaged: this.#managed.damaged.slice(0, MOST_NAMED).join(' ') || null,
      awaitsRestart: next.awaitsRestart.join(' ') || null,
      // Names are listed for few changes only.
      names: [...added, ...changed, ...removed].slice(0, MOST_NAMED).join(' ') || null,
    };
    const acting = { who: principalOfDaemon(), why: null, actServices: composition.acts };
    return recordAct(acting, { verb: 'reload-configuration', tenant: null, what }, take);
  }

  async #finish(): Promise<void> {
    if (this.#unfinished === null) return;
    const { changes, rejoins } = this.#unfinished;
    if (!isNothing(changes) || rejoins) await this.#parts.composition.register(changes, { rejoins });
    await this.#parts.onTakenUp(changes, this.#signal);
    this.#unfinished = null;
  }

  async #report(): Promise<void> {
    const { configuration, reloads } = this.#parts.composition;
    const { awaitsRestart } = configuration;
    const refused = [...this.#refused, ...lostSince(this.#lostAt)];
    if (this.#reportedAt !== null && this.#clock() < this.#reportedAt + REPORT_EVERY_MS) return;
    await reloads.write({ refused, awaitsRestart, running: this.#runningNow(configuration) });
    this.#reportedAt = this.#clock();
    this.#hasReported = true;
  }

  #runningNow(configuration: Configuration): RunningConfiguration | null {
    if (configuration.unchecked.size > 0) return null;
    const [before, described] = this.#running ?? [];
    if (before !== undefined && described === configuration) return before;
    const hash = sharedConfigurationHash(configuration);
    const sinceAt = before?.hash === hash ? before.sinceAt : this.#clock();
    const running = { host: hostname(), pid: process.pid, hash, sinceAt };
    this.#running = [running, configuration];
    return running;
  }
}

/** Returns all managed tenants that continue. */
function goingOn({ tenants, lost }: ManagedSnapshot): ManagedTenants {
  return lost.size === 0 ? tenants : new Map([...tenants, ...lost]);
}

/** Reports lost managed tenants like refused files; the tenants continue unchanged. */
function lostSince(sinceAt: Instant | null): RefusedFiles[] {
  if (sinceAt === null) return [];
  const fault = { file: 'managed tenants', line: null, path: '', message: render(message('redis.managed-lost')) };
  return [{ tenant: null, sinceAt, faults: [fault], more: 0 }];
}

/** Decides whether a reload differs from the previous one. */
function isOther(before: Configuration, next: Configuration, changes: ConfigurationChanges): boolean {
  return !isNothing(changes) || textOf(before) !== textOf(next) || before.settings !== next.settings;
}

function logChanges(log: Logger, next: Configuration, changes: ConfigurationChanges): void {
  const { unchanged, reduced: _among, ...others } = changes;
  for (const { tenant, faults } of next.refused) {
    for (const { file, line, path, message, remedy } of faults.slice(0, MOST_REPORTED)) {
      const fault = { tenant, file, line, path, fault: message, remedy, faults: faults.length };
      log.error(fault, 'changed file was refused: the previous configuration stays active');
    }
  }
  logInvalidTenants(next.unusable, log);
  if (next.awaitsRestart.length > 0) {
    log.warn({ settings: next.awaitsRestart }, 'changed settings need a restart: the previous values stay active');
  }
  const counts = Object.fromEntries(Object.entries(others).map(([what, ids]) => [what, ids.length]));
  log.info({ ...counts, unchanged, refused: next.refused.length }, 'configuration was applied');
}

/** Logs the tenants that do not run. */
export function logInvalidTenants(invalidTenants: Configuration['unusable'], log: Logger): void {
  for (const { id, faults } of invalidTenants) {
    log.error({ tenant: id, faults: faults.length }, 'tenant does not run: its configuration has faults');
  }
}

/** Returns a text that changes when a reload has new results to report. */
function textOf({ refused, unusable, awaitsRestart }: Configuration): string {
  return JSON.stringify([refused, unusable, awaitsRestart]);
}

/** Decides at each check whether to read files: after a change, and without a further change since the previous check. */
export class StableStamps {
  readonly #isAsRead: (stamps: FileStamps) => boolean;
  #previous: FileStamps | null = null;
  /** State before the last read. */
  #read: FileStamps | null = null;

  /** @param isAsRead decides whether a check found the state that a start read */
  constructor(isAsRead: (stamps: FileStamps) => boolean) {
    this.#isAsRead = isAsRead;
  }

  /** Decides whether files are unchanged since the last read, so that no writer is active. */
  isAtRest(stamps: FileStamps): boolean {
    return this.#read !== null && isSameStamps(stamps, this.#read);
  }

  /** @param options.isAsked a requested read does not wait for another check */
  isDue(stamps: FileStamps, { isAsked }: { isAsked: boolean }): boolean {
    if (this.#read === null && this.#isAsRead(stamps)) this.#read = stamps;
    const isStable = this.#previous !== null && isSameStamps(stamps, this.#previous);
    this.#previous = stamps;
    const isOther = this.#read === null || !isSameStamps(stamps, this.#read);
    if (!isAsked && !(isStable && isOther)) return false;
    this.#read = stamps;
    return true;
  }
}
