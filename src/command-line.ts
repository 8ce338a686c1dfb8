import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { type Logger, takeLibraryWords } from './core/log/logger.ts';
import { asMirrorError, isRedisFault, MirrorError, redisCodeIn } from './core/model/errors.ts';
import { shellWord } from './core/model/text.ts';
import { forTenant, message } from './messages/message.ts';
import { readLines, readTextFile, writeNewFile } from './operator/cli/files.ts';
import { createProgress, outputOptionsOf, printed, type Terminal, withOutputOptions } from './operator/cli/output.ts';
import {
  type CliOutside,
  type GlobalOptions,
  type OpenInstallation,
  USUAL_CONFIG,
  type Wanted,
} from './operator/cli/outside.ts';
import { createProgram } from './operator/cli/program.ts';
import type { SetupWork } from './operator/cli/setup-commands.ts';
import { wrap } from './operator/cli/table.ts';
import type { Role } from './operator/control/roles.ts';
import type { RefusedChange } from './settings/configuration.ts';
import type { ConfigurationFiles } from './settings/configuration-files.ts';
import { ConfigurationError, type ConfigurationFault, renderFaults } from './settings/faults.ts';
import type { FileUse } from './settings/last-run.ts';
import type { ManagedTenants } from './settings/managed-tenant.ts';
import type { Settings } from './settings/settings-schema.ts';

/** Longest delay of the daemon's end for telemetry that is not sent yet. A container engine kills ten seconds after its signal. */
const TELEMETRY_GRACE_MS = 500;
/** A user waits at the terminal; the daemon itself waits longer. */
const REDIS_PATIENCE_MS = 5_000;

/** Loads each setup command when it runs. */
const SETUP: SetupWork = {
  initialise: async (...input) => (await import('./setup/init/initialise.ts')).initialise(...input),
  checkSpec: async (...input) => (await import('./setup/check-spec/command.ts')).checkSpec(...input),
  probe: async (...input) => (await import('./setup/probe/command.ts')).probe(...input),
};

/** Environment of a command, provided by the process. */
interface CommandHost {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal;
}

/**
 * Runs one command to its end, including `run` (the daemon). Errors are written to standard error, and nothing is thrown.
 * @param args as typed, without the program
 * @returns the exit code: 2 for a faulty configuration, 130 after an interruption by the user
 */
export function runCommand(args: readonly string[], host: CommandHost): Promise<number> {
  return withOutputOptions(outputOptionsOf(host.stdout), async () => {
    let exitCode = 0;
    let tenant: string | null = null;
    const program = createProgram(
      outsideOf(
        host,
        (code) => (exitCode = code),
        (refused) => reportRefused(refused, tenant, host),
      ),
    );
    program.hook('preAction', (_program, command) => {
      tenant = tenantOf(command);
    });
    try {
      requireCertificateChecks(host.env);
      await program.parseAsync([...args], { from: 'user' });
      return exitCode;
    } catch (error) {
      const details = {
        asksForData: program.args[0] === 'clinic',
        tenant,
        config: program.opts<{ config?: string }>().config,
      };
      return withOutputOptions(outputOptionsOf(host.stderr), () => reportFailure(error, details, host));
    }
  });
}

function tenantOf({ registeredArguments, args }: Command): string | null {
  const location = registeredArguments.findIndex((argument) => argument.name() === 'tenant');
  return args[location] ?? null;
}

/** Reports which earlier content the command uses instead of the refused files. */
function reportRefused(refused: readonly RefusedChange[], tenant: string | null, host: CommandHost): void {
  const ofIt = refused.filter((change) => tenant === null || change.tenant === null || change.tenant === tenant);
  if (ofIt.length === 0) return;
  const faults = renderFaults(ofIt.flatMap((change) => change.faults));
  host.stderr.write(`${faults}\n\nA running daemon uses the previous configuration until these faults are fixed.\n\n`);
}

/** @returns the exit code */
function reportFailure(
  error: unknown,
  { config, ...options }: Parameters<typeof renderError>[1] & { config?: string | undefined },
  host: CommandHost,
): number {
  if (error instanceof ConfigurationError) {
    host.stderr.write(`${printed(error.message)}\n\n${checkAgain(config)}\n`);
    return 2;
  }
  if (host.interrupted.aborted) return 130;
  const failure = asMirrorError(error);
  host.stderr.write(`${printed(renderError(failure, options))}\n`);
  return failure.code === 'tenant-set-aside' ? 2 : 1;
}

/** Returns the command to check corrected files. @param config as given; none: the default directory */
function checkAgain(config: string | undefined): string {
  const location = config === undefined ? '' : `--config ${shellWord(config)} `;
  return `Correct this, then run:\n  clinic-mirror ${location}config check`;
}

