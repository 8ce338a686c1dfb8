import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { freePort } from '../../tools/free-port.ts';
import { useRedis } from '../support/redis.ts';
import { EXACT, startSmallWorld } from './support/small-world.ts';

const redis = useRedis();

test('for a clinic that accepts only one port, a sign-in by browser returns to the port in the settings', async () => {
  const port = await freePort();
  const redirectUris = [`http://127.0.0.1:${port}/callback`];
  const registered = { clientId: 'exact', clientSecret: 'exact-secret', redirectUris, exactPorts: true };
  const world = await startSmallWorld({ redisUrl: redis.url, clinic: { clients: [registered] } });
  onTestFinished(() => world.close());
  const file = join(world.configDir, 'clinic-mirror.yaml');
  const settings = parse(await readFile(file, 'utf8')) as { http?: object };
  await writeFile(file, stringify({ ...settings, http: { ...settings.http, loginPort: port } }));
  await world.logIn({ connections: ['clinic'] });
  expect((await world.cli('status', 'clinic-1')).out).toMatch(/connection clinic \(clinic\): connected/);
});

test('status and cycle show a permission that a user did not grant for the clinic', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url });
  onTestFinished(() => world.close());
  await world.logIn({ connections: ['clinic'], clinicScopes: ['openid', 'offline_access'] });
  await world.logIn({ connections: ['doctor-1'] });

  const { run } = await world.cycle();

  expect(run.error).toMatchObject({ actor: 'authorization' });
  expect(`${run.error?.message} ${run.error?.remedy}`).toContain('svc.agenda');
  expect((await world.cli('status')).out).toMatch(/connection clinic .*missing scopes:\s+svc\.agenda/);
  await world.logIn({ connections: ['clinic'] });
  await world.cycle();
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT)]);
});

test('a permission that a user did not grant for Google is shown, and nothing is written', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url });
  onTestFinished(() => world.close());
  await world.logIn({ connections: ['clinic'] });
  await world.logIn({ connections: ['doctor-1'], googleScopes: ['calendar.app.created'] });

  const { targets } = await world.cycle();

  expect(targets[0]).toMatchObject({ reason: 'error', failure: { actor: 'authorization' } });
  expect((await world.cli('status')).out).toMatch(/connection doctor-1 .*missing scopes:\s+\S*calendarlist\.readonly/);
  await world.logIn({ connections: ['doctor-1'] });
  await world.cycle();
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT)]);
});

test('a Google connection that no target uses is not started, and the message shows the first step; it can be logged out', async () => {
  const world = await startSmallWorld({ redisUrl: redis.url });
  onTestFinished(() => world.close());
  const file = join(world.configDir, 'tenants', 'clinic-1.yaml');
  const content = parse(await readFile(file, 'utf8')) as { connections: object };
  const spare = { kind: 'google', client: 'main' };
  await writeFile(file, stringify({ ...content, connections: { ...content.connections, spare } }));

  for (const way of [[], ['--link'], ['--device']]) {
    const { code, err } = await world.cli('login', 'clinic-1', 'spare', ...way);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('no target of tenant "clinic-1" uses the connection "spare"'),
    ]);
    expect(err).toContain('login-not-used');
  }
  expect((await world.cli('logout', 'clinic-1', 'spare')).code).toBe(0);
  expect(world.google.counts.tokenRequests).toBe(0);
});
