import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { createMetrics } from '../../src/control/metrics.ts';
import { freePort } from '../../tools/free-port.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { EXACT, type SmallWorld, startSmallWorld, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

test('tokens that end in the middle of a long sync are refreshed and nothing is lost', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, appointments: 220 });
  const target = world.targets[0] as SmallTarget;
  const refused = { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, body: '{}' };
  world.clinicProxy.add({ url: /appointments\?/, after: 1, fault: { kind: 'answer', answer: refused } });
  const expire = () => world.google.expireAccessTokens();
  target.proxy.add({
    url: /^\/batch/,
    after: 1,
    fault: {
      kind: 'rewrite',
      request(request) {
        expire();
        return request;
      },
    },
  });

  const { run } = await world.cycle();

  expect(run).toMatchObject({ error: null, snapshot: { completeness: 'complete' } });
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT)]);
  expect(world.google.counts.tokenRequests).toBe(2);
});

test('a revoked clinic connection stops its tenant with one message in all interfaces, until reconnected', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 2 });
  const [first, second] = world.tenants as [SmallTenant, SmallTenant];
  for (const { id } of world.tenants) await world.cycle(id);
  world.clinic.revokeAccess(first.user.username, world.clinic.clients[0]?.clientId ?? '');
  for (const { clinicId } of world.tenants) world.clinic.simulate(clinicId, { booked: 3 });

  expect((await world.cycle(first.id)).run.error).toMatchObject({ actor: 'authorization' });
  expect((await world.cycle(second.id)).run.error).toBeNull();

  expect((await world.cli('status', first.id)).out).toMatch(/connection clinic \(clinic\): needs-login/);
  expect((await world.cli('status', second.id)).out).toMatch(/connection clinic \(clinic\): connected/);
  const metrics = await metricsOf(world);
  expect(metrics).toContain('clinic_mirror_needs_login{tenant="clinic-1",connection="clinic"} 1');
  expect(metrics).toContain('clinic_mirror_needs_login{tenant="clinic-2",connection="clinic"} 0');
  expect(metrics).toContain('clinic_mirror_last_cycle_failed{tenant="clinic-1"} 1');

  await world.logIn({ tenant: first.id, connections: ['clinic'] });
  await world.cycle(first.id);
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT), expect.objectContaining(EXACT)]);
});

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

test('a revoked Google connection stops only its target; reconnecting resumes it at once', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, targets: ['google-calendar', 'google-calendar'] });
  const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
  const [stopped, going] = world.targets as [SmallTarget, SmallTarget];
  await world.cycle();
  world.google.revokeConsent(stopped.account);
  for (const agendaId of agendaIds) world.clinic.book(clinicId, { agendaId });

  const { targets } = await world.cycle();

  expect(targets.map(({ reason }) => reason)).toEqual(['error', null]);
  const { out } = await world.cli('status');
  expect(out).toMatch(new RegExp(`connection ${stopped.target} \\(google\\): needs-login`));
  expect(out).toMatch(new RegExp(`connection ${going.target} \\(google\\): connected`));
  const metrics = await metricsOf(world);
  expect(metrics).toContain(`clinic_mirror_needs_login{tenant="clinic-1",connection="${stopped.target}"} 1`);
  expect(metrics).toContain(`clinic_mirror_target_stopped{tenant="clinic-1",target="${stopped.target}"} 1`);

  await world.logIn({ connections: [stopped.target] });
  await world.cycle();
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT), expect.objectContaining(EXACT)]);
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

function metricsOf(world: SmallWorld): Promise<string> {
  const { installation } = world.open();
  return createMetrics(() => installation).render();
}
