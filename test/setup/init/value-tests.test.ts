import { describe, expect, onTestFinished, test } from 'vitest';
import { startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { startGraphSandbox } from '../../../sandbox/graph/index.ts';
import { type ClientValues, openValueTests } from '../../../src/setup/init/value-tests.ts';
import { NEVER } from '../../oauth/connection.ts';
import { useRadicale } from '../../support/radicale.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const radicale = useRadicale();
const tests = openValueTests(NEVER);
const WRONG = 'wrong-canary';

/** A registration that the server of a kind knows. */
const REGISTERED: Record<ClientValues['kind'], () => Promise<ClientValues>> = {
  async clinic() {
    const clinic = await startClinicSandbox({ tenants: 1, appointments: 1, agendas: 1 });
    onTestFinished(() => clinic.close());
    const { clientId = '', clientSecret = null } = clinic.clients[0] ?? {};
    return { kind: 'clinic', authUrl: clinic.authUrl, clientId, clientSecret };
  },
  async google() {
    const google = await startGoogleSandbox();
    onTestFinished(() => google.close());
    const { clientId, clientSecret = null } = google.client;
    return { kind: 'google', issuer: google.issuer, clientId, clientSecret };
  },
  async microsoft() {
    const graph = await startGraphSandbox();
    onTestFinished(() => graph.close());
    const { clientId, clientSecret = null } = graph.application;
    return { kind: 'microsoft', authority: graph.url, clientId, clientSecret };
  },
};

describe.each(Object.keys(REGISTERED) as ClientValues['kind'][])('a client of the server of %s', (kind) => {
  test('is accepted with its secret', async () => {
    await expect(tests.client(await REGISTERED[kind]())).resolves.toBeUndefined();
  });

  test.each(['clientSecret', 'clientId'])('is refused with a wrong %s', async (part) => {
    const refused = tests.client({ ...(await REGISTERED[kind]()), [part]: WRONG });
    await expect(refused).rejects.toMatchObject({ actor: 'settings', message: expect.not.stringContaining(WRONG) });
  });
});

test('a client is refused without an authorization server', async () => {
  const values = { kind: 'clinic', authUrl: radicale().url, clientId: 'c', clientSecret: 's' } as const;
  await expect(tests.client(values)).rejects.toMatchObject({ name: 'MirrorError' });
  await expect(tests.client({ ...values, authUrl: 'http://127.0.0.1:1' })).rejects.toMatchObject({ actor: 'remote' });
});

test('a CalDAV connection is accepted only with its password', async () => {
  const [user] = radicale().users;
  const values = { server: radicale().url, username: user?.name ?? '', password: user?.password ?? '' };
  await expect(tests.caldav(values)).resolves.toBeUndefined();
  await expect(tests.caldav({ ...values, password: WRONG })).rejects.toMatchObject({ code: 'password-refused' });
  const plain = tests.caldav({ ...values, server: 'http://dav.example' });
  await expect(plain).rejects.toMatchObject({ actor: 'settings', code: 'value-unusable' });
});

test('Redis is accepted with the URL of the settings', async () => {
  await expect(tests.redis(redis.url)).resolves.toBeUndefined();
  await expect(tests.redis('redis://redis.example:6379')).rejects.toMatchObject({ code: 'value-unusable' });
  // The first refused connection is the answer: no waiting for a Redis that may come.
  await expect(tests.redis('redis://127.0.0.1:1')).rejects.toMatchObject({ code: 'redis-unreachable' });
});
