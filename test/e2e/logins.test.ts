// Tier: quick. The journey of a sign-in that is lost and repeated.
import { expect, test } from 'vitest';
import { createMetrics } from '../../src/operator/control/metrics.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { EXACT, type SmallWorld, useSmallWorld } from './support/small-world.ts';

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

function metricsOf(world: SmallWorld): Promise<string> {
  const { installation } = world.open();
  return createMetrics(() => installation).render();
}
