import { expect, test, vi } from 'vitest';
import { keys } from '../../src/state/keys.ts';
import { useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';
import { connect, NEVER, openWorker, TENANT, type Worker } from './connection.ts';
import { rotatingTokens, startTokenServer } from './token-server.ts';

const redis = useRedis({ appendOnly: false });
const DAY_MS = 86_400_000;

/** A login in two processes, and how often the first one reads it. */
async function open() {
  const server = await startTokenServer();
  const rotating = rotatingTokens();
  server.onToken = rotating.onToken;
  const connection = redis.connect();
  const [worker, peer] = [connection, redis.connect()].map((one) => openWorker({ redis: one, issuer: server.url }));
  if (worker === undefined || peer === undefined) throw new Error('two were opened');
  await connect(worker, { accessExpiresAt: Date.now() + DAY_MS });
  const time = useFakeTime();
  const readings = vi.spyOn(connection, 'hgetall');
  const headers = async (times: number) => {
    const given = new Set<string>();
    for (let time = 0; time < times; time += 1) given.add(await worker.authorizer.header(NEVER));
    return [...given];
  };
  return { server, rotating, worker, peer, time, readings, headers };
}

/** As when a person has logged out, in whatever process. */
const logOut = ({ credentials }: Worker) => credentials.remove('clinic');

test('requests that follow one another within a second read their login once', async () => {
  const { headers, readings, time } = await open();
  expect(await headers(17)).toEqual(['Bearer access-0']);
  expect(readings).toHaveBeenCalledTimes(1);
  await time.pass(999);
  await headers(1);
  expect(readings).toHaveBeenCalledTimes(1);
  await time.pass(1);
  await headers(17);
  expect(readings).toHaveBeenCalledTimes(2);
});

test('what this process stores counts with the next request', async () => {
  const { headers, worker } = await open();
  await headers(1);
  await worker.authorizer.renew(NEVER);
  expect(await headers(3)).toEqual(['Bearer access-1']);
  await logOut(worker);
  await expect(headers(1)).rejects.toMatchObject({ code: 'not-connected' });
});

test('what another one stores counts after a second, and at once after a 401, without a refresh of its own', async () => {
  const { headers, worker, peer, rotating, time } = await open();
  await headers(1);
  await peer.authorizer.renew(NEVER);
  expect(await headers(2)).toEqual(['Bearer access-0']);
  expect(await worker.authorizer.renew(NEVER)).toBe('Bearer access-1');
  expect(await headers(2)).toEqual(['Bearer access-1']);
  await logOut(peer);
  await time.pass(1_000);
  await expect(headers(1)).rejects.toMatchObject({ code: 'not-connected' });
  expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
});

test('whoever is not logged in is looked at with each request', async () => {
  const { headers, worker, peer } = await open();
  const login = await peer.credentials.read('clinic');
  await logOut(peer);
  await expect(headers(1)).rejects.toMatchObject({ code: 'not-connected' });
  if (login === null) throw new Error('there was a login');
  const lease = await peer.place.leases.take('credential:clinic', 1_000, NEVER);
  await peer.credentials.write(lease, 'clinic', null, { ...login, state: 'needs-login', reason: 'login-ended' });
  await expect(headers(1)).rejects.toMatchObject({ code: 'login-ended' });
  await peer.credentials.record(lease, 'clinic', login.version, login);
  expect(await headers(1)).toEqual(['Bearer access-0']);
  expect(await worker.credentials.recent('clinic')).toMatchObject({ state: 'connected' });
});

test('a refresh that is due goes by the login as it stands, so that a token which a peer has used up is never sent', async () => {
  const { server, headers, worker, peer, rotating } = await open();
  await headers(1);
  const { version } = (await worker.credentials.recent('clinic')) ?? { version: 0 };
  await peer.authorizer.renew(NEVER);
  // As a peer's version that this process still goes by.
  expect((await worker.refresher.refresh(version)).tokens.accessToken).toBe('access-1');
  expect(server.forms('/token').map((form) => form.get('refresh_token'))).toEqual(['refresh-0']);
  expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
});

test('an answer that was on its way while the login changed is not kept', async () => {
  const { worker, readings } = await open();
  const before = await redis.connect().hgetall(keys.credential(TENANT, 'clinic'));
  const answered = Promise.withResolvers<Record<string, string>>();
  readings.mockReturnValueOnce(answered.promise);
  const reading = worker.credentials.recent('clinic');
  await logOut(worker);
  answered.resolve(before);
  expect(await reading).not.toBeNull();
  expect(await worker.credentials.recent('clinic')).toBeNull();
});
