import type { Readable } from 'node:stream';
import { Command, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { AccessDesk } from '../control/access.ts';
import type { AllBackups } from '../control/backups.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { StateProbe } from '../control/doctor.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginDesk } from '../control/logins.ts';
import type { ConfigurationDesk } from '../control/managed-tenants.ts';
import type { Acting } from '../control/recording.ts';
import { ROLES, type Role } from '../control/roles.ts';
import type { Progress } from '../model/progress.ts';
import { addAccess } from './access-commands.ts';
import { type Asked, type Print, paged, printer, zoneOf } from './answer.ts';
import { addAuditLog } from './audit-log-commands.ts';
import { addBackups } from './backup-commands.ts';
import { addClinic, addProbe } from './clinic-commands.ts';
import { addCompletion, type ConfiguredNames } from './completion.ts';
import { addConfig, type ConfigCommand } from './config-command.ts';
import { addDoctor, type DoctorCommand } from './doctor-command.ts';
import { tellExitCodes } from './exit-codes.ts';
import { addFeeds } from './feed-commands.ts';
import { addForget } from './forget-command.ts';
import { addHealth } from './health-command.ts';
import { addHolds } from './hold-commands.ts';
import { addInit } from './init/command.ts';
import { addLogins } from './login-commands.ts';
import { addMatch } from './match-command.ts';
import { paper } from './paper.ts';
import { addPlans } from './plan-commands.ts';
import { addProfiles } from './profile-commands.ts';
import { addReminders } from './reminder-commands.ts';
import { renderAudit } from './render-audit.ts';
import { renderSync } from './render-sync.ts';
import { renderRuns, renderUndo } from './render-undo.ts';
import { addStatus } from './status-commands.ts';
import { addTenants } from './tenant-commands.ts';
import { addTriggers } from './trigger-commands.ts';

/** What the commands need from outside; `command-line.ts` gives it. */
export interface CliOutside {
  /** Variables of the environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Opens the installation, does the work, closes it again. */
  withInstallation<Result>(options: Wanted, work: (open: OpenInstallation) => Promise<Result>): Promise<Result>;
  /** Runs the daemon, or a part of it, until it is told to end. */
  run(options: GlobalOptions, role: Role): Promise<void>;
  /** Answers questions of an assistant over standard input and output, until it ends them. */
  serveMcp(installation: Installation, version: string): Promise<void>;
  /** Checks the configuration; `faults` 0 when it can be used. */
  checkConfiguration(options: GlobalOptions): ReturnType<ConfigCommand['check']>;
  /** Ends with the signal that a person gives (Ctrl-C). */
  signal: AbortSignal;
  /** One profile of the configuration. @throws ConfigurationError */
  profile(options: GlobalOptions, name: string): Promise<ClinicProfile>;
  /** Names in the files of a configuration's directory, for completion. */
  names(directory: string): Promise<ConfiguredNames>;
  /** A file's lines, from its beginning. @throws MirrorError `settings`, code `file-unusable` */
  lines(file: string): AsyncIterable<string>;
  /** A file's text, or that of standard input. */
  read(file: string | undefined): Promise<string>;
  /** Makes a file; one that is there stays as it is, and that is thrown. */
  write(file: string, content: string | Readable): Promise<void>;
  out(text: string): void;
  /** For what is not the answer: prompts and progress. */
  err(text: string): void;
  progress(): Progress & { end(): void };
  exit(code: number): void;
}

/** The directory of the configuration where none is named. */
export const USUAL_CONFIG = 'config';

/** Options before the command. */
export interface GlobalOptions {
  config: string;
  /** The name that the person gives. */
  as: string | null;
  /** Why they do what they do. */
  reason: string | null;
}

/** What a command needs of the configuration. */
export interface Wanted extends GlobalOptions {
  /** The one tenant that it looks at, where it changes nothing: files of others need not be read. Default: all. */
  only?: string | undefined;
  /** Its answer tells which files are refused. */
  tellsRefused?: boolean;
  /** It looks itself whether Redis is as it must be. */
  isUnchecked?: boolean;
}

/** What a command works on. What few commands need is loaded when it is asked for. */
export interface OpenInstallation {
  installation: Installation;
  desk(): Promise<LoginDesk>;
  /** The clinic API of a tenant. @throws MirrorError as `requireTenant` */
  clinic(tenant: string): Promise<ClinicAccess>;
  backups(): Promise<AllBackups>;
  access(): Promise<AccessDesk>;
  /** What tenants are configured with. */
  configurations(): Promise<ConfigurationDesk>;
  state(): Promise<StateProbe>;
  /** Who gives the command, and why. */
  acting: Acting;
  /** How others reach the public port; null where none is open. */
  publicUrl: string | null;
}

const ROLE_HELP =
  'a part of it, where several processes share the work: scheduler puts work into the queues in its time, worker does it, http takes logins, notifications and answers of patients; all have the probes';

