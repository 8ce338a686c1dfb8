import type { Command } from 'commander';
import type { TenantConnection } from '../control/logins.ts';
import { LOGIN_OPERATIONS } from '../operations/logins.ts';
import { contextOf, type OperationCommands } from './operation-commands.ts';
import { type Asked, wholeNumber } from './output.ts';
import type { OpenInstallation } from './outside.ts';
import { renderTime, wrap } from './table.ts';

interface Choice extends Asked {
  device?: boolean;
  link?: boolean;
  hours?: number;
}

/** Adds `login`, which asks the operator to open a browser, and waits. */
export function addLogin(program: Command, commands: OperationCommands): void {
  program
    .command('login <tenant> [connection]')
    .description('connect the clinic (default) or a connection of the tenant file')
    .option('--device', 'show a code to enter on another device')
    .option('--link', 'print a link for any browser; requires the daemon and http.publicUrl')
    .option('--hours <hours>', 'with --link: validity in hours, at most 168; default: ten minutes', wholeNumber)
    .option('--json', 'print JSON')
    .action((tenant: string, connection = 'clinic', choice: Choice) =>
      commands.outside.withInstallation(commands.options(), (open) =>
        (choice.link === true ? showLink : login)(commands, open, { tenant, connection }, choice),
      ),
    );
}

async function showLink(
  { outside, print }: OperationCommands,
  open: OpenInstallation,
  login: TenantConnection,
  { hours = null, ...asked }: Omit<Choice, 'hours'> & { hours?: number | null },
): Promise<void> {
  const signals = { stop: outside.signal, abort: outside.signal };
  const context = await contextOf(open, { progress: () => {}, signals });
  const made = await LOGIN_OPERATIONS.makeLoginLink.run({ ...login, hours }, context);
  outside.err(
    `Open this URL in a browser before ${renderTime(made.endsAt)}, and finish in the same browser. Viewing the page does not use the link; the button works once, and the last page shows the result. To withdraw the link: clinic-mirror logins links withdraw ${login.tenant} ${made.link}\n`,
  );
  print(asked, made, () => made.url);
}

async function login(
  { outside, print }: OperationCommands,
  { acting, ...open }: OpenInstallation,
  { tenant, connection }: TenantConnection,
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
          outside.err(`Open ${verificationUri} on any device and enter the code  ${userCode}`);
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
  const { accountText } = await import('../../oauth/accounts.ts');
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
          `If the page refuses the redirect URL, register ${redirect} (any port) with the provider for client ${client ?? ''} of clinic-mirror.yaml, and run this command again.`,
        );
  return `Open this URL in a browser on this host:\n\n${url}\n\n${hint}\nWaiting …`;
}

/** Result of a `login` command. */
interface LoginReport extends TenantConnection {
  account: string;
  isUnconfirmed: boolean;
  missingScopes: readonly string[];
  uncertainty: { code: string; message: string; remedy: string | null } | null;
}

function renderLogin({ tenant, connection, account, isUnconfirmed, missingScopes, uncertainty }: LoginReport): string {
  const lines = [`Connected: ${connection} of ${tenant}, account ${account}.`];
  if (isUnconfirmed) {
    // The operator must type the account. A complete command to copy would not prove that the operator checked the account.
    const command = `clinic-mirror accept-account ${tenant} ${connection} <account>`;
    lines.push(wrap(`The connection is not used until you confirm the account: ${command}`));
  }
  if (uncertainty !== null) {
    const act = uncertainty.remedy ?? 'no action: the next cycle checks again';
    lines.push(
      wrap(
        `Cannot confirm that this user has access: ${uncertainty.message} (${uncertainty.code}). What to do: ${act}`,
      ),
    );
  }
  if (missingScopes.length > 0) {
    lines.push(
      wrap(
        `Not granted: ${missingScopes.join(' ')}. Features that need these permissions stay off; connect again to grant them.`,
      ),
    );
  }
  return lines.join('\n');
}
