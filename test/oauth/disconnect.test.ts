import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/log/logger.ts';
import { disconnect } from '../../src/oauth/login.ts';
import { useRedis } from '../support/redis.ts';
import { connect, NEVER, openWorker, TENANT } from './connection.ts';
import { type Answer, oauthError, startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();

async function open() {
  const server = await startTokenServer();
  const worker = openWorker({ redis: redis.connect(), issuer: server.url, requestTimeoutMs: 300 });
  return { server, worker, end: () => disconnect(worker.place, worker.server, silentLogger, NEVER) };
}

describe('disconnecting', () => {
  test('revokes the refresh token at the provider and forgets the login', async () => {
    const { server, worker, end } = await open();
    await connect(worker);
    expect(await end()).toBe('revoked');
    expect(server.forms('/revoke').map((form) => form.get('token'))).toEqual(['refresh-0']);
    expect(await worker.credentials.read('clinic')).toBeNull();
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({ code: 'not-connected' });
  });

  test.each<[string, Answer]>([
    ['an error', oauthError('invalid_token')],
    ['a failure', { status: 500, body: 'x' }],
    ['a cut connection', 'cut'],
    ['silence', 'silent'],
  ])('forgets the login when the provider answers the revocation with %s', async (_name, answer) => {
    const { server, worker, end } = await open();
    server.onRevoke = () => answer;
    await connect(worker);
    expect(await end()).toBe('failed');
    expect(await worker.credentials.read('clinic')).toBeNull();
  });

  test('forgets the login of a provider without a revocation endpoint, or that is no longer configured', async () => {
    const { server, worker, end } = await open();
    server.metadata = { revocation_endpoint: undefined };
    await connect(worker);
    expect(await end()).toBe('not-supported');
    await connect(worker);
    expect(await disconnect(worker.place, null, silentLogger, NEVER)).toBe('not-supported');
    expect(await worker.credentials.read('clinic')).toBeNull();
    expect(await end()).toBe('nothing-to-revoke');
  });

  test('forgets a login that cannot be opened any more', async () => {
    const { worker, end } = await open();
    await connect(worker);
    await redis.connect().hset(`cm:{${TENANT}}:credential:clinic`, 'sealed', 's1.gone.AAAA');
    expect(await end()).toBe('failed');
    expect(await worker.credentials.read('clinic')).toBeNull();
  });

  test('waits for a refresh under way, so that the token which it brings is revoked', async () => {
    const { server, worker, end } = await open();
    let answer: (value: Answer) => void = () => {};
    server.onToken = () => new Promise((resolve) => (answer = resolve));
    await connect(worker);
    const refreshing = worker.authorizer.header(NEVER);
    await expect.poll(() => server.forms('/token').length).toBe(1);
    const ending = end();
    answer({ body: { ...tokensNamed(1), expires_in: 3_600 } });
    expect(await refreshing).toBe('Bearer access-1');
    expect(await ending).toBe('revoked');
    expect(server.forms('/revoke')[0]?.get('token')).toBe('refresh-1');
  });
});
