import type { Readable } from 'node:stream';
import { Command, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { Backups } from '../control/backups.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginDesk, Revocation } from '../control/logins.ts';
import { ROLES, type Role } from '../control/roles.ts';
import type { Progress } from '../model/progress.ts';
import { addBackups } from './backup-commands.ts';
import { addClinic, addProbe } from './clinic-commands.ts';
import { addForget } from './forget-command.ts';
import { addHealth } from './health-command.ts';
import { addMatch } from './match-command.ts';
import { addProfiles } from './profile-commands.ts';
import { addReminders } from './reminder-commands.ts';
import { renderAudit } from './render-audit.ts';
import { renderExplanation, renderHolds } from './render-explain.ts';
import { renderPlan } from './render-plan.ts';
import { renderStatus } from './render-status.ts';
import { renderSync } from './render-sync.ts';
import { renderRuns, renderUndo } from './render-undo.ts';
import { renderTime, WIDTH, wrap } from './table.ts';
import { addTriggers } from './trigger-commands.ts';

/** What the commands need from outside; `cli.ts` gives it. */
export interface CliOutside {
  /** Opens the installation, does the work, closes it again. */
  withInstallation<Result>(options: Wanted, work: (open: OpenInstallation) => Promise<Result>): Promise<Result>;
  /** Runs the daemon, or a part of it, until it is told to end. */
  run(options: GlobalOptions, role: Role): Promise<void>;
  /** Checks the configuration; `faults` 0 when it can be used. */
  checkConfiguration(options: GlobalOptions): Promise<{ faults: readonly object[]; text: string }>;
  /** Ends with the signal that a person gives (Ctrl-C). */
  signal: AbortSignal;
  /** One profile of the configuration. @throws ConfigurationError */
  profile(options: GlobalOptions, name: string): Promise<ClinicProfile>;
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

/** Options before the command. */
export interface GlobalOptions {
  config: string;
}

/** What a command needs of the configuration. */
export interface Wanted extends GlobalOptions {
  /** The one tenant that it looks at, where it changes nothing: files of others need not be read. Default: all. */
  only?: string | undefined;
}

/** What a command works on. */
export interface OpenInstallation {
  installation: Installation;
  desk: LoginDesk;
  /** The clinic API of a tenant. @throws MirrorError as `requireTenant` */
  clinic(tenant: string): ClinicAccess;
  backups: Backups;
}

const REVOCATIONS: Readonly<Record<Revocation, string>> = {
  revoked: 'The provider has revoked it.',
  'not-supported': 'The provider offers no way to revoke it: do so in its own pages.',
  failed: 'The provider could not be asked to revoke it: do so in its own pages.',
  'nothing-to-revoke': 'There was no login.',
};

const ROLE_HELP =
  'a part of it, where several processes share the work: scheduler puts work into the queues in its time, worker does it, http takes logins, notifications and answers of patients; all have the probes';

/** Builds the command line. What a command does is loaded when it does it: help and a mistyped option should not wait. */
export function createProgram(outside: CliOutside): Command {
  const program = new Command('clinic-mirror')
    .description('Keeps calendars and a CRM in step with a clinic management system.')
    .version(manifest.version, '--version', 'show the version')
    .option('-c, --config <directory>', 'directory of the configuration; else CLINIC_MIRROR_CONFIG, else ./config')
    .configureHelp({ helpWidth: WIDTH })
    .helpOption('-h, --help', 'show this help')
    .showHelpAfterError();
  const options = (): GlobalOptions => ({
    config: program.opts<Partial<GlobalOptions>>().config ?? process.env.CLINIC_MIRROR_CONFIG ?? 'config',
  });
  const print = (json: boolean | undefined, value: object, text: string) =>
    outside.out(json === true ? JSON.stringify(value, null, 2) : text);

  addRun(program, outside, options, print);
  addLogins(program, outside, options);
  addCycle(program, outside, options, print);
  addStatus(program, outside, options, print);

  const common = {
    withInstallation: (work: (installation: Installation) => Promise<void>) =>
      outside.withInstallation(options(), ({ installation }) => work(installation)),
    print,
  };
  addHealth(program, { ...outside, ...common });
  addMatch(program, { ...outside, ...common });
  addHolds(program, outside, options, print);
  addUndo(program, outside, options, print);
  addForget(program, { ...outside, ...common });
  addReminders(program, { ...outside, ...common, read: () => outside.read(undefined) });
  addTriggers(program, { ...outside, ...common });
  addBackups(program, {
    ...outside,
    ...common,
    withBackups: (work) => outside.withInstallation(options(), ({ backups }) => work(backups)),
  });
  const clinic = program.command('clinic').description("look into a tenant's clinic system");
  const commands = {
    ...outside,
    print,
    withClinic: (tenant: string, work: (access: ClinicAccess) => Promise<void>) =>
      outside.withInstallation(options(), (open) => work(open.clinic(tenant))),
  };
  addClinic(clinic, commands);
  addProbe(clinic, commands);
  addProfiles(program, { ...outside, profile: (name) => outside.profile(options(), name), print });
  return program;
}

type Print = (json: boolean | undefined, value: object, text: string) => void;

function addRun(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  program
    .command('run')
    .description('run the daemon until it is told to end')
    .addOption(new Option('--role <role>', ROLE_HELP).choices(ROLES).default('all'))
    .action(({ role }: { role: Role }) => outside.run(options(), role));

  program
    .command('config')
    .description('look after the configuration')
    .command('check')
    .description('check every file and name all faults at once')
    .option('--json', 'as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { faults, text } = await outside.checkConfiguration(options());
      print(json, { ok: faults.length === 0, faults }, text);
      if (faults.length > 0) outside.exit(2);
    });
}

function addLogins(program: Command, outside: CliOutside, options: () => GlobalOptions): void {
  program
    .command('login <tenant> [connection]')
    .description('log in: to the clinic (default) or to a connection of the tenant file')
    .option('--device', 'by a code that is typed in on another device')
    .option('--link', 'by an address for a browser anywhere; the running daemon, at http.publicUrl, ends the login')
    .action((tenant: string, connection: string | undefined, { device, link }: { device?: boolean; link?: boolean }) =>
      outside.withInstallation(options(), ({ desk }) =>
        link === true
          ? showLink(outside, desk, tenant, connection ?? 'clinic')
          : login(outside, desk, tenant, connection ?? 'clinic', device === true),
      ),
    );

  program
    .command('accept-account <tenant> <connection> <account>')
    .description('say that this account, by its id or address in status, is the right one: what waits for that goes on')
    .action((tenant: string, connection: string, account: string) =>
      outside.withInstallation(options(), async ({ desk }) => {
        const { acceptAccount } = await import('../control/logins.ts');
        const whose = await acceptAccount(desk, tenant, connection, account, outside.signal);
        outside.out(`The account of ${connection} of ${tenant} is accepted: ${whose}.`);
      }),
    );

  program
    .command('logout <tenant> [connection]')
    .description('end a login: revoke it at the provider and forget it here')
    .action((tenant: string, connection: string | undefined) =>
      outside.withInstallation(options(), async ({ desk }) => {
        const { logOut } = await import('../control/logins.ts');
        const name = connection ?? 'clinic';
        outside.out(
          `${REVOCATIONS[await logOut(desk, tenant, name, outside.signal)]} The login of ${name} is forgotten here.`,
        );
      }),
    );
}

function addCycle(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  program
    .command('plan <tenant>')
    .description('show what a cycle would write and why; writes nothing')
    .option('--json', 'as JSON, with every line')
    .action((tenant: string, { json }: { json?: boolean }) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { planTenant } = await import('../control/plan.ts');
        const progress = outside.progress();
        const plan = await planTenant(installation, tenant, progress, outside.signal).finally(() => progress.end());
        print(json, plan, renderPlan(plan));
      }),
    );

  program
    .command('sync <tenant>')
    .description('run one cycle now, to its end')
    .option('--json', 'as JSON')
    .action((tenant: string, { json }: { json?: boolean }) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { isWhole, syncTenant } = await import('../control/sync.ts');
        const progress = outside.progress();
        const signals = { stop: outside.signal, abort: outside.signal };
        const result = await syncTenant(installation, tenant, progress, signals).finally(() => progress.end());
        print(json, result, renderSync(result));
        if (!isWhole(result)) outside.exit(1);
      }),
    );

  program
    .command('audit <tenant>')
    .description('read back what the targets hold and show what was changed there by hand')
    .option('--json', 'as JSON')
    .action((tenant: string, { json }: { json?: boolean }) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { auditNow } = await import('../control/audit.ts');
        const progress = outside.progress();
        const view = await auditNow(installation, tenant, progress, outside.signal).finally(() => progress.end());
        print(json, view, renderAudit(view));
      }),
    );
}

