import { expect, test } from 'vitest';
import { redisUnreachable } from '../../../src/core/model/errors.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import type { ConnectionStatus } from '../../../src/operator/control/status-schemas.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, twoCycles } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';
import { AWAY, openServerAway } from './server-away.ts';

const redis = useRedis();

/** Returns the samples of clinic-mirror's metrics by name and labels. */
function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith('clinic_mirror_'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

test('the figures describe the current state, and disappear with their subject', async () => {
  const clinic = createModelClinic();
  for (let index = 0; index < 5; index += 1) clinic.appointments.set(`${index}`, appointmentOf(`${index}`));
  const model = createModelTarget();
  model.fault = ({ recordId }) => (recordId === '3' ? 'refused' : null);
  const clock = { now: NOW };
  const tenant = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => clock.now });
  const google: ConnectionStatus = {
    connection: 'google',
    kind: 'google',
    state: 'needs-login',
    reason: 'login-ended',
    account: 'doctor@clinic.example (117)',
    sinceAt: NOW,
    accessExpiresAt: NOW + 60_000,
    refreshExpiresAt: null,
    nextTryAt: null,
    pause: null,
    isEndFixed: false,
    obtainedAt: NOW,
    usedAt: NOW,
    missingScopes: [],
  };
  const connections = [google];
  const metrics = createMetrics(() => openInstallation({ tenants: [tenant], connections }));
  clinic.unusable.add('4');
  await cycle(tenant);
  clock.now += 30_000;
  const target = '{tenant="studio-rossi",target="doctor"}';
  const failing = samplesOf(await metrics.render());
  expect(failing.get(`clinic_mirror_target_links${target}`)).toBe(3);
  expect(failing.get(`clinic_mirror_target_failed${target}`)).toBe(1);
  expect(failing.get(`clinic_mirror_target_lag_seconds${target}`)).toBe(30);
  expect(failing.get(`clinic_mirror_target_age_seconds${target}`)).toBeUndefined();
  expect(failing.get('clinic_mirror_target_outcomes{tenant="studio-rossi",target="doctor",effect="created"}')).toBe(3);
  expect(failing.get('clinic_mirror_needs_login{tenant="studio-rossi",connection="google"}')).toBe(1);
  expect(failing.get('clinic_mirror_token_expiry_seconds{tenant="studio-rossi",connection="google"}')).toBe(30);
  expect(failing.get('clinic_mirror_records_skipped{tenant="studio-rossi",code="bad-time"}')).toBe(1);

  clinic.unusable.clear();
  clinic.appointments.delete('3');
  model.fault = () => null;
  await twoCycles(tenant);
  connections.pop();
  clock.now += 60_000;
  const sound = samplesOf(await metrics.render());
  expect(sound.get(`clinic_mirror_target_failed${target}`)).toBe(0);
  expect(sound.get(`clinic_mirror_target_age_seconds${target}`)).toBe(60);
  expect(sound.get(`clinic_mirror_target_next_48h_age_seconds${target}`)).toBe(60);

  clock.now += 60_000;
  await tenant.targetStore.write('doctor', { soonAsOf: clock.now - 10_000 });
  const near = samplesOf(await metrics.render());
  expect(near.get(`clinic_mirror_target_age_seconds${target}`)).toBe(120);
  expect(near.get(`clinic_mirror_target_next_48h_age_seconds${target}`)).toBe(10);
  expect([...sound.keys()].filter((name) => /google|bad-time/.test(name))).toEqual([]);
});

test('a daemon with an outdated configuration reports this until restart', async () => {
  const clock = () => NOW;
  const start = (title: 'busy' | 'full') => {
    const targets = [{ model: createModelTarget(), configuration: { title } }];
    return openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets, clock, id: 'superseded' });
  };
  const toldBy = async (tenant: ReturnType<typeof start>) => {
    const samples = samplesOf(await createMetrics(() => openInstallation({ tenants: [tenant] })).render());
    return samples.get('clinic_mirror_configuration_superseded{tenant="superseded"}');
  };
  const daemon = start('full');
  await cycle(daemon);
  expect(await toldBy(daemon)).toBe(0);
  await cycle(start('busy'));
  expect(await toldBy(daemon)).toBe(1);
  expect(await toldBy(start('busy'))).toBe(0);
});

