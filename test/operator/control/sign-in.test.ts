import { describe, expect, test } from 'vitest';
import { entrantBySession } from '../../../src/operator/control/access.ts';
import {
  beginOidcSignIn,
  describeSignInLink,
  endOidcSignIn,
  principalOf,
  REMEMBERED_BROWSER_LIFE_MS,
  rememberBrowser,
  rememberedBrowserOf,
  SHORTEST_PASSPHRASE,
  signInByPassphrase,
  signOut,
  type Trier,
  useSignInLink,
} from '../../../src/operator/control/sign-in.ts';
import { useRedis } from '../../support/redis.ts';
import { accessSettings, openAccessWorld } from './acting.ts';

const redis = useRedis();
const PASSPHRASE = 'correct horse battery';
const STRANGER: Trier = { caller: '192.0.2.7', rememberedBrowser: null };

async function open(access: object = { passphrase: true }) {
  const connection = redis.connect();
  await connection.flushall();
  const world = openAccessWorld(connection, { access: accessSettings(access) });
  await world.desk.passphrase.set(PASSPHRASE);
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      ({ code }) => code as string,
    );
  const guess = (trier: Trier, passphrase = 'mistyped') => codeOf(signInByPassphrase(world.desk, passphrase, trier));
  return { ...world, codeOf, guess };
}

describe('the passphrase', () => {
  test('signs in its owner, and refuses any other passphrase with passphrase-wrong', async () => {
    const { desk, guess, recorded } = await open();
    const { session, account } = await signInByPassphrase(desk, PASSPHRASE, STRANGER);
    expect(await entrantBySession(desk, session)).toMatchObject({ id: account, name: 'owner', level: 'owner' });
    for (const passphrase of ['', 'mistyped', PASSPHRASE.repeat(20)]) {
      expect(await guess(STRANGER, passphrase)).toBe('passphrase-wrong');
    }
    expect(recorded).toMatchObject([{ verb: 'sign-in', outcome: 'done', what: { way: 'passphrase', level: 'owner' } }]);
  });

  test('signs in no one if it is disabled', async () => {
    const { guess } = await open({ passphrase: false });
    expect(await guess(STRANGER, PASSPHRASE)).toBe('passphrase-wrong');
  });

  test('is blocked with sign-in-too-often after twenty tries of an address, but not in a browser of its owner', async () => {
    const { desk, guess, recorded } = await open();
    const tries: string[] = [];
    for (let at = 0; at < 22; at += 1) tries.push(await guess(STRANGER));
    expect(tries.slice(19)).toEqual(['passphrase-wrong', 'sign-in-too-often', 'sign-in-too-often']);
    expect(await guess(STRANGER, PASSPHRASE)).toBe('sign-in-too-often');
    expect(recorded.map(({ what }) => what.attempts)).toEqual([1, 10, 21]);
    const ofOwner = { caller: STRANGER.caller, rememberedBrowser: { id: 'b', account: 'owner' } };
    expect(await guess(ofOwner, PASSPHRASE)).toBe('done');
    const ofAnother = { caller: STRANGER.caller, rememberedBrowser: { id: 'c', account: 'account:x#y' } };
    expect(await guess(ofAnother, PASSPHRASE)).toBe('sign-in-too-often');
    await expect(signInByPassphrase(desk, PASSPHRASE, STRANGER)).rejects.toMatchObject({
      retryAfterMs: expect.any(Number),
    });
  });

  test('resets the tries of an address after a sign-in from there', async () => {
    const { guess } = await open();
    for (let round = 0; round < 3; round += 1) {
      for (let at = 0; at < 10; at += 1) await guess(STRANGER);
      expect(await guess(STRANGER, PASSPHRASE)).toBe('done');
    }
  });
});

describe('a remembered browser', () => {
  test('is valid for its account until it expires, and never if forged', async () => {
    const { desk, state } = await open();
    const shown = rememberBrowser(desk, 'owner', null);
    expect(rememberedBrowserOf(desk, shown)).toMatchObject({ account: 'owner' });
    const invented = JSON.stringify({ id: 'b', account: 'owner', endsAt: state.now + 1 });
    for (const each of ['', invented, shown.slice(4)]) expect(rememberedBrowserOf(desk, each)).toBeNull();
    state.now += REMEMBERED_BROWSER_LIFE_MS;
    expect(rememberedBrowserOf(desk, shown)).toBeNull();
  });

  test('keeps its budget only for the same account', async () => {
    const { desk } = await open();
    const before = { id: 'b', account: 'owner' };
    const idFor = (account: string) => rememberedBrowserOf(desk, rememberBrowser(desk, account, before))?.id;
    expect(idFor('owner')).toBe('b');
    expect(idFor('account:x#y')).not.toBe('b');
  });
});