function addStatus(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  program
    .command('status [tenant]')
    .description('show per tenant and target what is in sync as of when, pending, failing and held')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      outside.withInstallation({ ...options(), only: tenant }, async ({ installation }) => {
        const { status } = await import('../control/status.ts');
        const view = await status(installation, tenant);
        print(json, view, renderStatus(view));
      }),
    );

  program
    .command('explain <tenant> <appointment>')
    .description('tell why an appointment is, or is not, in each target')
    .option('--json', 'as JSON')
    .action((tenant: string, appointment: string, { json }: { json?: boolean }) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { explain } = await import('../control/explain.ts');
        const view = await explain(installation, tenant, appointment, outside.signal);
        print(json, view, renderExplanation(view));
      }),
    );
}

function addHolds(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  const holds = program.command('holds').description('decide deletions that were held back');
  holds
    .command('list [tenant]')
    .description('show holds, open ones first')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { listHolds } = await import('../control/holds.ts');
        const list = await listHolds(installation, tenant);
        print(json, { holds: list }, renderHolds(list));
      }),
    );
  for (const [verb, decision, what] of [
    ['approve', 'approved', 'let the deletions go'],
    ['reject', 'rejected', 'keep the objects'],
  ] as const) {
    holds
      .command(`${verb} <tenant> <hold>`)
      .description(what)
      .option('--items <number>', 'only if it still has this many', Number)
      .action((tenant: string, id: string, { items }: { items?: number }) =>
        outside.withInstallation(options(), async ({ installation }) => {
          const { decideHold } = await import('../control/holds.ts');
          const { hold } = await decideHold(installation, tenant, id, decision, items ?? null);
          const next =
            decision === 'approved' ? ` They go with the next cycle (now: clinic-mirror sync ${tenant}).` : '';
          outside.out(`Hold ${hold.id} of ${hold.target} is ${decision}: ${hold.recordIds.length} items.${next}`);
        }),
      );
  }
}

