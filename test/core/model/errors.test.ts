import { describe, expect, test } from 'vitest';
import { asMirrorError, MirrorError, redisFaultOf } from '../../../src/core/model/errors.ts';

describe('any thrown value as a MirrorError', () => {
  test('is the same object when it is one already', () => {
    const error = new MirrorError('no answer in time', { actor: 'remote', code: 'timeout', retry: 'later' });
    expect(asMirrorError(error)).toBe(error);
  });

  test.each([[new Error('Mario Rossi 333 1234567')], ['Mario Rossi'], [undefined], [null], [{ body: 'Rossi' }]])(
    'does not show an unexpected value (%#)',
    (thrown) => {
      const error = asMirrorError(thrown);
      expect(error).toMatchObject({ actor: 'contract', code: 'unexpected', retry: 'later', ambiguous: false });
      expect(error.message).not.toMatch(/Rossi|333/);
    },
  );
});

test('what an error was not told stays undefined, and ambiguous is false', () => {
  const error = new MirrorError('x', { actor: 'guard', code: 'x', retry: 'never' });
  expect([error.retryAfterMs, error.status, error.remedy, error.cause]).toEqual(Array(4).fill(undefined));
  expect(error.ambiguous).toBe(false);
});

test.each([
  ['OOM command not allowed when used memory > maxmemory.', 'redis-full', 'settings'],
  ["READONLY You can't write against a read only replica.", 'redis-read-only', 'remote'],
  ['NOREPLICAS Not enough good replicas to write.', 'redis-no-replicas', 'settings'],
  [
    'MISCONF Redis is configured to save RDB snapshots, but is unable to persist on disk.',
    'redis-snapshot-failed',
    'settings',
  ],
  ["NOPERM User app has no permissions to run the 'set' command", 'redis-rights', 'settings'],
  ['NOAUTH Authentication required.', 'redis-login-refused', 'settings'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'redis-login-refused', 'settings'],
  ['ERR DB index is out of range', 'redis-database-missing', 'settings'],
  ['LOADING Redis is loading the dataset in memory', 'redis-loading', 'remote'],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'redis-busy', 'remote'],
  ['CLUSTERDOWN The cluster is down', 'redis-cluster-down', 'remote'],
  ['ERR Error running script (call to f_1): @user_script:3: -OOM command not allowed', 'redis-full', 'settings'],
])('the answer of Redis "%s" is %s, for the %s', (answer, code, actor) => {
  const fault = redisFaultOf(new Error(answer));
  expect(fault).toMatchObject({ code, actor, retry: 'later' });
  expect(fault?.remedy).toBeDefined();
  expect(asMirrorError(new Error(answer)).code).toBe(code);
});
