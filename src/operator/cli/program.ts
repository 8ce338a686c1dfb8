import { Command, Option } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import { OPERATIONS } from '../../features/operations.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import { ROLES, type Role } from '../control/roles.ts';
import type { AnyOperation } from '../operations/operation.ts';
import { addBackups } from './backup-commands.ts';
import { addConfig, addDoctor, type DoctorCommand } from './check-commands.ts';
import { addClinic } from './clinic-commands.ts';
import { addCompletion } from './completion.ts';
import { exampleOf } from './examples.ts';
import { addLogin } from './login-command.ts';
import { addOperations, addOtherOperations, contextOf, type OperationCommands } from './operation-commands.ts';
import { outputOptions, type Print, printer } from './output.ts';
import { type CliOutside, type GlobalOptions, USUAL_CONFIG } from './outside.ts';
import { addCheckSpec, addInit, addProbe } from './setup-commands.ts';
import { addWhy } from './why-command.ts';

const ROLE_HELP =
  'run one role, if several processes share the work: scheduler queues jobs on time, worker runs jobs, http serves connections, notifications and reminder answers; each role has the health probes';

function withoutCommands(): Command {
  return new Command('clinic-mirror')
    .description('Keeps calendars and a CRM in sync with a clinic management system.')
    .version(manifest.version, '--version', 'show the version')
    .option('-c, --config <directory>', 'configuration directory; default: CLINIC_MIRROR_CONFIG or ./config')
    .option('--as <name>', 'your name, if several people share an OS user; default: CLINIC_MIRROR_AS')
    .option('--reason <text>', 'reason for the audit log, such as a ticket number; no patient data')
    .option('--utc', 'show times in UTC, not in the clinic’s time zone')
    .configureHelp({ helpWidth: outputOptions().textColumns, subcommandTerm: (command) => command.name() })
    .helpOption('-h, --help', 'show this help')
    .configureOutput({ outputError: (text, write) => write(hinted(text)) });
}

/** Adds a single hint to an error: the probable name, or where to find every name. A page of help would hide the error. */
function hinted(text: string): string {
  return text.includes('(Did you mean') ? text : `${text.trimEnd()}\nAdd --help for the usage of the command.\n`;
}

/** Builds the command line. Command modules load when a command runs, so that help and typing errors answer at once. */
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
  const operations = { outside, options, print };

  const doctor = addSetUp(program, operations);
  const common = {
    withInstallation: (work: (installation: Installation, acting: Acting) => Promise<void>) =>
      outside.withInstallation(options(), ({ installation, acting }) => work(installation, acting)),
    print,
  };
  program.commandsGroup('Run:');
  addRun(program, outside, options);
  addOperations(program, operations, 'plan', 'apply', 'sync', 'retry', 'audit');

  program.commandsGroup('Find problems:');
  addOperations(program, operations, 'status', 'explain');
  addWhy(program, common);
  addDoctor(program, doctor);
  addOperations(program, operations, 'health', 'duplicates', 'reminders', 'triggers', 'feeds', 'audit-log');

  program.commandsGroup('Decide, undo and forget:');
  addOperations(program, operations, 'holds', 'match', 'runs', 'undo', 'export-patient', 'forget', 'receipts');

  program.commandsGroup('Back up and recover:');
  addBackups(program, {
    ...outside,
    ...common,
    withBackups: (work) =>
      outside.withInstallation(options(), async ({ installation, backups, acting }) =>
        work(installation, await backups(), acting),
      ),
  });

  addOperations(program, operations, 'credentials', 'accept-loss');

  program.commandsGroup('More reports:');
  addOtherOperations(program, operations);

  program.commandsGroup('Integrations:');
  addMcp(program, outside, options);
  addCompletion(program, { ...outside, names: (directory) => outside.names(directory ?? options().config) });
  program.helpCommand('help [command]', 'show the help of a command');
  describeExamplesAndExitCodes(program);
  return program;
}

/** Adds the setup commands. @returns the functions of `doctor` */
function addSetUp(program: Command, operations: OperationCommands): DoctorCommand {
  const { outside, options, print } = operations;
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
      outside.withInstallation({ ...options(), config, only }, async ({ installation, services, acting }) =>
        work(installation, await services(), acting),
      ),
  });
  addLogin(program, operations);
  addOperations(program, operations, 'accept-account', 'logout', 'logins', 'tenants', 'access', 'sessions');
  addClinicCommands(program, outside, options, print);
  addCheckSpec(program, { ...outside, profile: (name) => outside.profile(options(), name), print });
  return doctor;
}

function addClinicCommands(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  const clinic = program.command('clinic').description('show or test the clinic system of a tenant');
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
    .description('run the daemon until a stop signal')
    .addOption(new Option('--role <role>', ROLE_HELP).choices(ROLES).default('all'))
    .action(({ role }: { role: Role }) => outside.run(options(), role));
}

function addMcp(program: Command, outside: CliOutside, options: () => GlobalOptions): void {
  program
    .command('mcp')
    .description('serve read-only tools for AI assistants over stdio (Model Context Protocol)')
    .action(() =>
      outside.withInstallation(options(), async (open) => {
        const signals = { stop: outside.signal, abort: outside.signal };
        await outside.serveMcp(await contextOf(open, { progress: () => {}, signals }), manifest.version);
      }),
    );
}

/** Exit codes of every command. */
export const EXIT_CODES = {
  0: 'success; read-only commands exit with 0 even if they report problems, unless the command lists an exit code',
  1: 'failure, refusal, unfinished work or action required; or an invalid command line',
  2: 'faults in the settings or in the file of the selected tenant',
  130: 'stopped by Ctrl-C',
} as const;

/** Successful commands that exit with code 1, by usage. */
const ENDS_WITH_ONE: Readonly<Record<string, string>> = {
  'check-spec': 'the document differs from the profile, or decisions are open',
  'clinic probe': 'the clinic differs from the profile',
  'config check': 'a server does not respond or the clinic does not know an id (with --live)',
  doctor: 'a problem prevents work',
  login:
    'a permission is missing, the account needs accept-account, or clinic-mirror cannot confirm that the user has access',
};

/** Lists commands that have an action, in the order of the help. Groups are omitted. */
export function commandsOf(command: Command, before = ''): { words: string; command: Command }[] {
  const words = before === '' ? command.name() : `${before} ${command.name()}`;
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands.flatMap((each) => commandsOf(each, words));
}

/** Returns the condition for exit code 1 besides errors; null: none. @param words including the program name */
export function endsWithOne(words: string): string | null {
  const command = words.slice(words.indexOf(' ') + 1);
  const operation = Object.values(OPERATIONS as Record<string, AnyOperation>).find(
    ({ commands, endsWithOne }) =>
      endsWithOne !== undefined && commands.some((binding) => binding.words.replaceAll(/ [<[].*/g, '') === command),
  );
  return operation?.endsWithOne?.when ?? ENDS_WITH_ONE[command] ?? null;
}

/** Adds an example, and the condition for exit code 1, to the help of each command. */
function describeExamplesAndExitCodes(program: Command): void {
  for (const { words, command } of commandsOf(program)) {
    const example = exampleOf(words);
    if (example !== null) command.addHelpText('after', `\nExample: ${example}`);
    const when = endsWithOne(words);
    if (when !== null) command.addHelpText('after', `\nExits with code 1 if ${when}.`);
  }
}
