import type { Command } from 'commander';
import { LOGIN_OPERATIONS } from '../operations/logins.ts';
import { contextOf, type OperationCommands } from './operation-commands.ts';
import { type Asked, wholeNumber } from './output.ts';
import type { OpenInstallation } from './outside.ts';
import { renderTime, wrap } from './table.ts';

/** A connection of a tenant; `clinic` is the connection to the clinic. */
interface Login {
  tenant: string;
  connection: string;
}

interface Choice extends Asked {
  device?: boolean;
  link?: boolean;
  hours?: number;
}

/** Adds `login`, which asks the operator to open a browser, and waits. */
export function addLogin(program: Command, commands: OperationCommands): void {
  program
    .command('login <tenant> [connection]')
    .description('log in: to the clinic (default) or to a connection of the tenant file')
    .option('--device', 'by a code that is typed in on another device')
    .option('--link', 'by an address for a browser anywhere; the running daemon, at http.publicUrl, ends the login')
    .option(
      '--hours <hours>',
      'with --link: how long it is good, 168 at most, to be sent to somebody; else ten minutes',
      wholeNumber,
    )
    .option('--json', 'as JSON')
    .action((tenant: string, connection = 'clinic', choice: Choice) =>
      commands.outside.withInstallation(commands.options(), (open) =>
        (choice.link === true ? showLink : login)(commands, open, { tenant, connection }, choice),
      ),
    );
}

async function showLink(
  { outside, print }: OperationCommands,
  open: OpenInstallation,
  login: Login,
  { hours = null, ...asked }: Omit<Choice, 'hours'> & { hours?: number | null },
): Promise<void> {
  const signals = { stop: outside.signal, abort: outside.signal };
  const context = await contextOf(open, { progress: () => {}, signals });
  const made = await LOGIN_OPERATIONS.makeLoginLink.run({ ...login, hours }, context);
  outside.err(
    `Open this address in a browser until ${renderTime(made.endsAt)}, and stay in that browser. Looking uses nothing up: its button can be pressed once, and the page at the end says how the login went. To take it back: clinic-mirror logins links withdraw ${login.tenant} ${made.link}\n`,
  );
  print(asked, made, () => made.url);
}

async function login(
  { outside, print }: OperationCommands,
  { acting, ...open }: OpenInstallation,
  { tenant, connection }: Login,
  { device = false, ...asked }: Choice,
): Promise<void> {
  const services = await open.services();
  const { loginWithBrowser, loginWithDevice } = await import('../control/acts.ts');
  const result = device
    ? await loginWithDevice(
        acting,
        services,
        { tenant, connection },
        ({ userCode, verificationUri, verificationUriComplete, expiresAt }) => {
          outside.err(`Open ${verificationUri} on any device and type in the code  ${userCode}`);
          if (verificationUriComplete !== null) outside.err(`or open ${verificationUriComplete}`);
          outside.err(`Waiting until ${renderTime(expiresAt)} …`);
        },
        outside.signal,
      )
    : await loginWithBrowser(
        acting,
        services,
        { tenant, connection },
        (url) => outside.err(askToOpen(url)),
        outside.signal,
      );
  const { account, uncertainty, missingScopes, isUnconfirmed } = result;
  const { accountText } = await import('../oauth/accounts.ts');
  const report = {
    ...{
      tenant: result.tenant,
      connection: result.connection,
      account: accountText(account),
      isUnconfirmed,
      missingScopes,
    },
    uncertainty:
      uncertainty === undefined
        ? null
        : { code: uncertainty.code, message: uncertainty.message, remedy: uncertainty.remedy ?? null },
  };
  print(asked, report, () => renderLogin(report));
  if (isUnconfirmed || uncertainty !== undefined || missingScopes.length > 0) outside.exit(1);
}

/** Asks the operator to open a URL. The redirect URL is explained in advance, because a server that refuses the URL shows its own page. */
export function askToOpen(url: string): string {
  const asked = URL.parse(url)?.searchParams;
  const [redirect, client] = [asked?.get('redirect_uri'), asked?.get('client_id')];
  const hint =
    redirect == null
      ? ''
      : wrap(
          `If that page refuses the redirect address, register ${redirect} (any port) with the client ${client ?? ''} of clinic-mirror.yaml at the provider, and give this command again.`,
        );
  return `Open this address in a browser on this machine:\n\n${url}\n\n${hint}\nWaiting …`;
}

/** Result of a `login` command. */
interface LoginReport extends Login {
  account: string;
  isUnconfirmed: boolean;
  missingScopes: readonly string[];
  uncertainty: { code: string; message: string; remedy: string | null } | null;
}

function renderLogin({ tenant, connection, account, isUnconfirmed, missingScopes, uncertainty }: LoginReport): string {
  const lines = [`Logged in: ${connection} of ${tenant}, account ${account}.`];
  if (isUnconfirmed) {
    // The operator must type the account. A complete command to copy would not prove that the operator checked the account.
    const command = `clinic-mirror accept-account ${tenant} ${connection} <account>`;
    lines.push(wrap(`Nothing is read or written through it before a person says that this is right: ${command}`));
  }
  if (uncertainty !== null) {
    const act = uncertainty.remedy ?? 'the next cycle asks again';
    lines.push(
      wrap(
        `Whether this user can be used is not known: ${uncertainty.message} (${uncertainty.code}). What to do: ${act}`,
      ),
    );
  }
  if (missingScopes.length > 0) {
    lines.push(wrap(`Not granted: ${missingScopes.join(' ')}. What needs them stays off; log in again to grant them.`));
  }
  return lines.join('\n');
}