describe('a link to sign in', () => {
  // 15 characters.
  const LONG = 'lampada, verdi9';

  test('stays valid after a passphrase that is refused as passphrase-unusable', async () => {
    const { desk, codeOf } = await open();
    await desk.links.put('ticket', { mustSet: false }, 60_000);
    for (const passphrase of [LONG.slice(1), '', 'x'.repeat(257), '🦷'.repeat(SHORTEST_PASSPHRASE - 1)]) {
      expect(await codeOf(useSignInLink(desk, 'ticket', passphrase))).toBe('passphrase-unusable');
    }
    expect(await codeOf(useSignInLink(desk, 'ticket', LONG))).toBe('done');
    expect(await codeOf(useSignInLink(desk, 'ticket', LONG))).toBe('login-unknown');
  });

  test('stays valid after a passphrase that is easy to guess, which no record or error repeats', async () => {
    const { desk, codeOf, recorded } = await open();
    await desk.links.put('ticket', { mustSet: false }, 60_000);
    for (const passphrase of ['x'.repeat(SHORTEST_PASSPHRASE), 'passwordpassword', 'P@ssw0rd123456789']) {
      const failure = await useSignInLink(desk, 'ticket', passphrase).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'passphrase-guessable' });
      expect(JSON.stringify([recorded, { ...(failure as Error) }, String(failure)])).not.toContain(passphrase);
    }
    expect(await desk.passphrase.isSet()).toBe(true);
    expect(await codeOf(signInByPassphrase(desk, PASSPHRASE, STRANGER))).toBe('done');
    expect(await codeOf(useSignInLink(desk, 'ticket', LONG))).toBe('done');
  });

  test('that sets the passphrase ends the owner’s sessions; one that only signs in ends none', async () => {
    const { desk } = await open();
    const { session } = await signInByPassphrase(desk, PASSPHRASE, STRANGER);
    await desk.links.put('first', { mustSet: false }, 60_000);
    await useSignInLink(desk, 'first', null);
    expect(await entrantBySession(desk, session)).not.toBeNull();
    await desk.links.put('second', { mustSet: false }, 60_000);
    const renewed = await useSignInLink(desk, 'second', LONG);
    expect(await entrantBySession(desk, session)).toBeNull();
    expect(await entrantBySession(desk, renewed.session)).toMatchObject({ level: 'owner' });
  });

  test('of the first start only sets a passphrase, and expires once there is one', async () => {
    const connection = redis.connect();
    await connection.flushall();
    const { desk } = openAccessWorld(connection, { access: accessSettings({ passphrase: true }) });
    await desk.links.put('ticket', { mustSet: true }, 60_000);
    expect(await describeSignInLink(desk, 'ticket')).toEqual({ mustSet: true });
    await expect(useSignInLink(desk, 'ticket', null)).rejects.toMatchObject({ code: 'passphrase-unusable' });
    await desk.passphrase.set(PASSPHRASE);
    expect(await describeSignInLink(desk, 'ticket')).toBeNull();
  });

  test('is invalid if passphrases are disabled', async () => {
    const { desk, codeOf } = await open({ passphrase: false });
    await desk.links.put('ticket', { mustSet: false }, 60_000);
    expect(await codeOf(useSignInLink(desk, 'ticket', null))).toBe('login-unknown');
  });
});

test('a sign-in at a provider is refused as oidc-off without a provider or a URL to return to', async () => {
  const { desk, codeOf } = await open();
  expect(await codeOf(beginOidcSignIn(desk, '/'))).toBe('oidc-off');
  const callback = { search: '?code=c', sealedState: '', trier: STRANGER };
  expect(await codeOf(endOidcSignIn(desk, callback, new AbortController().signal))).toBe('oidc-off');
  const people = [{ email: 'olga@clinic.example', level: 'owner' }];
  const withProvider = await open({ oidc: { issuer: 'https://id.test', clientId: 'mirror', people } });
  const noAddress = { ...withProvider.desk, publicUrl: () => null };
  expect(await codeOf(beginOidcSignIn(noAddress, '/'))).toBe('oidc-off');
  expect(await codeOf(endOidcSignIn(withProvider.desk, callback, new AbortController().signal))).toBe('login-unknown');
});

test('signing out ends one session or all of the account, and is recorded', async () => {
  const { desk, recorded } = await open();
  const begin = async () => (await signInByPassphrase(desk, PASSPHRASE, STRANGER)).session;
  const [first, second, third] = [await begin(), await begin(), await begin()];
  const isIn = async () =>
    Promise.all([first, second, third].map(async (each) => (await entrantBySession(desk, each)) !== null));
  await signOut(desk, { id: 'owner', name: 'owner' }, first, false);
  expect(await isIn()).toEqual([false, true, true]);
  await signOut(desk, { id: 'owner', name: 'owner' }, second, true);
  expect(await isIn()).toEqual([false, false, false]);
  expect(recorded.slice(-2).map(({ verb, what }) => [verb, what.everywhere])).toEqual([
    ['sign-out', false],
    ['sign-out', true],
  ]);
});

test('an account of a provider has another name than the holder of the passphrase', () => {
  expect(principalOf({ id: 'account:x#y', name: 'olga' }).kind).toBe('account');
  expect(principalOf({ id: 'owner', name: 'owner' }).kind).toBe('holder');
});
