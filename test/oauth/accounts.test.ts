import { describe, expect, test } from 'vitest';
import type { Account, Credential } from '../../src/core/model/credentials.ts';
import { type Actor, MirrorError } from '../../src/core/model/errors.ts';
import {
  accountOfClaims,
  accountOfHub,
  accountOfNames,
  accountText,
  type Claims,
  confirmAccount,
  type ExpectedAccount,
  isNamed,
  mismatchOf,
} from '../../src/oauth/accounts.ts';
import { createTokenAuthorizer } from '../../src/oauth/authorizer.ts';
import { DEFAULT_REFRESH_RULES } from '../../src/oauth/due.ts';
import { type LoginResult, type LoginTarget, type LoginWay, storeLogin } from '../../src/oauth/login.ts';
import type { Provider } from '../../src/oauth/providers.ts';
import type { LoginAnswer } from '../../src/oauth/token-requests.ts';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { connect, NEVER, openWorker, TENANT } from './connection.ts';
import { startTokenServer, tokensNamed } from './token-server.ts';

const ROSSI = { subject: '117', address: 'rossi@practice.example', domain: 'practice.example' };

describe('the account that is expected', () => {
  test.each<[ExpectedAccount, string | null]>([
    [{ subject: '117' }, null],
    [{ address: 'Rossi@Practice.example' }, null],
    [{ domain: 'practice.example' }, null],
    [{ subject: '117', address: 'rossi@practice.example', domain: 'practice.example' }, null],
    [{ subject: '118' }, 'wrong-account'],
    [{ subject: '117', address: 'bianchi@practice.example' }, 'wrong-account'],
    [{ domain: 'ractice.example' }, 'wrong-account'],
    [{ domain: 'example' }, 'wrong-account'],
    [{ address: 'practice.example' }, 'wrong-account'],
  ])('%j', (expected, mismatch) => {
    expect(mismatchOf(ROSSI, expected)).toBe(mismatch);
  });

  test('is not accepted if the vendor did not verify its e-mail address or domain', () => {
    const unvouched = { subject: '117', address: null, domain: null };
    expect(mismatchOf(unvouched, { address: 'rossi@practice.example' })).toBe('account-unknown');
    expect(mismatchOf(unvouched, { address: 'rossi@practice.example', subject: '118' })).toBe('wrong-account');
    expect(mismatchOf(unvouched, { domain: 'practice.example' })).toBe('wrong-account');
    expect(mismatchOf(null, { subject: '117' })).toBe('account-unknown');
  });
});

test('an operator selects an account by its id or e-mail address, and an unknown account as unknown', () => {
  expect(
    ['117', 'ROSSI@practice.example', 'practice.example', 'unknown', ''].map((name) => isNamed(ROSSI, name)),
  ).toEqual([true, true, false, false, false]);
  expect(['117', 'unknown', ''].map((name) => isNamed(null, name))).toEqual([false, true, false]);
});

test('an account is shown as e-mail address with id, or as its known part', () => {
  expect(accountText(ROSSI)).toBe('rossi@practice.example (117)');
  expect(accountText({ ...ROSSI, address: null })).toBe('117');
  expect(accountText(null)).toBe('unknown');
});

const told = (subject: string, address: string | null = null, domain: string | null = null) => ({
  subject,
  address,
  domain,
});

describe('what each vendor vouches for', () => {
  test.each<[Provider['name'], string, Claims, object | null]>([
    [
      'google',
      'Workspace',
      { sub: '1', email: 'a@b.it', email_verified: true, hd: 'b.it' },
      told('1', 'a@b.it', 'b.it'),
    ],
    [
      'google',
      'a private account under a foreign domain',
      { sub: '1', email: 'a@b.it', email_verified: true },
      told('1', 'a@b.it'),
    ],
    ['google', 'an unverified e-mail address', { sub: '1', email: 'a@b.it', email_verified: false }, told('1')],
    [
      'microsoft',
      'a member; the e-mail address is what an administrator wrote',
      { sub: 'pairwise', oid: 'o', tid: 't', preferred_username: 'a@b.it', email: 'victim@c.it' },
      told('o', 'a@b.it', 'b.it'),
    ],
    [
      'microsoft',
      'a personal account',
      { oid: 'o', tid: '9188040d-6c67-4c5b-b112-36a304b66dad', preferred_username: 'a@b.it' },
      told('o', 'a@b.it'),
    ],
    ['microsoft', 'without the scope profile', { sub: 'pairwise' }, told('pairwise')],
    [
      'salesforce',
      'a user name',
      { sub: 'https://login.salesforce.com/id/00D/005', user_id: '005', preferred_username: 'a@b.it', email: 'x@y.it' },
      told('005', 'a@b.it'),
    ],
    ['clinic', 'a subject', { sub: 's', email: 'a@b.it' }, told('s')],
    ['oauth', 'a verified e-mail address', { sub: 's', email: 'a@b.it', email_verified: true }, told('s', 'a@b.it')],
    [
      'oauth',
      'an e-mail address with terminal control codes',
      { sub: 's', email: '\u001b[2Ja@b.it', email_verified: true },
      told('s'),
    ],
    [
      'oauth',
      'an e-mail address with reversed text direction',
      { sub: 's', email: 'a@\u202eti.b', email_verified: true },
      told('s'),
    ],
    ['oauth', 'a subject of several lines', { sub: 's\nlogin ok' }, null],
    ['oauth', 'no subject', { email: 'a@b.it', email_verified: true }, null],
  ])('%s: %s', (name, _what, claims, account) => {
    expect(accountOfClaims({ name }, claims)).toEqual(account);
  });

  test('HubSpot returns the account in which the application is installed', () => {
    expect(accountOfHub({ active: true, hub_id: 4711, user: 'admin@clinic.example' })).toEqual(
      told('4711', 'admin@clinic.example'),
    );
    expect(accountOfHub({ active: false })).toBeNull();
  });
});