function addUndo(program: Command, outside: CliOutside, options: () => GlobalOptions, print: Print): void {
  program
    .command('runs [tenant]')
    .description('show the runs that changed or deleted something, newest first')
    .option('--json', 'as JSON')
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { listRuns } = await import('../control/undo.ts');
        const runs = await listRuns(installation, tenant);
        print(json, { runs }, renderRuns(runs));
      }),
    );
  program
    .command('undo <run>')
    .description('put back what a run deleted, and bring what it changed to what the clinic says now')
    .option('--tenant <tenant>', 'needed when two tenants have a run of that id')
    .option('--dry-run', 'only show what would come of it')
    .option('--release', "let the target's rules decide again about what an undo put back")
    .option('--json', 'as JSON, with every line')
    .action((run: string, choice: { tenant?: string; dryRun?: boolean; release?: boolean; json?: boolean }) =>
      outside.withInstallation(options(), async ({ installation }) => {
        const { releaseRun, undoRun } = await import('../control/undo.ts');
        if (choice.release === true) {
          const result = await releaseRun(installation, run, { tenant: choice.tenant });
          return print(choice.json, result, `${result.released} items of ${result.tenant} go by the rules again.`);
        }
        const progress = outside.progress();
        const view = await undoRun(
          installation,
          run,
          { tenant: choice.tenant, dryRun: choice.dryRun === true },
          progress,
          {
            stop: outside.signal,
            abort: outside.signal,
          },
        ).finally(() => progress.end());
        print(choice.json, view, renderUndo(view));
        if (!view.dryRun && view.records.some(({ result }) => result === 'waiting' || result === 'unread'))
          outside.exit(1);
      }),
    );
}

async function showLink(outside: CliOutside, desk: LoginDesk, tenant: string, connection: string): Promise<void> {
  const { beginRemoteLogin } = await import('../control/logins.ts');
  const url = await beginRemoteLogin(desk, tenant, connection);
  outside.err(
    'Open this address in a browser within ten minutes, and stay in that browser. It can be opened once; the page at the end says how the login went.\n',
  );
  outside.out(url);
}

async function login(
  outside: CliOutside,
  desk: LoginDesk,
  tenant: string,
  connection: string,
  device: boolean,
): Promise<void> {
  const { loginWithBrowser, loginWithDevice } = await import('../control/logins.ts');
  const result = device
    ? await loginWithDevice(
        desk,
        tenant,
        connection,
        ({ userCode, verificationUri, verificationUriComplete, expiresAt }) => {
          outside.err(`Open ${verificationUri} on any device and type in the code  ${userCode}`);
          if (verificationUriComplete !== null) outside.err(`or open ${verificationUriComplete}`);
          outside.err(`Waiting until ${renderTime(expiresAt)} …`);
        },
        outside.signal,
      )
    : await loginWithBrowser(
        desk,
        tenant,
        connection,
        (url) => outside.err(`Open this address in a browser on this machine:\n\n${url}\n\nWaiting …`),
        outside.signal,
      );
  const { doubt, missingScopes, isUnconfirmed } = result;
  const { accountText } = await import('../oauth/accounts.ts');
  outside.out(`Logged in: ${result.connection} of ${result.tenant}, account ${accountText(result.account)}.`);
  if (isUnconfirmed) {
    // The account is left for a person to write: a line to copy would be no word of theirs.
    const command = `clinic-mirror accept-account ${tenant} ${connection} <account>`;
    outside.out(wrap(`Nothing is read or written through it before a person says that this is right: ${command}`));
  }
  if (doubt !== undefined) {
    const act = doubt.remedy ?? 'the next cycle asks again';
    outside.out(
      wrap(`Whether this user can be used is not known: ${doubt.message} (${doubt.code}). What to do: ${act}`),
    );
  }
  if (missingScopes.length > 0) {
    outside.out(
      wrap(`Not granted: ${missingScopes.join(' ')}. What needs them stays off; log in again to grant them.`),
    );
  }
  if (isUnconfirmed || doubt !== undefined || missingScopes.length > 0) outside.exit(1);
}
