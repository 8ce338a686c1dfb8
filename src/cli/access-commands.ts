import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AccessDesk } from '../control/access.ts';
import type { Acting } from '../control/recording.ts';
import { ACCESS_LEVELS, type AccessLevel } from '../model/access.ts';
import { NAME, NAME_REMEDY } from '../model/names.ts';
import type { AccessToken } from '../state/access.ts';
import type { Asked, Print } from './answer.ts';
import { renderTable, renderTime } from './table.ts';

/** What the commands need of the command line. */
export interface AccessCommands {
  /** Opens the installation, does the work, closes it again. */
  withAccess(work: (access: AccessDesk, acting: Acting) => Promise<void>): Promise<void>;
  print: Print;
  err(text: string): void;
}

const MOST_DAYS = 366;

/** Adds `access …`. */
export function addAccess(program: Command, given: AccessCommands): void {
  const access = program.command('access').description('who may look at the pages and call the API');
  access
    .command('sign-in')
    .description('show an address at which the owner signs in once, and may choose another passphrase')
    .option('--json', 'as JSON')
    .action((asked: Asked) =>
      given.withAccess(async (desk, acting) => {
        const { makeSignInLink } = await import('../control/access-acts.ts');
        const { url } = await makeSignInLink(acting, desk);
        given.err('Open this address in a browser within ten minutes. It signs the owner in, once.\n');
        given.print(asked, { url }, () => url);
      }),
    );
  access
    .command('release-account <address>')
    .description('let the next account that the provider verifies with this address sign in by its rule')
    .option('--json', 'as JSON')
    .action((address: string, asked: Asked) =>
      given.withAccess(async (desk, acting) => {
        const { releaseAccount } = await import('../control/access-acts.ts');
        await releaseAccount(acting, desk, address);
        given.print(asked, { address }, () => 'The next account that signs in with this address gets its rule.');
      }),
    );
  addTokens(access.command('token').description('tokens by which programs call the API'), given);
}

function addTokens(token: Command, { withAccess, print, err }: AccessCommands): void {
  token
    .command('create')
    .argument('<name>', 'as it is listed, and named in the audit log', nameOf)
    .description('make one, and show it: it is shown this once')
    .addOption(new Option('--level <level>', 'what it may do').choices(ACCESS_LEVELS).default('viewer'))
    .option('--tenant <tenant...>', 'these tenants alone; else all')
    .option('--days <days>', `how long it is good, ${MOST_DAYS} at most`, days, 90)
    .option('--json', 'as JSON')
    .action((name: string, choice: Asked & { level: AccessLevel; tenant?: string[]; days: number }) =>
      withAccess(async (desk, acting) => {
        const { createAccessToken } = await import('../control/access-acts.ts');
        const wish = { name, level: choice.level, tenants: choice.tenant ?? null, days: choice.days };
        const made = await createAccessToken(acting, desk, wish);
        err(`Good until ${renderTime(made.token.endsAt)}. A program shows it so: Authorization: Bearer <token>\n`);
        print(choice, { token: made.token, shown: made.shown }, () => made.shown);
      }),
    );
  token
    .command('list')
    .description('show the tokens that are good, not what they are')
    .option('--json', 'as JSON')
    .action((asked: Asked) =>
      withAccess(async (desk) => {
        const { listAccessTokens } = await import('../control/access.ts');
        const tokens = await listAccessTokens(desk);
        print(asked, { tokens }, () => renderTokens(tokens));
      }),
    );
  token
    .command('revoke <name>')
    .description('end one at once')
    .option('--json', 'as JSON')
    .action((name: string, asked: Asked) =>
      withAccess(async (desk, acting) => {
        const { revokeAccessToken } = await import('../control/access-acts.ts');
        await revokeAccessToken(acting, desk, name);
        print(asked, { name }, () => `The token ${name} is good for nothing any more.`);
      }),
    );
}

function renderTokens(tokens: readonly AccessToken[]): string {
  if (tokens.length === 0) return 'There is no token.';
  return renderTable(
    ['token', 'level', 'tenants', 'made by', 'good until'].map((heading) => ({ heading })),
    tokens.map(({ name, level, tenants, by, endsAt }) => [
      name,
      level,
      tenants?.join(', ') ?? 'all',
      by,
      renderTime(endsAt),
    ]),
  );
}

function nameOf(written: string): string {
  if (NAME.test(written)) return written;
  throw new InvalidArgumentError(NAME_REMEDY);
}

function days(written: string): number {
  const value = Number(written);
  if (Number.isInteger(value) && value >= 1 && value <= MOST_DAYS) return value;
  throw new InvalidArgumentError(`Give a whole number of days, from 1 to ${MOST_DAYS}.`);
}