test('requests are counted by constant names and the class of the answer, also before composition', async () => {
  const metrics = createMetrics(() => null);
  metrics.observeHttp('google.events.batch', 200, 40);
  metrics.observeHttp('google.events.batch', 204, 40);
  metrics.observeHttp('google.events.batch', 0, 40);
  const samples = samplesOf(await metrics.render());
  expect(samples.get('clinic_mirror_http_requests_total{call="google.events.batch",status="2xx"}')).toBe(2);
  expect(samples.get('clinic_mirror_http_requests_total{call="google.events.batch",status="none"}')).toBe(1);
  expect(samples.get('clinic_mirror_http_request_seconds_count{call="google.events.batch"}')).toBe(3);
});

test('only counters have names that end in _total', async () => {
  const text = await createMetrics(() => null).render();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => ({ name, type }));
  expect(types.length).toBeGreaterThan(20);
  expect(types.filter(({ name, type }) => name.endsWith('_total') && type !== 'counter')).toEqual([]);
});

test('an unreachable Redis is reported instead of unknown figures', async () => {
  const view = () => Promise.reject(redisUnreachable(null));
  const metrics = createMetrics(() => ({ ...openInstallation({ tenants: [] }), stateCounter: { view } }));
  const samples = samplesOf(await metrics.render());
  expect(samples.get('clinic_mirror_problems{tenant="",health="action-required",code="redis-unreachable"}')).toBe(1);
  expect(samples.has('clinic_mirror_state_age_seconds')).toBe(false);
});

test('an unreachable server is reported by host, with its begin, the waiting work and the targets', async () => {
  const tenant = openTenant({
    redis: redis.connect(),
    clinic: createModelClinic(),
    targets: [{ model: createModelTarget() }],
    clock: () => NOW,
  });
  const installation = openInstallation({ tenants: [tenant] });
  const metrics = createMetrics(() => installation);
  const target = '{tenant="studio-rossi",target="doctor"}';
  await openServerAway(redis.connect(), installation, { sinceMs: 1_200_000 });
  const away = samplesOf(await metrics.render());
  expect(away.get(`clinic_mirror_server_outage_seconds{host="${AWAY}"}`)).toBe(1_200);
  expect(away.get(`clinic_mirror_server_outage_clinics{host="${AWAY}"}`)).toBe(1);
  expect(away.get('clinic_mirror_server_outage_alert_after_seconds')).toBe(900);
  expect(away.get(`clinic_mirror_target_server_outage${target}`)).toBe(1);
  expect(away.get('clinic_mirror_problems{tenant="",health="retrying",code="server-away"}')).toBe(1);
  await tenant.outages.end(AWAY);
  await tenant.targetStore.write('doctor', { outage: null, failure: null, pausedUntil: null });
  const back = samplesOf(await createMetrics(() => installation).render());
  expect([...back.keys()].filter((name) => name.includes(AWAY))).toEqual([]);
  expect(back.get(`clinic_mirror_target_server_outage${target}`)).toBe(0);
});

test('damaged state is counted by kind', async () => {
  const tenant = openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets: [], clock: () => NOW });
  const damaged = { counts: new Map([['holds', 2] as const]), list: async () => [] };
  const metrics = createMetrics(() => openInstallation({ tenants: [tenant], damaged }));
  for (let scrape = 0; scrape < 2; scrape += 1) {
    expect(samplesOf(await metrics.render()).get('clinic_mirror_state_damaged_total{kind="holds"}')).toBe(2);
  }
});
