import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../demo/daemon.ts';
import type { ProxiedAnswer } from '../../sandbox/kit/fault-proxy.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { dumpRedis } from './support/dump-redis.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { expectExact, useSmallWorld } from './support/use-small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

/** What the clinic tells of every patient; none of it may be met anywhere else. */
const PATIENT = {
  firstName: 'Canarinella',
  lastName: 'Zwxyquist',
  phone: '+39 345 9876501',
  email: 'canarinella@zwxyquist.example',
};
const NOTES = 'allergica-alla-penicillina-zq';
const TRACES = [...Object.values(PATIENT), NOTES, '9876501', 'zwxyquist'];

test('patients and secrets are in no log line, metric, key or value, address or payload', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    target: { fields: ['location', 'agenda', 'status'] },
    settings: { log: { level: 'debug' } },
  });
  const told = plantPatients(world);
  world.clinic.recording.record(true);
  world.google.recording.record(true);
  world.graph.recording.record(true);
  const places = new Map<string, string>();
  const daemon = startDaemon(world);
  onTestFinished(() => daemon.kill());
  const log = () => readFile(join(world.dir, 'daemon.log'), 'utf8');
  await waitFor(async () => (await world.compareAll()).every(({ missing, records }) => records > 0 && missing === 0), {
    what: 'the first sync',
    intervalMs: 100,
  });
  // Waiting content and errors with names in their bodies, from the clinic and from a target.
  for (const { proxy } of world.targets) {
    proxy.add({ method: /POST|PUT/, times: 1_000, fault: { kind: 'answer', answer: refusal(503) } });
  }
  const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
  for (const agendaId of agendaIds)
    for (let count = 0; count < 3; count += 1) world.clinic.book(clinicId, { agendaId });
  const { queues } = world.open();
  const daemonSays = (message: string) =>
    waitFor(
      async () => {
        await queues.pullNow('clinic-1');
        return (await log()).includes(message);
      },
      { what: message, intervalMs: 300 },
    );
  await daemonSays('a target rests');
  world.clinicProxy.clear();
  world.clinicProxy.add({ times: 1_000, fault: { kind: 'answer', answer: refusal(500) } });
  await daemonSays('a cycle ended early');
  expect(told.patients).toBeGreaterThan(20);

  places.set('state', [...(await dumpRedis(redis.connect()))].flat().join('\n'));
  const runs = (await log()).split('\n').find((line) => line.includes('"operatorPort"')) ?? '{}';
  const { operatorPort } = JSON.parse(runs) as { operatorPort: number };
  places.set('metrics', await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text());
  const { out, err } = await world.cli('status', '--json');
  places.set('status', out + err);
  places.set('explain', (await world.cli('explain', 'clinic-1', 'apt0000001')).out);
  await daemon.stop();
  places.set('log', await log());
  const clinicRequests = world.clinic.recording.recorded();
  const atVendors = [...world.google.recording.recorded(), ...world.graph.recording.recorded()];
  const toTargets = world.targets.flatMap(({ proxy }) => proxy.requests);
  places.set('addresses', [...clinicRequests, ...atVendors, ...toTargets].map(({ url }) => url).join('\n'));
  places.set('payloads', toTargets.map(({ body }) => body).join('\n'));

  const secrets = secretsOf(world, [...clinicRequests, ...atVendors, ...toTargets]);
  expect(secrets.length).toBeGreaterThanOrEqual(12);
  for (const [place, text] of places) {
    expect(text.length, place).toBeGreaterThan(20);
    expect(
      [...TRACES, ...secrets].filter((trace) => text.toLowerCase().includes(trace.toLowerCase())),
      place,
    ).toEqual([]);
  }
});

test('a title that names the patient does so in the target and nowhere else', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    target: { title: 'full', titleReason: 'the doctors asked for it' },
  });
  plantPatients(world);
  await world.cycle();
  await expectExact(world);
  for (const { proxy, family } of world.targets) {
    expect(proxy.requests.map(({ body }) => body).join('\n'), family).toContain(PATIENT.lastName);
    proxy.add({ method: /POST|PUT/, times: 100, fault: { kind: 'answer', answer: refusal(503) } });
  }
  const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
  for (const agendaId of agendaIds) world.clinic.book(clinicId, { agendaId });
  await world.cycle();

  const state = [...(await dumpRedis(redis.connect()))].flat().join('\n');
  expect(state).toContain('outbox');
  expect(TRACES.filter((trace) => state.includes(trace))).toEqual([]);
});

/** Makes every appointment's patient the one of this test, in the clinic's answers. */
function plantPatients({ clinicProxy }: SmallWorld): { patients: number } {
  const told = { patients: 0 };
  const plant = (answer: ProxiedAnswer): ProxiedAnswer => {
    const body = JSON.parse(answer.body.toString()) as { data?: { patientId?: string | null; patient?: object }[] };
    for (const row of body.data ?? []) {
      if (typeof row.patientId !== 'string') continue;
      told.patients += 1;
      Object.assign(row, { patient: { ...row.patient, id: row.patientId, ...PATIENT }, notes: NOTES });
    }
    return { ...answer, body: JSON.stringify(body) };
  };
  clinicProxy.add({ url: /\/appointments\?/, times: 10_000, fault: { kind: 'rewrite', answer: plant } });
  return told;
}

function refusal(status: number): ProxiedAnswer {
  const body = JSON.stringify({
    error: 'server_error',
    message: `no luck with ${PATIENT.firstName}`,
    patient: PATIENT,
  });
  return { status, headers: { 'content-type': 'application/json', 'retry-after': '600' }, body };
}

interface Sent {
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Passwords, keys and every token that travelled. */
function secretsOf({ env, tenants }: SmallWorld, requests: readonly Sent[]): string[] {
  const secrets = new Set(tenants.map(({ user }) => user.password));
  for (const [name, value] of Object.entries(env)) if (name !== 'REDIS_URL') secrets.add(value);
  for (const { headers, body } of requests) {
    const token = /^(?:Bearer|Basic) (\S+)$/.exec(String(headers.authorization ?? ''))?.[1];
    if (token !== undefined) secrets.add(token);
    for (const [, value] of body.matchAll(/(?:refresh_token|code|code_verifier|client_secret)=([^&\s]{8,})/g)) {
      if (value !== undefined) secrets.add(decodeURIComponent(value));
    }
  }
  return [...secrets];
}
