import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../demo/daemon.ts';
import type { ProxiedAnswer } from '../../sandbox/kit/fault-proxy.ts';
import { expectNone } from '../canaries/expect-none.ts';
import { filesBelow } from '../canaries/scan.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { dumpRedis } from './support/dump-redis.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import { expectExact, type SmallWorld, startSmallWorld, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

/** Numbered patient data from the clinic; none of it may appear elsewhere. */
const patientOf = (number: number) => ({
  firstName: `Canarinella${number}`,
  lastName: `Zwxyquist${number}`,
  phone: `+39 345 98765${String(number).padStart(2, '0')}`,
  email: `canarinella${number}@zwxyquist.example`,
});
const PATIENT = patientOf(7);
const NOTES = 'allergica-alla-penicillina-zq';
/** Parts that all patients share. */
const TRACES = ['Canarinella', 'Zwxyquist', '345 98765', '34598765', NOTES];
/** They are planned; few are due while the test runs, and what is due goes nowhere. */
const REMINDERS = {
  channels: {
    hook: { kind: 'webhook', settings: { url: 'https://hook.example', secrets: [{ env: 'TENANT_CLINIC_1__HOOK' }] } },
  },
  rules: { soon: { before: 'PT1H', channels: ['hook'] } },
};

test('patients and secrets are met in no place that the product writes to, but in their targets', async () => {
  const data = await mkdtemp(join(tmpdir(), 'clinic-mirror-canaries-'));
  onTestFinished(() => rm(data, { recursive: true }));
  const collector = await startOtlpReceiver();
  onTestFinished(() => collector.close());
  const telemetry = { endpoint: collector.url, allowPrivateAddresses: true, tellOthers: true };
  const world = await startSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    appointments: 400,
    target: { fields: ['location', 'agenda', 'status'] },
    reminders: REMINDERS,
    settings: {
      log: { level: 'debug' },
      http: { port: 0 },
      dataDirectory: data,
      approvals: { restore: true },
      telemetry,
    },
  });
  onTestFinished(() => world.close());
  world.env.TENANT_CLINIC_1__HOOK = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  await world.logIn();
  const told = plantPatients(world);
  world.clinic.recording.record(true);
  world.google.recording.record(true);
  world.graph.recording.record(true);
  const daemon = startDaemon(world);
  onTestFinished(() => daemon.kill());
  const log = () => readFile(join(world.dir, 'daemon.log'), 'utf8');
  await waitFor(async () => (await world.compareAll()).every(({ missing, records }) => records > 0 && missing === 0), {
    what: 'the first sync',
    intervalMs: 100,
  });
  await spoil(world, log);
  expect(told.patients.size).toBeGreaterThan(50);

  const places = new Map<string, string>();
  const stored = await dumpRedis(redis.connect());
  places.set('Redis: names of keys', [...stored.keys()].join('\n'));
  places.set('Redis: values', [...stored.values()].join('\n'));
  const runs = (await log()).split('\n').find((line) => line.includes('"operatorPort"')) ?? '{}';
  const { operatorPort, publicPort } = JSON.parse(runs) as { operatorPort: number; publicPort: number };
  const page = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  places.set('metrics', await page(operatorPort, '/metrics'));
  const probes = ['/healthz', '/readyz'].map((path) => page(operatorPort, path));
  const paths = ['/oauth/login/none', '/oauth/callback?state=none', `/r/${'x'.repeat(22)}`];
  const pages = paths.map((path) => page(publicPort, path));
  places.set('pages', (await Promise.all([...probes, ...pages])).join('\n'));
  await askEverything(world, [...told.patients][0] ?? '', places);
  await daemon.stop();
  places.set('log, at debug', await log());
  expectOneStory(collector);
  places.set('traces and log lines to a collector', collector.text());
  places.set('Redis: append-only file', await filesBelow(redis.dir));
  places.set('audit log', await filesBelow(join(data, 'audit-log')));
  places.set('data directory', await filesBelow(data));
  const clinicRequests = world.clinic.recording.recorded();
  const atVendors = [...world.google.recording.recorded(), ...world.graph.recording.recorded()];
  const toTargets = world.targets.flatMap(({ proxy }) => proxy.requests);
  places.set('URLs of requests', [...clinicRequests, ...atVendors, ...toTargets].map(({ url }) => url).join('\n'));
  places.set('bodies to calendars', toTargets.map(({ body }) => body).join('\n'));

  const secrets = secretsOf(world, [...clinicRequests, ...atVendors, ...toTargets]);
  expect(secrets.length).toBeGreaterThanOrEqual(12);
  expectNone('calendars', places, { patients: TRACES, secrets });
  // Nor the clinic's own id of a patient, where people look for years.
  for (const id of told.patients) expect(places.get('audit log')).not.toContain(id);
});

