import { text } from 'node:stream/consumers';
import { readTextFile, writeNewFile } from './cli/files.ts';
import { type CliOutside, createProgram, type Wanted } from './cli/program.ts';
import { createProgress } from './cli/progress.ts';
import { renderError } from './cli/render-error.ts';
import { requireCertificateChecks } from './http/certificate-checks.ts';
import { asMirrorError } from './model/errors.ts';
import { SECOND_MS } from './model/time.ts';
import type { ConfigurationFiles } from './settings/configuration-files.ts';
import { ConfigurationError, type ConfigurationFault } from './settings/faults.ts';

/** A container engine kills ten seconds after its signal; a Redis that went away would keep us longer. */
const END_DEADLINE_MS = 9 * SECOND_MS;

/** A person waits at the terminal; the daemon itself waits longer. */
const REDIS_PATIENCE_MS = 5_000;

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);

function interrupt(): void {
  interrupted.abort();
  const deadline = setTimeout(() => {
    process.stderr.write('Ended without waiting any longer: what is under way is taken up again at the next start.\n');
    process.exit(1);
  }, END_DEADLINE_MS);
  deadline.unref();
}

async function open({ config, only }: Wanted, mode: 'strict' | 'set-aside'): Promise<ConfigurationFiles> {
  const [{ ConfigurationFiles }, { connectors }, { reminderChannels }] = await Promise.all([
    import('./settings/configuration-files.ts'),
    import('./connectors/registry.ts'),
    import('./reminders/channels/registry.ts'),
  ]);
  const given = { dir: config, env: process.env, connectors, reminderChannels, mode };
  return new ConfigurationFiles(only === undefined ? given : { ...given, only });
}

const outside: CliOutside = {
  signal: interrupted.signal,
  out: (answer) => process.stdout.write(`${answer}\n`),
  err: (message) => process.stderr.write(`${message}\n`),
  read: (file) => (file === undefined ? text(process.stdin) : readTextFile(file)),
  write: writeNewFile,
  async profile({ config }, name) {
    const { loadProfile } = await import('./settings/load.ts');
    return loadProfile(config, name);
  },
  progress: () => createProgress(process.stderr),
  exit: (code) => {
    process.exitCode = code;
  },
  async checkConfiguration(options) {
    const { renderConfigurationSummary } = await import('./settings/summary.ts');
    const faults: ConfigurationFault[] = [];
    try {
      return { faults, text: renderConfigurationSummary((await open(options, 'strict')).configuration) };
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return { faults: error.faults, text: error.message };
    }
  },
  async withInstallation(options, work) {
    const { configuration } = await open(options, 'set-aside');
    const [
      { compose },
      { principalOfProcess },
      { checkRedis },
      { loginDesk },
      { openClinicAccess },
      { openBackups },
      { stateProbe },
      { createLogger },
    ] = await Promise.all([
      import('./composition/compose.ts'),
      import('./composition/acts.ts'),
      import('./state/redis-check.ts'),
      import('./composition/login-desk.ts'),
      import('./composition/clinic.ts'),
      import('./composition/backup.ts'),
      import('./composition/state-probe.ts'),
      import('./log/create-logger.ts'),
    ]);
    // Standard output is for the answer; what goes wrong is told once, at the end.
    const log = createLogger({ level: 'error', destination: process.stderr });
    const composition = compose({ configuration, log, priority: 'interactive' });
    try {
      const check = (signal: AbortSignal) =>
        checkRedis(composition.redis, AbortSignal.any([signal, AbortSignal.timeout(REDIS_PATIENCE_MS)]));
      if (options.isUnchecked !== true) {
        await check(interrupted.signal);
        await composition.epoch.requireIdentity();
        await composition.epoch.check();
      }
      return await work({
        installation: composition.installation,
        desk: loginDesk(composition),
        clinic: (tenant) => openClinicAccess(composition, tenant),
        backups: openBackups(composition),
        state: stateProbe(composition, check),
        publicUrl: composition.configuration.settings.http.publicUrl,
        acting: { who: await principalOfProcess(options.as), why: options.reason, desk: composition.acts },
      });
    } finally {
      await composition.close();
    }
  },
  async serveMcp(installation, version) {
    // Loaded with its command alone.
    const { serveMcp } = await import('./mcp-server/serve.ts');
    await serveMcp(installation, version, interrupted.signal);
  },
  async run(options, role) {
    // From the first moment on: whoever asks for a reload must not end the process.
    let reload = () => {};
    process.on('SIGHUP', () => reload());
    const files = await open(options, 'set-aside');
    const { configuration } = files;
    const [{ createLogger }, { startDaemon }, { giveBackMemory }] = await Promise.all([
      import('./log/create-logger.ts'),
      import('./main.ts'),
      import('./composition/give-back.ts'),
    ]);
    const log = createLogger({ level: configuration.settings.log.level });
    const daemon = await startDaemon(configuration, log, interrupted.signal, { role, files });
    reload = daemon.reload;
    // Reading thousands of files takes much that is never needed again.
    void daemon.begun.then(() => {
      if (!interrupted.signal.aborted) giveBackMemory();
    });
    if (!interrupted.signal.aborted) {
      await new Promise<void>((resolve) =>
        interrupted.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
    }
    await daemon.close();
  },
};

const program = createProgram(outside);
try {
  requireCertificateChecks(process.env);
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof ConfigurationError) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  } else if (interrupted.signal.aborted) {
    process.exitCode = 130;
  } else {
    const failure = asMirrorError(error);
    process.stderr.write(`${renderError(failure, program.args[0] === 'clinic')}\n`);
    process.exitCode = failure.code === 'tenant-set-aside' ? 2 : 1;
  }
}