function withoutCommands(): Command {
  return new Command('clinic-mirror')
    .description('Keeps calendars and a CRM in step with a clinic management system.')
    .version(manifest.version, '--version', 'show the version')
    .option('-c, --config <directory>', 'directory of the configuration; else CLINIC_MIRROR_CONFIG, else ./config')
    .option('--as <name>', 'who you are, where several persons are one user of the machine; else CLINIC_MIRROR_AS')
    .option('--reason <text>', 'why, for the audit log: best the number of a ticket, and nothing of patients')
    .option('--utc', 'times in UTC, not as the clinic’s clocks show them')
    .configureHelp({ helpWidth: paper().textColumns, subcommandTerm: (command) => command.name() })
    .helpOption('-h, --help', 'show this help')
    .configureOutput({ outputError: (text, write) => write(hinted(text)) });
}

/** What is wrong, and one hint: the name that was likely meant, else where all names are. A page of help would hide it. */
function hinted(text: string): string {
  return text.includes('(Did you mean') ? text : `${text.trimEnd()}\nAdd --help to see how it is used.\n`;
}

/** Builds the command line. What a command does is loaded when it does it: help and a mistyped option should not wait. */
export function createProgram(outside: CliOutside): Command {
  const program = withoutCommands();
  const options = (): GlobalOptions => {
    const { config, as, reason } = program.opts<Partial<GlobalOptions>>();
    return {
      config: config ?? outside.env.CLINIC_MIRROR_CONFIG ?? USUAL_CONFIG,
      as: as ?? outside.env.CLINIC_MIRROR_AS ?? null,
      reason: reason ?? null,
    };
  };
  const print = printer(outside.out, () => program.opts<{ utc?: boolean }>().utc === true);

  const doctor = addSetUp(program, outside, options, print);
  const common = {
    withInstallation: (work: (installation: Installation, acting: Acting) => Promise<void>) =>
      outside.withInstallation(options(), ({ installation, acting }) => work(installation, acting)),
    print,
  };
  program.commandsGroup('Run:');
  addRun(program, outside, options);
  addPlans(program, { ...outside, ...common });
  addCycle(program, outside, options, print);

  program.commandsGroup('See what is the matter:');
  addStatus(program, {
    ...outside,
    print,
    withInstallation: (given, work) =>
      outside.withInstallation(
        { ...options(), only: given.only, tellsRefused: given.tellsRefused },
        ({ installation }) => work(installation),
      ),
  });
  addDoctor(program, doctor);
  addHealth(program, { ...outside, ...common });
  addReminders(program, { ...outside, ...common, read: () => outside.read(undefined) });
  addTriggers(program, { ...outside, ...common });
  addFeeds(program, { print, withInstallation: (work) => outside.withInstallation(options(), work) });
  addAuditLog(program, { ...outside, ...common });

  program.commandsGroup('Decide, undo and forget:');
  addHolds(program, { ...outside, ...common });
  addMatch(program, { ...outside, ...common });
  addUndo(program, outside, options, print);
  addForget(program, { ...outside, ...common });

  program.commandsGroup('Back up and recover:');
  addBackups(program, {
    ...outside,
    ...common,
    withBackups: (work) =>
      outside.withInstallation(options(), async ({ installation, backups, acting }) =>
        work(installation, await backups(), acting),
      ),
  });

  program.commandsGroup('For other programs:');
  addMcp(program, outside, options);
  addCompletion(program, { ...outside, names: (directory) => outside.names(directory ?? options().config) });
  program.helpCommand('help [command]', 'show the help of a command');
  tellExitCodes(program);
  return program;
}

/** What an installation begins with. @returns how `doctor` examines */
function addSetUp(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): DoctorCommand {
  program.commandsGroup('Set up:');
  const doctor: DoctorCommand = {
    ...outside,
    withState: (only, work) =>
      outside.withInstallation({ ...options(), only, isUnchecked: true }, async ({ installation, state }) =>
        work(installation, await state()),
      ),
  };
  addConfig(program, { ...doctor, print, check: () => outside.checkConfiguration(options()) });
  addInit(program, {
    ...outside,
    print,
    check: (config) => outside.checkConfiguration({ ...options(), config }),
    withInstallation: (config, only, work) =>
      outside.withInstallation({ ...options(), config, only }, async ({ installation, desk, acting }) =>
        work(installation, await desk(), acting),
      ),
  });
  addLogins(program, {
    ...outside,
    print,
    withDesk: (work) => outside.withInstallation(options(), async ({ desk, acting }) => work(await desk(), acting)),
  });
  addTenants(program, {
    ...outside,
    print,
    withConfigurations: (work) =>
      outside.withInstallation(options(), async ({ configurations, acting }) => work(await configurations(), acting)),
  });
  addAccess(program, {
    ...outside,
    print,
    withAccess: (work) =>
      outside.withInstallation(options(), async ({ access, acting }) => work(await access(), acting)),
  });
  addClinicCommands(program, outside, options, print);
  addProfiles(program, { ...outside, profile: (name) => outside.profile(options(), name), print });
  return doctor;
}

