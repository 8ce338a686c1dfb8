import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { runProgram } from '../cli/run-program.ts';
import { accessSettings, openAccessWorld, openActing } from '../control/acting.ts';

const redis = useRedis();

/** The commands on a real Redis. */
function open() {
  const world = openAccessWorld(redis.connect());
  const acting = openActing();
  const run = async (...args: string[]) => {
    const { out, err, thrown } = await runProgram(['access', ...args], { access: world.desk, acting });
    if (thrown !== null) throw thrown;
    return { out: out.trimEnd(), err };
  };
  return { ...world, run, acting };
}

test('a token is shown once, listed without what it is, and revoked', async () => {
  const { run, desk, acting } = open();
  const shown = (await run('token', 'create', 'ci', '--level', 'operator', '--tenant', 'studio-rossi', '--days', '30'))
    .out;
  expect(shown).toMatch(/^cmt_ci_[\w-]{43}$/);
  expect(await desk.tokens.find(shown)).toMatchObject({ level: 'operator', tenants: ['studio-rossi'], by: 'anna' });
  const listed = await run('token', 'list');
  expect(listed.out).toMatch(/ci\s+operator\s+studio-rossi\s+anna/);
  expect(JSON.stringify([listed, await run('token', 'list', '--json')])).not.toContain(shown.slice(-43));
  await expect(run('token', 'create', 'ci')).rejects.toMatchObject({ code: 'token-name-taken' });
  await run('token', 'revoke', 'ci');
  expect([await desk.tokens.find(shown), (await run('token', 'list')).out]).toEqual([null, 'No tokens exist.']);
  await expect(run('token', 'revoke', 'ci')).rejects.toMatchObject({ code: 'no-such-token' });
  expect(JSON.stringify(acting.recorded)).not.toContain(shown);
});

test('sessions of all users are listed on the host, and ended by the id of a session or of a user', async () => {
  const { desk } = openAccessWorld(redis.connect(), { access: accessSettings({ passphrase: true }) });
  const acting = openActing();
  const run = async (...args: string[]) => {
    const { out, thrown } = await runProgram(['sessions', ...args], { access: desk, acting });
    if (thrown !== null) throw thrown;
    return out.trimEnd();
  };
  const life = { mostMs: HOUR_MS, idleMs: HOUR_MS };
  const begin = () =>
    desk.sessions.begin('owner', { way: 'passphrase' }, life, { browser: 'Firefox', network: '192.0.2.0/24' });
  expect(await run()).toBe('No sessions are open.');
  const [one] = [await begin(), await begin(), await begin()];
  expect(await run()).toMatch(/owner\s+owner\s+Firefox\s+192\.0\.2\.0\/24/);
  expect(await run('end', desk.sessions.idOf(one ?? ''))).toBe('1 session ended.');
  expect(JSON.parse(await run('list', '--json')).sessions).toHaveLength(2);
  expect(await run('end', 'owner')).toBe('2 sessions ended.');
  await expect(run('end', 'owner')).rejects.toMatchObject({ code: 'no-such-session' });
});

test('no id of a session looks like an option', () => {
  const { desk } = openAccessWorld(redis.connect(), { access: accessSettings({ passphrase: true }) });
  const ids = Array.from({ length: 500 }, (_, index) => desk.sessions.idOf(`session ${index}`));
  expect(ids.filter((id) => !/^[\da-f]{64}$/.test(id))).toEqual([]);
});

test.each([
  ['a name of capitals', ['token', 'create', 'CI']],
  ['a level that there is not', ['token', 'create', 'ci', '--level', 'admin']],
  ['no end', ['token', 'create', 'ci', '--days', '0']],
  ['an end in years', ['token', 'create', 'ci', '--days', '367']],
])('a token of %s is not made', async (_, args) => {
  const { run, desk } = open();
  await expect(run(...args)).rejects.toThrow();
  expect(await desk.tokens.list()).toEqual([]);
});

test('a token for a missing clinic is not made, and the typed name is not recorded', async () => {
  const { run, desk, acting } = open();
  await expect(run('token', 'create', 'ci', '--tenant', 'mario-rossi')).rejects.toMatchObject({
    code: 'no-such-tenant',
  });
  expect(await desk.tokens.list()).toEqual([]);
  expect(JSON.stringify(acting.recorded)).not.toContain('mario');
});

test('a sign-in URL is valid once, if passphrases are enabled and browsers can reach the port', async () => {
  const { run, state } = open();
  expect((await run('sign-in')).out).toMatch(/^https:\/\/mirror\.test\/sign-in\/link\/[\w-]{43}$/);
  state.access = null;
  await expect(run('sign-in')).rejects.toMatchObject({ code: 'passphrase-off' });
  const { desk } = openAccessWorld(redis.connect(), { publicUrl: null });
  const { makeSignInLink } = await import('../../../src/operator/control/access.ts');
  await expect(makeSignInLink(openActing(), desk)).rejects.toMatchObject({ code: 'no-operator-address' });
});