describe('an account named in a token response', () => {
  const NAMES = { idToken: null, identityUrl: null, hubId: null };
  const tokenFor = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;

  test.each<[Provider['name'], Partial<typeof NAMES> | { idToken: string }, object | null]>([
    ['google', { idToken: tokenFor({ aud: 'c', sub: '1' }) }, told('1')],
    ['google', { idToken: tokenFor({ aud: ['c', 'd'], sub: '1' }) }, told('1')],
    ['google', { idToken: tokenFor({ aud: 'd', sub: '1' }) }, null],
    ['google', { idToken: 'garbage' }, null],
    ['google', {}, null],
    ['hubspot', { hubId: '4711' } as object, told('4711')],
    [
      'salesforce',
      { identityUrl: 'https://login.salesforce.com/id/00D000000000001/005000000000001' } as object,
      told('005000000000001'),
    ],
    ['oauth', { idToken: tokenFor({ aud: 'c', sub: '1' }) }, null],
  ])('%s %#', (name, names, account) => {
    expect(accountOfNames({ name, clientId: 'c' }, { ...NAMES, ...names })).toEqual(account);
  });
});

describe('the account of a connection', () => {
  const redis = useRedis();

  const ROSSI: Account = { subject: '117', address: 'rossi@practice.example', domain: 'practice.example' };

  const STRANGER: Account = { subject: '666', address: 'stranger@elsewhere.example', domain: null };

  const UNCONFIRMED = { actor: 'guard', code: 'account-unconfirmed', retry: 'never' };

  /** Opens connections whose account the test chooses. */
  async function open(settings: Partial<Pick<LoginTarget, 'expected' | 'takesAnyAccount' | 'verify'>> = {}) {
    const server = await startTokenServer();
    const worker = openWorker({ redis: redis.connect(), issuer: server.url });
    const answer: LoginAnswer = {
      ...{ accessToken: 'access-1', refreshToken: 'refresh-1', accessLifeMs: 3_600_000, refreshLifeMs: null },
      ...{ scopes: null, baseUrl: null, account: null, sentAt: Date.now(), skewMs: 0 },
      names: { idToken: null, identityUrl: null, hubId: null },
    };
    const logIn = (account: Account | null, way: LoginWay): Promise<LoginResult> => {
      const told = { ...worker.server, accountOf: async () => account };
      const target: LoginTarget = { context: worker.place, server: told, scopes: [], clock: Date.now, ...settings };
      return storeLogin(target, answer, { way }, NEVER);
    };
    const authorizer = (expected: ExpectedAccount | null = settings.expected ?? null) =>
      createTokenAuthorizer({
        ...{ connection: 'clinic', credentials: worker.credentials, refresher: worker.refresher },
        ...{ rules: DEFAULT_REFRESH_RULES, clock: Date.now, expected },
      });
    const stored = () => worker.credentials.read('clinic');
    return { server, worker, logIn, authorizer, stored };
  }

  describe('a connection for a user of the clinic', () => {
    const failing = (actor: Actor, code: string) => async () => {
      throw new MirrorError('not told', { actor, code, retry: 'never' });
    };

    test.each([
      ['contract', 'tenants-not-found'],
      ['settings', 'not-found'],
      ['settings', 'tenant-choice'],
    ] as const)('is kept when the profile or the settings are not right yet (%s %s)', async (actor, code) => {
      const { logIn, stored } = await open({ verify: failing(actor, code) });
      expect(await logIn(ROSSI, 'here')).toMatchObject({ uncertainty: { code } });
      expect(await stored()).not.toBeNull();
    });

    test.each([
      ['authorization', 'user-unknown'],
      ['settings', 'tenant-not-allowed'],
      ['settings', 'tenant-gone'],
    ] as const)('is refused when the user must not be connected (%s %s)', async (actor, code) => {
      const { logIn, stored } = await open({ verify: failing(actor, code) });
      await expect(logIn(ROSSI, 'here')).rejects.toMatchObject({ code });
      expect(await stored()).toBeNull();
    });
  });

  describe('an account that the settings expect', () => {
    const expected = { address: 'rossi@practice.example' };

    test('is the only one that can connect, in every way: no token of another account is stored', async () => {
      for (const way of ['here', 'elsewhere'] as const) {
        const { worker, logIn, stored } = await open({ expected });
        await connect(worker);
        const before = await stored();
        await expect(logIn(STRANGER, way)).rejects.toMatchObject({ actor: 'authorization', code: 'wrong-account' });
        await expect(logIn(null, way)).rejects.toMatchObject({ actor: 'authorization', code: 'account-unknown' });
        expect(await stored()).toEqual(before);
        expect(await logIn(ROSSI, way)).toMatchObject({ account: ROSSI, isUnconfirmed: false });
      }
    });

    test('needs no other word, also when it is another one than before', async () => {
      const { logIn, authorizer } = await open();
      await logIn(STRANGER, 'here');
      await logIn(ROSSI, 'elsewhere');
      await expect(authorizer().header(NEVER)).rejects.toMatchObject(UNCONFIRMED);
      expect(await authorizer(expected).header(NEVER)).toBe('Bearer access-1');
    });

    test('is required at once after a change of the settings: the tokens of another account are not used', async () => {
      const { logIn, authorizer } = await open();
      await logIn(STRANGER, 'here');
      const refused = { actor: 'authorization', code: 'wrong-account' };
      await expect(authorizer(expected).header(NEVER)).rejects.toMatchObject(refused);
      await expect(authorizer(expected).renew(NEVER)).rejects.toMatchObject(refused);
    });

    test('is not named by what is thrown', async () => {
      const { logIn } = await open({ expected });
      const error = await logIn(STRANGER, 'here').catch(String);
      expect(error).not.toMatch(/rossi|stranger|666/);
    });
  });

  describe('a connection without an expected account', () => {
    const KNOWN = [ROSSI, 'here'] as const;
    test.each<[string, readonly (readonly [Account | null, LoginWay])[], boolean]>([
      ['the first one, by any user', [[ROSSI, 'here']], false],
      ['the first one, of an undisclosed account', [[null, 'here']], false],
      ['the first one, by a link or code', [[ROSSI, 'elsewhere']], true],
      ['the same account again', [KNOWN, [ROSSI, 'here']], false],
      ['the same account again, by a link or code', [KNOWN, [ROSSI, 'elsewhere']], false],
      ['another account', [KNOWN, [STRANGER, 'here']], true],
      ['another account, by a link or code', [KNOWN, [STRANGER, 'elsewhere']], true],
      ['an undisclosed one, after a known one', [KNOWN, [null, 'here']], true],
      ['the right account again, after a stranger', [KNOWN, [STRANGER, 'elsewhere'], [ROSSI, 'elsewhere']], false],
      ['the right account again, after an undisclosed one', [KNOWN, [null, 'here'], [ROSSI, 'here']], false],
      ['a stranger, twice', [KNOWN, [STRANGER, 'here'], [STRANGER, 'here']], true],
      ['another account, after an undisclosed one', [KNOWN, [null, 'here'], [STRANGER, 'here']], true],
      [
        'a known one, after an unknown one',
        [
          [null, 'here'],
          [ROSSI, 'here'],
        ],
        false,
      ],
      [
        'an undisclosed one, twice',
        [
          [null, 'here'],
          [null, 'elsewhere'],
        ],
        true,
      ],
      [
        'the same unconfirmed one again, by any user',
        [
          [ROSSI, 'elsewhere'],
          [ROSSI, 'here'],
        ],
        true,
      ],
    ])('%s', async (_what, logins, isUnconfirmed) => {
      const { logIn, authorizer } = await open();
      let result: LoginResult | null = null;
      for (const [account, way] of logins) result = await logIn(account, way);
      expect(result).toMatchObject({ isUnconfirmed });
      const header = authorizer().header(NEVER);
      if (isUnconfirmed) await expect(header).rejects.toMatchObject(UNCONFIRMED);
      else expect(await header).toBe('Bearer access-1');
    });

    test('is used if any account is accepted, as at the clinic', async () => {
      const { logIn, authorizer } = await open({ takesAnyAccount: true });
      await logIn(ROSSI, 'here');
      expect(await logIn(STRANGER, 'elsewhere')).toMatchObject({ account: STRANGER, isUnconfirmed: false });
      expect(await authorizer().header(NEVER)).toBe('Bearer access-1');
    });

    test('is never used, forced or not, and is kept alive until an operator names the account', async () => {
      const { server, worker, logIn, authorizer, stored } = await open();
      await logIn(STRANGER, 'elsewhere');
      server.onToken = () => ({ body: { ...tokensNamed(2), expires_in: 3_600 } });
      await expect(authorizer().renew(NEVER)).rejects.toMatchObject(UNCONFIRMED);
      const version = (await stored())?.version ?? 0;
      await worker.refresher.refresh(version);
      await expect(authorizer().header(NEVER)).rejects.toMatchObject(UNCONFIRMED);

      for (const named of ['117', 'rossi@practice.example', 'unknown', '']) {
        await expect(confirmAccount(worker.place, named, NEVER)).rejects.toMatchObject({ code: 'account-differs' });
      }
      const before = await stored();
      expect(await confirmAccount(worker.place, 'Stranger@elsewhere.example', NEVER)).toEqual(STRANGER);
      expect(await authorizer().header(NEVER)).toBe('Bearer access-2');
      expect(await stored()).toMatchObject({ version: before?.version, tokens: { refreshToken: 'refresh-2' } });
    });

    test('can not be confirmed without a connection', async () => {
      const { worker } = await open();
      await expect(confirmAccount(worker.place, 'unknown', NEVER)).rejects.toMatchObject({ code: 'not-connected' });
    });
  });

  test('a confirmation by an operator holds although an earlier refresh was received and not stored yet', async () => {
    const server = await startTokenServer();
    server.onToken = () => ({ body: { ...tokensNamed(9), expires_in: 3_600 } });
    let isAway = false;
    const worker = openWorker({
      redis: redis.connect(),
      issuer: server.url,
      wrapStore: (store) => ({
        ...store,
        write: (...given) => (isAway ? Promise.reject(new Error('away')) : store.write(...given)),
      }),
    });
    const tokens = { accessToken: 'access-0', refreshToken: 'refresh-0', account: STRANGER, isUnconfirmed: true };
    await connect(worker, { tokens });
    isAway = true;
    await expect(worker.refresher.refresh(1)).rejects.toThrow();
    isAway = false;
    await confirmAccount(worker.place, '666', NEVER);
    await worker.refresher.refresh(1);
    expect((await worker.credentials.read('clinic'))?.tokens).toMatchObject({
      refreshToken: 'refresh-9',
      account: STRANGER,
      isUnconfirmed: false,
    });
  });

  describe('a connection with an unknown account', () => {
    const idToken = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;

    test('is still used, and its account is learned from a refresh', async () => {
      const { server, worker, authorizer, stored } = await open();
      await connect(worker, { accessExpiresAt: null });
      expect(await authorizer().header(NEVER)).toBe('Bearer access-0');
      const answer = (claims: object) => () => ({
        body: { ...tokensNamed(1), expires_in: 3_600, id_token: idToken(claims) },
      });
      server.onToken = answer({ aud: 'client-1', sub: '117' });
      await worker.refresher.refresh(1);
      const learned = { subject: '117', address: null, domain: null };
      expect((await stored())?.tokens.account).toEqual(learned);
      expect(await authorizer().header(NEVER)).toBe('Bearer access-1');
      server.onToken = answer({ aud: 'client-1', sub: '666' });
      await worker.refresher.refresh((await stored())?.version ?? 0);
      expect((await stored())?.tokens.account, 'a refresh changes no account').toEqual(learned);
    });

    test('is still used if the settings expect an account, until a different account is known', async () => {
      const { server, worker, authorizer } = await open({ expected: { subject: '117' } });
      await connect(worker, { accessExpiresAt: null } satisfies Partial<Credential>);
      expect(await authorizer().header(NEVER)).toBe('Bearer access-0');
      server.onToken = () => ({
        body: { ...tokensNamed(1), expires_in: 3_600, id_token: idToken({ aud: 'client-1', sub: '666' }) },
      });
      await worker.refresher.refresh(1);
      await expect(authorizer().header(NEVER)).rejects.toMatchObject({ code: 'wrong-account' });
    });
  });

  test('Redis does not hold the account in clear', async () => {
    const { logIn } = await open();
    await logIn(STRANGER, 'elsewhere');
    const stored = await redis.connect().hgetall(keys.credential(TENANT, 'clinic'));
    expect(Object.keys(stored)).toContain('sealed');
    expect(JSON.stringify(stored)).not.toMatch(/stranger|elsewhere\.example|666"/);
  });
});