function addClinicCommands(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  const clinic = program.command('clinic').description("look into a tenant's clinic system");
  const commands = {
    ...outside,
    print,
    withClinic: (tenant: string, work: (access: ClinicAccess, acting: Acting) => Promise<void>) =>
      outside.withInstallation(options(), async ({ clinic, acting }) => work(await clinic(tenant), acting)),
  };
  addClinic(clinic, commands);
  addProbe(clinic, commands);
}

function addRun(program: Command, outside: CliOutside, options: () => GlobalOptions): void {
  program
    .command('run')
    .description('run the daemon until it is told to end')
    .addOption(new Option('--role <role>', ROLE_HELP).choices(ROLES).default('all'))
    .action(({ role }: { role: Role }) => outside.run(options(), role));
}

function addCycle(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  program
    .command('sync <tenant>')
    .description('run one cycle now, to its end')
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      outside.withInstallation(options(), async ({ installation, acting }) => {
        const [{ isWhole }, { settingsPlace }] = await Promise.all([
          import('../control/sync.ts'),
          import('../control/installation.ts'),
        ]);
        const { syncTenant } = await import('../control/acts.ts');
        const progress = outside.progress();
        const signals = { stop: outside.signal, abort: outside.signal };
        const result = await syncTenant(acting, installation, tenant, progress, signals).finally(() => progress.end());
        print(
          asked,
          result,
          () => renderSync(result, settingsPlace(installation, tenant)),
          zoneOf(installation, tenant),
        );
        if (!isWhole(result)) outside.exit(1);
      }),
    );

  program
    .command('retry <server>')
    .description('have all that waits for a server that is away try it now, in the running daemon')
    .option('--json', 'as JSON')
    .action((server: string, asked: Asked) =>
      outside.withInstallation(options(), async ({ installation, acting }) => {
        const { retryHost } = await import('../control/incident-acts.ts');
        const tried = await retryHost(acting, installation, server, () => true);
        const who = tried.clinics.length === 1 ? '1 clinic tries' : `${tried.clinics.length} clinics try`;
        const told = `${who} ${tried.host} now, if the daemon runs: ${tried.clinics.join(', ')}`;
        print(asked, tried, () => told);
      }),
    );

  program
    .command('audit <tenant>')
    .description('read back what the targets hold and show what was changed there by hand')
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      outside.withInstallation(options(), async ({ installation, acting }) => {
        const { isLookedAt } = await import('../control/audit.ts');
        const { auditNow } = await import('../control/acts.ts');
        const progress = outside.progress();
        const view = await auditNow(acting, installation, tenant, progress, outside.signal).finally(() =>
          progress.end(),
        );
        print(asked, view, () => renderAudit(view), zoneOf(installation, tenant));
        if (!isLookedAt(view)) outside.exit(1);
      }),
    );
}

function addUndo(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  paged(program.command('runs [tenant]'))
    .description('show the runs that changed or deleted something, newest first')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, asked: Asked) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { listRuns } = await import('../control/undo.ts');
        const runs = await listRuns(installation, tenant);
        print(asked, { runs }, () => renderRuns(runs), zoneOf(installation, tenant));
      }),
    );
  program
    .command('undo <run>')
    .description('put back what a run deleted, and bring what it changed to what the clinic says now')
    .option('--tenant <tenant>', 'needed when two tenants have a run of that id')
    .option('--dry-run', 'only show what would come of it')
    .option('--release', "let the target's rules decide again about what an undo put back")
    .option('--json', 'as JSON, with every line')
    .action((run: string, choice: Asked & { tenant?: string; dryRun?: boolean; release?: boolean }) =>
      outside.withInstallation(options(), async ({ installation, acting }) => {
        const { releaseRun, undoRun } = await import('../control/acts.ts');
        if (choice.release === true) {
          const result = await releaseRun(acting, installation, run, { tenant: choice.tenant });
          return print(choice, result, () => `${result.released} items of ${result.tenant} go by the rules again.`);
        }
        const progress = outside.progress();
        const view = await undoRun(
          acting,
          installation,
          run,
          { tenant: choice.tenant, dryRun: choice.dryRun === true },
          progress,
          {
            stop: outside.signal,
            abort: outside.signal,
          },
        ).finally(() => progress.end());
        print(choice, view, () => renderUndo(view), zoneOf(installation, view.tenant));
        if (!view.dryRun && view.records.some(({ result }) => result === 'waiting' || result === 'unread'))
          outside.exit(1);
      }),
    );
}

function addMcp(program: Command, outside: CliOutside, options: () => GlobalOptions): void {
  program
    .command('mcp')
    .description('answer questions of an assistant over standard input and output (Model Context Protocol); read-only')
    .action(() =>
      outside.withInstallation(options(), ({ installation }) => outside.serveMcp(installation, manifest.version)),
    );
}
