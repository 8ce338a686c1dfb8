import type { Command } from 'commander';
import type { LoginDesk, Revocation } from '../control/logins.ts';
import type { Acting } from '../control/recording.ts';
import type { LoginLink } from '../state/logins.ts';
import { type Asked, type Print, wholeNumber } from './answer.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** What the commands need of the command line. */
export interface LoginCommands {
  /** Opens the installation, does the work, closes it again. */
  withDesk(work: (desk: LoginDesk, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  err(text: string): void;
  signal: AbortSignal;
  exit(code: number): void;
}

/** Whose login it is: a connection of a tenant, `clinic` for that to its clinic system. */
interface Login {
  tenant: string;
  connection: string;
}

interface Choice extends Asked {
  device?: boolean;
  link?: boolean;
  hours?: number;
}

const REVOCATIONS: Readonly<Record<Revocation, string>> = {
  revoked: 'The provider has revoked it.',
  'not-supported': 'The provider offers no way to revoke it: do so in its own pages.',
  failed: 'The provider could not be asked to revoke it: do so in its own pages.',
  'nothing-to-revoke': 'There was no login.',
};

/** Adds `login`, `accept-account`, `logout` and `logins links …`. */
export function addLogins(program: Command, outside: LoginCommands): void {
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
      outside.withDesk((desk, acting) =>
        choice.link === true
          ? showLink(outside, acting, desk, { tenant, connection }, choice)
          : login(outside, acting, desk, { tenant, connection }, choice),
      ),
    );

  program
    .command('accept-account <tenant> <connection> <account>')
    .description('say that this account, by its id or address in status, is the right one: what waits for that goes on')
    .option('--json', 'as JSON')
    .action((tenant: string, connection: string, account: string, asked: Asked) =>
      outside.withDesk(async (desk, acting) => {
        const { acceptAccount } = await import('../control/acts.ts');
        const whose = await acceptAccount(acting, desk, tenant, connection, account, outside.signal);
        outside.print(
          asked,
          { tenant, connection, account: whose },
          () => `The account of ${connection} of ${tenant} is accepted: ${whose}.`,
        );
      }),
    );

  program
    .command('logout <tenant> [connection]')
    .description('end a login: revoke it at the provider and forget it here')
    .option('--json', 'as JSON')
    .action((tenant: string, connection = 'clinic', asked: Asked) =>
      outside.withDesk(async (desk, acting) => {
        const { logOut } = await import('../control/acts.ts');
        const revocation = await logOut(acting, desk, tenant, connection, outside.signal);
        outside.print(
          asked,
          { tenant, connection, revocation },
          () => `${REVOCATIONS[revocation]} The login of ${connection} is forgotten here.`,
        );
      }),
    );
  addLinks(program, outside);
}

async function showLink(
  outside: LoginCommands,
  acting: Acting,
  desk: LoginDesk,
  { tenant, connection }: Login,
  { hours, ...asked }: Choice,
): Promise<void> {
  const { beginRemoteLogin } = await import('../control/acts.ts');
  const { url, id, endsAt } = await beginRemoteLogin(acting, desk, tenant, connection, hours ?? null);
  outside.err(
    `Open this address in a browser until ${renderTime(endsAt)}, and stay in that browser. Looking uses nothing up: its button can be pressed once, and the page at the end says how the login went. To take it back: clinic-mirror logins links withdraw ${tenant} ${id}\n`,
  );
  outside.print(asked, { tenant, connection, url, link: id, endsAt }, () => url);
}

function addLinks(program: Command, outside: LoginCommands): void {
  const links = program
    .command('logins')
    .description('look after logins')
    .command('links')
    .description('links that were made with login --link, and that nobody has opened');
  links
    .command('list <tenant>')
    .description('show them: who made them, and how long they are good')
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      outside.withDesk(async (desk) => {
        const { listLoginLinks } = await import('../control/logins.ts');
        const list = await listLoginLinks(desk, tenant);
        outside.print(asked, { links: list }, () => renderLinks(list));
      }),
    );
  links
    .command('withdraw <tenant> <link>')
    .description('take one back: it is good for nothing any more')
    .option('--json', 'as JSON')
    .action((tenant: string, link: string, asked: Asked) =>
      outside.withDesk(async (desk, acting) => {
        const { withdrawLoginLink } = await import('../control/acts.ts');
        await withdrawLoginLink(acting, desk, tenant, link);
        outside.print(asked, { tenant, link }, () => `The link ${link} is good for nothing any more.`);
      }),
    );
}

function renderLinks(links: readonly LoginLink[]): string {
  if (links.length === 0) return 'No link waits to be opened.';
  return renderTable(
    ['link', 'connection', 'made by', 'made at', 'good until'].map((heading) => ({ heading })),
    links.map(({ id, connection, by, madeAt, endsAt }) => [id, connection, by, renderTime(madeAt), renderTime(endsAt)]),
  );
}

async function login(
  outside: LoginCommands,
  acting: Acting,
  desk: LoginDesk,
  { tenant, connection }: Login,
  { device = false, ...asked }: Choice,
): Promise<void> {
  const { loginWithBrowser, loginWithDevice } = await import('../control/acts.ts');
  const result = device
    ? await loginWithDevice(
        acting,
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
    : await loginWithBrowser(acting, desk, tenant, connection, (url) => outside.err(askToOpen(url)), outside.signal);
  const { account, doubt, missingScopes, isUnconfirmed } = result;
  const { accountText } = await import('../oauth/accounts.ts');
  const told = {
    ...{
      tenant: result.tenant,
      connection: result.connection,
      account: accountText(account),
      isUnconfirmed,
      missingScopes,
    },
    doubt: doubt === undefined ? null : { code: doubt.code, message: doubt.message, remedy: doubt.remedy ?? null },
  };
  outside.print(asked, told, () => renderLogin(told));
  if (isUnconfirmed || doubt !== undefined || missingScopes.length > 0) outside.exit(1);
}

/** What a person is asked to do in a browser. The server refuses a redirect address on its own page, so how to correct it is said before. */
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

/** What came of a login. */
interface LoginTold extends Login {
  account: string;
  isUnconfirmed: boolean;
  missingScopes: readonly string[];
  doubt: { code: string; message: string; remedy: string | null } | null;
}

function renderLogin({ tenant, connection, account, isUnconfirmed, missingScopes, doubt }: LoginTold): string {
  const lines = [`Logged in: ${connection} of ${tenant}, account ${account}.`];
  if (isUnconfirmed) {
    // The account is left for a person to write: a line to copy would be no word of theirs.
    const command = `clinic-mirror accept-account ${tenant} ${connection} <account>`;
    lines.push(wrap(`Nothing is read or written through it before a person says that this is right: ${command}`));
  }
  if (doubt !== null) {
    const act = doubt.remedy ?? 'the next cycle asks again';
    lines.push(
      wrap(`Whether this user can be used is not known: ${doubt.message} (${doubt.code}). What to do: ${act}`),
    );
  }
  if (missingScopes.length > 0) {
    lines.push(wrap(`Not granted: ${missingScopes.join(' ')}. What needs them stays off; log in again to grant them.`));
  }
  return lines.join('\n');
}