function outsideOf(
  host: CommandHost,
  exit: (code: number) => void,
  onRefused: (refused: readonly RefusedChange[]) => void,
): CliOutside {
  return {
    env: host.env,
    signal: host.interrupted,
    out: (answer) => void host.stdout.write(`${printed(answer)}\n`),
    err: (message) => void host.stderr.write(`${printed(message)}\n`),
    read: (file) => (file === undefined ? text(host.stdin) : readTextFile(file)),
    write: writeNewFile,
    lines: readLines,
    async names(directory) {
      const { configuredNames } = await import('./settings/surroundings.ts');
      return configuredNames(directory);
    },
    async profile({ config }, name) {
      const { loadProfile } = await import('./settings/surroundings.ts');
      return loadProfile(config, name);
    },
    progress: () => createProgress(host.stderr),
    exit,
    checkConfiguration: (options) => checkConfiguration(host, options),
    withInstallation: (options, work) => withInstallation(host, options, work, onRefused),
    async serveMcp(context, version) {
      // Loaded only for its command.
      const { serveMcp } = await import('./operator/mcp-server/server.ts');
      await serveMcp(context, version);
    },
    setup: SETUP,
    run: (options, role) => runDaemon(host, options, role),
  };
}

/** Reads the configuration. @param managedOf reads the managed tenants through the Redis connection in the settings */
async function open(
  { env, interrupted }: CommandHost,
  { config, only }: Wanted,
  { mode, use }: { mode: 'strict' | 'set-aside'; use?: FileUse },
  managedOf: (settings: Settings) => Promise<ManagedTenants>,
): Promise<ConfigurationFiles> {
  const [{ ConfigurationFiles }, { inPieces }, { connectors }, { reminderChannels }] = await Promise.all([
    import('./settings/configuration-files.ts'),
    import('./core/pieces/in-pieces.ts'),
    import('./connectors/registry.ts'),
    import('./features/reminders/channels/registry.ts'),
  ]);
  const parts = { dir: config, env, connectors, reminderChannels, mode };
  const details = use === undefined ? parts : { ...parts, use };
  return ConfigurationFiles.open(only === undefined ? details : { ...details, only }, managedOf, (work) =>
    inPieces(work, interrupted),
  );
}

async function readManaged(
  settings: Settings,
  signal: AbortSignal,
  options?: { isPatient: boolean },
): Promise<ManagedTenants> {
  const { readManagedTenants } = await import('./daemon/managed-tenants.ts');
  return readManagedTenants(settings, signal, options);
}

/** A check of files only is useful before Redis exists. */
async function checkConfiguration(host: CommandHost, options: GlobalOptions) {
  const [{ renderConfigurationSummary, renderOpenSecret }, { closingOf }] = await Promise.all([
    import('./settings/summary.ts'),
    import('./settings/secret-reference.ts'),
  ]);
  const faults: ConfigurationFault[] = [];
  const unread: string[] = [];
  const managedOf = (settings: Settings) =>
    readManaged(settings, within(host, REDIS_PATIENCE_MS), { isPatient: false }).catch((error: unknown) => {
      unread.push(`Managed tenants, if any, were not checked: ${asMirrorError(error).message}.`);
      return new Map();
    });
  try {
    const files = await open(host, options, { mode: 'strict' }, managedOf);
    const { configuration } = files;
    const warnings = [null, ...configuration.outlines.keys()].flatMap((tenant) =>
      files.openSecrets(tenant).map((secret) => ({ tenant, ...secret, remedy: closingOf(secret) })),
    );
    const parts = [renderConfigurationSummary(configuration), ...warnings.map(renderOpenSecret), ...unread];
    return { faults, warnings, text: parts.join('\n\n') };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const location = options.config === USUAL_CONFIG ? undefined : options.config;
    return { faults: error.faults, warnings: [], text: `${error.message}\n\n${checkAgain(location)}` };
  }
}

/** Aborts after a time, or after an interruption by the user. */
function within({ interrupted }: CommandHost, timeMs: number): AbortSignal {
  return AbortSignal.any([interrupted, AbortSignal.timeout(timeMs)]);
}