/** A cycle, the lane jobs that it started and their requests to vendors are one trace; log lines name it. */
function expectOneStory({ spans, lines }: OtlpReceiver): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const above = ({ parentSpanId }: ReceivedSpan) => byId.get(parentSpanId)?.name;
  const requestOf = ({ spanId }: ReceivedSpan) =>
    spans.find(({ name, parentSpanId }) => name.startsWith('google.') && parentSpanId === spanId);
  // One of Google's calendars that a cycle woke: on a busy host another lane may begin by its own due time, in a trace of its own.
  const turns = spans.filter(
    (span) =>
      span.name === 'lane turn' &&
      Number(span.attributes['clinic_mirror.items.created']) > 0 &&
      requestOf(span) !== undefined,
  );
  const isOfCycle = ({ parentSpanId }: ReceivedSpan) => {
    const job = byId.get(parentSpanId);
    return job !== undefined && above(job) === 'cycle commit';
  };
  const turn = turns.find(isOfCycle) ?? turns[0];
  const request = turn && requestOf(turn);
  const job = byId.get(turn?.parentSpanId ?? '');
  expect([job?.name, job && above(job), request?.traceId]).toEqual(['job push', 'cycle commit', turn?.traceId]);
  const cycle = spans.find(({ name, traceId }) => name === 'cycle' && traceId === turn?.traceId);
  expect(cycle?.attributes).toMatchObject({
    'clinic_mirror.tenant': 'clinic-1',
    'clinic_mirror.changes': expect.any(Number),
  });
  expect(cycle && above(cycle)).toBe('job pull');
  expect(lines.some(({ traceId, body }) => traceId === turn?.traceId && body === 'daemon wrote to a target')).toBe(
    true,
  );
}

/** Has content wait, and errors come with names in their bodies, from the clinic and from targets. */
async function spoil(world: SmallWorld, log: () => Promise<string>): Promise<void> {
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
  await daemonSays('target backs off');
  world.clinicProxy.clear();
  world.clinicProxy.add({ times: 1_000, fault: { kind: 'answer', answer: refusal(500) } });
  await daemonSays('cycle ended early');
}

/** Output and error messages of commands, while the clinic's failures contain patient data. */
async function askEverything(world: SmallWorld, patientId: string, places: Map<string, string>): Promise<void> {
  const asked = [
    ...[['status', '--json'], ['status'], ['explain', 'clinic-1', 'apt0000001'], ['holds', 'list'], ['runs']],
    ...[
      ['reminders', 'upcoming', 'clinic-1'],
      ['audit-log', 'show'],
      ['audit-log', 'export'],
      ['audit-log', 'verify'],
    ],
    ['credentials', 'backup', 'clinic-1'],
  ];
  const failing = [
    ['forget', 'clinic-1', patientId, '--yes', '--reason', 'INC-7', '--as', 'Anna'],
    ...[
      ['sync', 'clinic-1'],
      ['plan', 'clinic-1'],
      ['health', 'clinic-1'],
      ['holds', 'approve', 'clinic-1', 'none'],
    ],
    ...[
      ['undo', 'none'],
      ['login', 'clinic-1', 'none'],
    ],
  ];
  const errors: string[] = [];
  for (const command of failing) {
    const { code, out, err } = await world.cli(...command);
    expect(code, command.join(' ')).not.toBe(0);
    errors.push(out, err);
  }
  const answers: string[] = [];
  for (const command of asked) {
    const { code, out, err } = await world.cli(...command);
    expect([code, err], command.join(' ')).toEqual([0, '']);
    answers.push(out);
  }
  places.set('answers of commands', answers.join('\n'));
  places.set('errors of commands', errors.join('\n'));
}

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
    expect(proxy.requests.map(({ body }) => body).join('\n'), family).toContain('Zwxyquist');
    proxy.add({ method: /POST|PUT/, times: 100, fault: { kind: 'answer', answer: refusal(503) } });
  }
  const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
  for (const agendaId of agendaIds) world.clinic.book(clinicId, { agendaId });
  await world.cycle();

  const state = [...(await dumpRedis(redis.connect()))].flat().join('\n');
  expect(state).toContain('outbox');
  expect(TRACES.filter((trace) => state.includes(trace))).toEqual([]);
});

/** Gives every appointment's patient names of this test, in the clinic's answers. */
function plantPatients({ clinicProxy }: SmallWorld): { patients: Set<string> } {
  const told = { patients: new Set<string>() };
  const plant = (answer: ProxiedAnswer): ProxiedAnswer => {
    const body = JSON.parse(answer.body.toString()) as { data?: { patientId?: string | null; patient?: object }[] };
    for (const row of body.data ?? []) {
      if (typeof row.patientId !== 'string') continue;
      const { patientId: id } = row;
      told.patients.add(id);
      const number = [...told.patients].indexOf(id);
      Object.assign(row, { patient: { ...row.patient, id, ...patientOf(number) }, notes: NOTES });
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
  for (const [name, value] of Object.entries(env))
    if (!['REDIS_URL', 'NODE_OPTIONS'].includes(name)) secrets.add(value);
  for (const { headers, body } of requests) {
    const token = /^(?:Bearer|Basic) (\S+)$/.exec(String(headers.authorization ?? ''))?.[1];
    if (token !== undefined) secrets.add(token);
    for (const [, value] of body.matchAll(/(?:refresh_token|code|code_verifier|client_secret)=([^&\s]{8,})/g)) {
      if (value !== undefined) secrets.add(decodeURIComponent(value));
    }
  }
  return [...secrets];
}
