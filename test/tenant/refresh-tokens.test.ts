import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { type MaintainedLogin, refreshTokens } from '../../src/tenant/refresh-tokens.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER } from './cycle.ts';
import { openOutages } from './open-tenant.ts';

const redis = useRedis({ appendOnly: false });
const HOST = 'login.example';

function tenantWith(log: Logger, clock = { now: NOW }) {
  return { id: 'aurora', log, outages: openOutages(redis.connect(), () => clock.now, { log }) };
}

function login(connection: string, outcome: boolean | MirrorError, asked: string[]): MaintainedLogin {
  return {
    connection,
    async refreshIfDue() {
      asked.push(connection);
      if (outcome instanceof MirrorError) throw outcome;
      return outcome;
    },
  };
}

test('a connection that cannot be refreshed does not block others, and one that no one created is not reported', async () => {
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
  await refreshTokens(logins, tenantWith(log), NEVER);
  expect(asked).toEqual(['never', 'dead', 'fresh', 'due']);
  expect(warned).toMatchObject([{ connection: 'dead', code: 'login-ended' }]);
  expect(told).toEqual([{ connection: 'due' }]);
});

test('a refresh that an authorization server fails begins an incident of its host, which the next answer ends', async () => {
  const lines: [string, string][] = [];
  const note = (level: string) => (_: object, message: string) => void lines.push([level, message]);
  const log: Logger = { ...silentLogger, warn: note('warn'), info: note('info') };
  const tenant = tenantWith(log);
  const state: { now: 'failed' | 'answered' } = { now: 'failed' };
  const kept: MaintainedLogin = {
    connection: 'google',
    async refreshIfDue() {
      tenant.outages.heard(HOST, state.now);
      if (state.now === 'answered') return true;
      throw new MirrorError('away', { actor: 'remote', code: 'token-endpoint-unavailable', retry: 'later' });
    },
  };
  for (let tries = 0; tries < 3; tries += 1) await refreshTokens([kept], tenant, NEVER);
  expect(await tenant.outages.list()).toMatchObject([
    {
      ...{ host: HOST, code: 'token-endpoint-unavailable' },
      works: [{ tenant: 'aurora', target: null, other: { kind: 'connection', id: 'google' } }],
    },
  ]);
  expect(lines).toEqual([['warn', 'server is unreachable: work waits until the server answers']]);
  state.now = 'answered';
  await refreshTokens([kept], tenant, NEVER);
  expect(await tenant.outages.list()).toEqual([]);
  expect(lines.map(([, message]) => message)).toContain('server is reachable again');
});

test('a connection that other work refreshed no longer waits for a server', async () => {
  const tenant = tenantWith(silentLogger);
  const outcomes = [new MirrorError('away', { actor: 'remote', code: 'timeout', retry: 'later' }), false];
  const kept: MaintainedLogin = {
    connection: 'google',
    async refreshIfDue() {
      const outcome = outcomes.shift();
      if (!(outcome instanceof MirrorError)) return false;
      tenant.outages.heard(HOST, 'failed');
      throw outcome;
    },
  };
  await refreshTokens([kept], tenant, NEVER);
  expect(await tenant.outages.list()).toHaveLength(1);
  await refreshTokens([kept], tenant, NEVER);
  expect(await tenant.outages.list()).toEqual([]);
});

test('no token is requested once the daemon stops', async () => {
  const asked: string[] = [];
  const stop = new AbortController();
  const first: MaintainedLogin = {
    connection: 'first',
    async refreshIfDue() {
      stop.abort();
      return false;
    },
  };
  await refreshTokens([first, login('second', true, asked)], tenantWith(silentLogger), stop.signal);
  expect(asked).toEqual([]);
});

test('a connection that fails with one code writes one warning until the code changes or a refresh succeeds', async () => {
  const warned: object[] = [];
  const tenant = tenantWith({ ...silentLogger, warn: (data) => warned.push(data) });
  const failing = (code: string) =>
    login('google', new MirrorError('x', { actor: 'settings', code, retry: 'never' }), []);
  const failTenTimes = async (code: string) => {
    for (let tries = 0; tries < 10; tries += 1) await refreshTokens([failing(code)], tenant, NEVER);
  };
  await failTenTimes('invalid-client');
  expect(warned).toMatchObject([{ connection: 'google', code: 'invalid-client' }]);
  await failTenTimes('scope-refused');
  expect(warned).toMatchObject([{}, { code: 'scope-refused' }]);
  await refreshTokens([login('google', true, [])], tenant, NEVER);
  await failTenTimes('scope-refused');
  expect(warned).toMatchObject([{}, {}, { code: 'scope-refused' }]);
});