async function withInstallation<Result>(
  host: CommandHost,
  options: Wanted,
  work: (open: OpenInstallation) => Promise<Result>,
  onRefused: (refused: readonly RefusedChange[]) => void,
): Promise<Result> {
  let away: unknown = null;
  const files = await open(host, options, { mode: 'set-aside', use: 'command' }, async (settings) => {
    const reading = readManaged(settings, within(host, REDIS_PATIENCE_MS));
    if (options.isUnchecked !== true) return reading;
    // The check reports the state of Redis itself, without a second wait.
    return reading.catch((error: unknown) => {
      away = isRedisFault(asMirrorError(error).code) ? error : null;
      return new Map();
    });
  });
  const { configuration } = files;
  if (options.reportsRefused !== true) onRefused(configuration.refused);
  const [{ compose }, { principalOfProcess }, { checkRedis }, { createLogger }] = await Promise.all([
    import('./daemon/compose.ts'),
    import('./daemon/acts.ts'),
    import('./state/redis-check.ts'),
    import('./core/log/create-logger.ts'),
  ]);
  // Standard output contains only the answer; errors are reported once, at the end.
  const log = createLogger({ level: 'error', destination: host.stderr });
  const putBack = takeLibraryWords(log);
  const composition = compose({ configuration, log, priority: 'interactive', actLines: host.stderr });
  try {
    const { readFrom } = configuration.settings.redis.place;
    const check = async (signal: AbortSignal) => {
      if (away !== null) throw away;
      await checkRedis(composition.redis, AbortSignal.any([signal, AbortSignal.timeout(REDIS_PATIENCE_MS)]), readFrom);
    };
    if (options.isUnchecked !== true) {
      await check(host.interrupted);
      await composition.stateCounter.requireIdentity();
      await composition.stateCounter.check();
    }
    const configurations = async () =>
      (await import('./daemon/managed-tenants.ts')).openConfigurationServices(composition, files);
    return await work({
      installation: composition.installation,
      services: async () => (await import('./daemon/operator-services.ts')).createLoginServices(composition),
      clinic: async (tenant) => (await import('./daemon/clinic.ts')).openClinicAccess(composition, tenant),
      backups: async () => (await import('./daemon/backup.ts')).openBackups(composition, await configurations()),
      access: async () => (await import('./daemon/access.ts')).openAccess(composition),
      configurations,
      state: async () => (await import('./daemon/state-probe.ts')).stateProbe(composition, check, files),
      publicUrl: composition.configuration.settings.http.publicUrl,
      acting: { who: await principalOfProcess(options.as), why: options.reason, actServices: composition.acts },
    });
  } finally {
    await composition.close();
    putBack();
  }
}

/** Runs the daemon, or a part of it, until a signal. Only the daemon handles SIGHUP, which reloads the configuration. */
async function runDaemon(host: CommandHost, options: GlobalOptions, role: Role): Promise<void> {
  const { interrupted } = host;
  // Set first, because an early SIGHUP must not end the process.
  let reload = () => {};
  process.on('SIGHUP', () => reload());
  const files = await open(host, options, { mode: 'set-aside', use: 'daemon' }, (settings) =>
    readManaged(settings, interrupted),
  );
  const { configuration } = files;
  const [{ createLogger }, { limitLines }, { startTelemetry }, { startDaemon }] = await Promise.all([
    import('./core/log/create-logger.ts'),
    import('./core/log/limited.ts'),
    import('./daemon/telemetry.ts'),
    import('./main.ts'),
  ]);
  const { level, format } = configuration.settings.log;
  const telemetry = await startTelemetry(configuration.settings, () => log);
  const everyLine = createLogger({
    level,
    ...(format === undefined ? {} : { readable: format === 'text' }),
    ...(telemetry === null ? {} : { mirror: telemetry.lines }),
  });
  const log: Logger = limitLines(everyLine, { codeOf: redisCodeIn });
  const putBack = takeLibraryWords(log);
  // Log lines of a failed start are also sent.
  await using ending = new AsyncDisposableStack();
  ending.defer(putBack);
  ending.defer(() => telemetry?.close(TELEMETRY_GRACE_MS));
  const daemon = await startDaemon(configuration, log, interrupted, {
    ...{ role, files, telemetry },
    report: (text) => void host.stderr.write(`${printed(text)}\n`),
  });
  reload = daemon.reload;
  if (!interrupted.aborted) {
    await new Promise<void>((resolve) => interrupted.addEventListener('abort', () => resolve(), { once: true }));
  }
  await daemon.close();
}

/**
 * Renders an error for the user of the command.
 * @param options.tenant the tenant in the command, for the command in the remedy
 * @param options.asksForData the command shows clinic data: the vendor's own words, which can identify patients, are then added below. The
 * output of other commands ends in logs.
 */
export function renderError(
  error: MirrorError,
  { asksForData = false, tenant = null }: { asksForData?: boolean; tenant?: string | null },
): string {
  const { message, code } = error;
  const remedy = forTenant(error.remedy, tenant ?? '<tenant>');
  const vendorMessages = asksForData ? error.vendorMessages() : [];
  const lines = vendorMessages.map((words) => wrap(`Vendor message: ${words}`, '  '));
  return [wrap(`${message} (${code})${remedy === null ? '' : `. What to do: ${remedy}`}`), ...lines].join('\n');
}

/**
 * Refuses requests without certificate checks: with this variable, Node accepts every certificate, so that credentials and patient data
 * could reach an attacker.
 * @throws MirrorError `settings`, code `certificates-unchecked`
 * @see https://nodejs.org/api/cli.html#node_tls_reject_unauthorizedvalue
 */
function requireCertificateChecks(env: Readonly<Record<string, string | undefined>>): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  throw new MirrorError(message('certificates-unchecked'), {
    actor: 'settings',
    code: 'certificates-unchecked',
    retry: 'never',
    remedy: message('certificates-unchecked.remedy'),
  });
}
