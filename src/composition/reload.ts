import { inPieces } from '../jobs/in-pieces.ts';
import type { Logger } from '../log/logger.ts';
import { type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import type { Configuration } from '../settings/configuration.ts';
import { type ConfigurationChanges, isNothing, joinChanges, NO_CHANGES } from '../settings/configuration-changes.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import type { Look } from '../settings/seen-files.ts';
import type { RefusedFiles } from '../state/reload-reports.ts';
import type { Composition } from './compose.ts';
import { SettledLooks } from './settled-looks.ts';

/** What became of a reading: all of it counts now, or something of it was refused. */
export type ReloadResult = 'taken-up' | 'refused';

/** What keeps a running daemon's configuration as its files are. */
export interface ReloadParts {
  files: ConfigurationFiles;
  composition: Composition;
  log: Logger;
  /** Has the changes worked on. Called again with the same ones when it fails. */
  onTakenUp(changes: ConfigurationChanges, signal: AbortSignal): Promise<void>;
  /** To be told of each reading that found something else. */
  observe(result: ReloadResult, refusedFiles: number): void;
}

/** A configuration that is kept as its files are. */
export interface Reloading {
  /** Reads every file now, and makes what this process has the newest configuration. */
  reload(): void;
  end(): Promise<void>;
}

/** Between two looks at the files' names, sizes and times. What two looks in a row find the same is taken up. */
const LOOK_MS = 5 * SECOND_MS;
/** What is refused is read again after this time, changed or not: why it could not be read may have passed. */
const RETRY_MS = 10 * MINUTE_MS;
/** What is refused is told again after this time. */
const TELL_MS = 20 * SECOND_MS;
/** Faults of one refusal that are told: settings may be at odds with every tenant. */
const MOST_TOLD = 20;

/**
 * Looks at the files regularly, and takes up what changed. A look is sure everywhere: in bind mounts and on network shares nobody tells of
 * changes, a ConfigMap changes by a link, and an editor replaces files. Files that are being written wait until they are whole: a change
 * is taken up when nothing changed since the look before.
 */
export function keepReloading({ files, composition, log, onTakenUp, observe }: ReloadParts): Reloading {
  const { clock } = composition.installation;
  const end = new AbortController();
  const { signal } = end;
  const looks = new SettledLooks((look) => files.isAsRead(look));
  let running: Promise<void> | null = null;
  let isAsked = false;
  /** A reading is due that has not come to its end. */
  let isUnread = false;
  let readAt = clock();
  let unfinished: { changes: ConfigurationChanges; anew: boolean } | null = null;
  let refused: RefusedFiles[] = [];
  let toldAt: Instant | null = null;
  let hasTold = false;
  let isFailing = false;

  async function readAgain(look: Look): Promise<void> {
    const isSure = isAsked;
    isAsked = false;
    readAt = clock();
    const before = composition.configuration;
    const next = await inPieces(files.readAgain(look, { sure: isSure }), signal);
    const changes = await composition.takeUp(next, signal);
    const earlier = unfinished ?? { changes: NO_CHANGES, anew: false };
    unfinished = { changes: joinChanges(earlier.changes, changes), anew: earlier.anew || isSure };
    refused = refusedOf(next, refused, readAt);
    const isOther = !isNothing(changes) || textOf(before) !== textOf(next) || before.settings !== next.settings;
    if (!isOther && !isSure) return;
    observe(next.refused.length === 0 ? 'taken-up' : 'refused', next.refused.length);
    tellLog(log, next, changes);
    toldAt = null;
  }

  async function finish(): Promise<void> {
    if (unfinished === null) return;
    const { changes, anew } = unfinished;
    if (!isNothing(changes) || anew) await composition.register(changes, { anew });
    await onTakenUp(changes, signal);
    unfinished = null;
  }

  async function tell(): Promise<void> {
    const { awaitsRestart } = composition.configuration;
    const isQuiet = refused.length + awaitsRestart.length === 0;
    if (toldAt !== null && (isQuiet || clock() < toldAt + TELL_MS)) return;
    await composition.reloads.tell(isQuiet ? null : { refused, awaitsRestart });
    toldAt = clock();
    hasTold = !isQuiet;
  }

  async function step(): Promise<void> {
    const look = await inPieces(files.look(), signal);
    const isRetry = isUnread || (refused.length > 0 && clock() >= readAt + RETRY_MS);
    isUnread = looks.isDue(look, { isAsked }) || isRetry;
    if (isUnread) await readAgain(look);
    isUnread = false;
    await finish();
    await tell();
    isFailing = false;
  }

  function begin(): void {
    running ??= step()
      .catch((error: unknown) => {
        // Tried again with the next look; said once.
        if (!signal.aborted && !isFailing) log.warn({ error }, 'the files of the configuration do not all count yet');
        isFailing = true;
      })
      .finally(() => {
        running = null;
        if (isAsked && !isFailing && !signal.aborted) begin();
      });
  }

  begin();
  const timer = setInterval(begin, LOOK_MS).unref();
  return {
    reload() {
      isAsked = true;
      begin();
    },
    async end() {
      clearInterval(timer);
      end.abort();
      await running;
      if (hasTold) await composition.reloads.tell(null).catch(() => {});
      files.keep();
    },
  };
}

function tellLog(log: Logger, next: Configuration, changes: ConfigurationChanges): void {
  const { unchanged, reduced: _among, ...others } = changes;
  for (const { tenant, faults } of next.refused) {
    for (const { file, line, path, message } of faults.slice(0, MOST_TOLD)) {
      const fault = { tenant, file, line, path, fault: message, faults: faults.length };
      log.error(fault, 'a changed file is refused: what it held before goes on');
    }
  }
  for (const { id, faults } of next.setAside) {
    log.error({ tenant: id, faults: faults.length }, 'a tenant is not run: its configuration has faults');
  }
  if (next.awaitsRestart.length > 0) {
    log.warn({ settings: next.awaitsRestart }, 'changed settings wait for a restart: they are as they were until then');
  }
  const counts = Object.fromEntries(Object.entries(others).map(([what, ids]) => [what, ids.length]));
  log.info({ ...counts, unchanged, refused: next.refused.length }, 'configuration taken up');
}

/** What tells whether a reading has something else to say. */
function textOf({ refused, setAside, awaitsRestart }: Configuration): string {
  return JSON.stringify([refused, setAside, awaitsRestart]);
}

function refusedOf(next: Configuration, before: readonly RefusedFiles[], now: Instant): RefusedFiles[] {
  return next.refused.map(({ tenant, faults }) => ({
    tenant,
    sinceAt: before.find((one) => one.tenant === tenant)?.sinceAt ?? now,
    faults: faults.slice(0, MOST_TOLD).map(({ file, line, path, message }) => ({ file, line, path, message })),
    more: Math.max(0, faults.length - MOST_TOLD),
  }));
}
