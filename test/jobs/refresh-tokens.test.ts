import { expect, test } from 'vitest';
import { type KeptLogin, refreshTokens } from '../../src/jobs/refresh-tokens.ts';
import { type Logger, silentLogger } from '../../src/log/logger.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { NEVER } from './cycle.ts';

function login(connection: string, outcome: boolean | MirrorError, asked: string[]): KeptLogin {
  return {
    connection,
    async refreshIfDue() {
      asked.push(connection);
      if (outcome instanceof MirrorError) throw outcome;
      return outcome;
    },
  };
}

test('a login that cannot be refreshed keeps no other from its turn, and one that nobody made is not reported', async () => {
  const asked: string[] = [];
  const warned: object[] = [];
  const told: object[] = [];
  const log: Logger = { ...silentLogger, warn: (data) => warned.push(data), info: (data) => told.push(data) };
  const failure = (code: string) => new MirrorError('x', { actor: 'authorization', code, retry: 'never' });
  const logins = [
    login('never', failure('not-connected'), asked),
    login('dead', failure('login-ended'), asked),
    login('fresh', false, asked),
    login('due', true, asked),
  ];
  await refreshTokens(logins, log, NEVER);
  expect(asked).toEqual(['never', 'dead', 'fresh', 'due']);
  expect(warned).toMatchObject([{ connection: 'dead', code: 'login-ended' }]);
  expect(told).toEqual([{ connection: 'due' }]);
});

test('no login is asked for once the daemon ends', async () => {
  const asked: string[] = [];
  const stop = new AbortController();
  const first: KeptLogin = {
    connection: 'first',
    async refreshIfDue() {
      stop.abort();
      return false;
    },
  };
  await refreshTokens([first, login('second', true, asked)], silentLogger, stop.signal);
  expect(asked).toEqual([]);
});
