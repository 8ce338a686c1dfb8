import { expect, test } from 'vitest';
import type { Account } from '../../../src/core/model/credentials.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { LoginTarget } from '../../../src/oauth/login.ts';
import { askToOpen } from '../../../src/operator/cli/login-command.ts';
import { TENANT } from '../../oauth/connection.ts';
import { useRedis } from '../../support/redis.ts';
import { openActsLogins } from '../control/services-world.ts';
import { runProgram } from './run-program.ts';

const redis = useRedis();

test('the prompt asks the user to open the URL, and shows the redirect URL and client to register', () => {
  const url = 'https://login.example/authorize?client_id=abc&redirect_uri=http%3A%2F%2F127.0.0.1%3A4000%2Fcallback';
  const asked = askToOpen(url);
  expect(asked).toContain(`\n\n${url}\n\n`);
  expect(asked.replaceAll(/\s+/g, ' ')).toContain(
    'register http://127.0.0.1:4000/callback (any port) with the provider for client abc',
  );
});

test('the prompt suggests no registration for a URL without a redirect, or for an invalid URL', () => {
  for (const url of ['https://login.example/authorize?client_id=abc', 'no address'])
    expect(askToOpen(url)).toBe(`Open this URL in a browser on this host:\n\n${url}\n\n\nWaiting …`);
});

/** A connection `clinic` that accounts log in to, one after another; the person goes wherever the command leads. */
async function openLogins(...accounts: (Account | null)[]) {
  const { desk, browse } = await openActsLogins(() => redis.connect());
  const target = desk.target(TENANT, 'clinic');
  const { server } = target;
  let scopes: readonly string[] | null = null;
  const exchangeCode: typeof server.exchangeCode = async (...given) => {
    const answer = await server.exchangeCode(...given);
    return { ...answer, scopes: scopes ?? answer.scopes };
  };
  const answering = { ...server, exchangeCode, accountOf: async () => accounts.shift() ?? null };
  desk.target = () => ({ ...target, server: answering, ...changes });
  const changes: Partial<LoginTarget> = {};
  const onErr = (text: string) => browse(/^http\S+$/m.exec(text)?.[0] ?? '');
  return {
    changes,
    grant: (...granted: string[]) => {
      scopes = granted;
    },
    login: (...options: string[]) => runProgram(['login', TENANT, ...options], { services: desk, onErr }),
    link: (...options: string[]) => runProgram(['login', TENANT, '--link', ...options], { services: desk }),
  };
}

const [ADA, EVE] = ['ada', 'eve'].map((subject) => ({ subject, address: `${subject}@practice.example`, domain: null }));

test('a sign-in without a connection id connects the clinic, exits with 0 and shows the account', async () => {
  const { login } = await openLogins(ADA!);
  expect(await login()).toMatchObject({
    ...{ code: 0, thrown: null },
    out: `Connected: clinic of ${TENANT}, account ada@practice.example (ada).\n`,
  });
});

test('a sign-in without all scopes exits with 1, and lists the missing scopes', async () => {
  const { login, grant } = await openLogins();
  grant('svc.agenda');
  const ran = await login();
  expect([ran.thrown, ran.code]).toEqual([null, 1]);
  expect(ran.out).toContain('Not granted: svc.patients.');
});

test('a sign-in with a different account exits with 1, and shows a command without the account', async () => {
  const { login } = await openLogins(ADA!, EVE!);
  await login();
  const ran = await login();
  expect(ran.code).toBe(1);
  expect(ran.out.replaceAll(/\s+/g, ' ')).toContain(`clinic-mirror accept-account ${TENANT} clinic <account>`);
});

test('a sign-in that cannot be verified exits with 1, with the code, as text and as JSON', async () => {
  const { login, changes } = await openLogins(ADA!, ADA!);
  changes.verify = async () => {
    throw new MirrorError('the clinic is away', { actor: 'remote', code: 'server-error', retry: 'later' });
  };
  const ran = await login();
  expect(ran.code).toBe(1);
  expect(ran.out.replaceAll(/\s+/g, ' ')).toContain(
    'Cannot confirm that this user has access: the clinic is away (server-error). What to do: no action: the next cycle checks again',
  );
  const json = await login('--json');
  expect([json.code, JSON.parse(json.out)]).toMatchObject([
    1,
    {
      connection: 'clinic',
      missingScopes: [],
      isUnconfirmed: false,
      uncertainty: { code: 'server-error', remedy: null },
    },
  ]);
});

test('a sign-in with a device code is refused if the clinic does not offer the device flow', async () => {
  const { login } = await openLogins();
  expect((await login('--device')).thrown).toMatchObject({ actor: 'settings', code: 'client-not-allowed' });
});

test('standard output contains only the link; standard error shows its expiry and how to withdraw it', async () => {
  const { link } = await openLogins();
  const ran = await link('--hours', '24');
  expect(ran).toMatchObject({ code: 0, thrown: null });
  expect(ran.out).toMatch(/^https:\/\/mirror\.example\/oauth\/login\/\S+\n$/);
  expect(ran.err).toMatch(new RegExp(`logins links withdraw ${TENANT} [0-9a-f]{12}\n`));
  expect(ran.err).not.toContain(ran.out.trim());
});

test('a link that is valid for more than a week is refused', async () => {
  const { link } = await openLogins();
  expect((await link('--hours', '169')).thrown).toMatchObject({ actor: 'settings' });
  expect(await link('--hours', 'two')).toMatchObject({ code: 1, out: '' });
});
