import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { createLogger } from '../../../src/core/log/create-logger.ts';
import { type Logger, silentLogger, spanned } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { type Handed, HandOver, openTelemetry, type Telemetry } from '../../../src/core/telemetry/telemetry.ts';
import { neverNeedless } from '../../../src/jobs/job-kinds.ts';
import { render, textOfIssue } from '../../../src/messages/message.ts';
import { createAuditLog } from '../../../src/operator/control/audit-log.ts';
import { addAccess } from '../../../src/operator/http-server/access/access.ts';
import { openApp } from '../../../src/operator/http-server/app.ts';
import { secretSchemas } from '../../../src/settings/secret-reference.ts';
import { telemetrySection } from '../../../src/settings/telemetry-schema.ts';
import { openWorkQueues } from '../../../src/tenant/work-queues.ts';
import { startSomeWorkers } from '../../jobs/some-workers.ts';
import { useFakeTime } from '../../support/fake-time.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const KEY = 'key-of-the-collector-5521';
const SIGNAL = new AbortController().signal;

interface Opened {
  receiver: OtlpReceiver;
  telemetry: Telemetry;
  log: Logger;
  lines: string[];
}

/** A collector, and a process that sends it what is chosen. */
async function open(choice: object = {}): Promise<Opened> {
  const receiver = await startOtlpReceiver();
  onTestFinished(() => receiver.close());
  const schema = telemetrySection(secretSchemas({ env: { COLLECTOR_KEY: KEY }, dir: '.' }));
  const settings = schema.parse({
    ...{
      endpoint: `${receiver.url}/`,
      allowPrivateAddresses: true,
      headers: { 'x-api-key': { env: 'COLLECTOR_KEY' } },
    },
    ...choice,
  });
  const lines: string[] = [];
  const http = createHttpClient({ userAgent: 'test', clock: Date.now });
  const telemetry: Telemetry = openTelemetry(settings!, { http, version: '1.2.3', log: () => log });
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLogger({ level: 'info', destination, mirror: telemetry.lines });
  return { receiver, telemetry, log, lines };
}

test('each record of the audit log reaches the collector as it is written, with its MAC and without an e-mail address', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'audit-lines-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const { receiver, telemetry, log } = await open();
  const auditLog = createAuditLog({
    ...{ redis: redis.connect(), directory, log, clock: () => Date.UTC(2026, 0, 5), retentionMonths: () => 60 },
    identityKey: Buffer.alloc(32, 7),
  });
  const id = 'account:https://id.test#248289761001';
  const who = { kind: 'account', name: 'olga@clinic.example', id, claimed: null } as const;
  const what = { patient: 'Zk3v8yq0Xw1uB5rT2mN7pA', erased: 14 };
  const draft = { verb: 'forget', tenant: 'rossi', who, what, why: 'INC-4711', code: null, act: null } as const;
  const { chain, sequence } = await auditLog.append({ ...draft, outcome: 'begun' });
  await telemetry.close(1_000);
  const { chains } = await auditLog.verify(new Set());
  const line = receiver.lines.find(({ attributes }) => attributes.verb === 'forget');
  expect(line).toMatchObject({
    body: 'audit log record',
    attributes: {
      chain,
      sequence,
      outcome: 'begun',
      tenant: 'rossi',
      why: 'INC-4711',
      who: { id },
      what: { patient: '[redacted]', erased: 14 },
    },
  });
  expect(line?.attributes.mac).toBe(chains[0]?.mac);
  expect(receiver.text()).not.toContain('olga@');
});

test.each(['http/protobuf', 'http/json'] as const)(
  'spans and log lines reach a collector over %s, and belong together',
  async (protocol) => {
    const { receiver, telemetry, log, lines } = await open({
      protocol,
      resource: { 'deployment.environment.name': 'trial' },
    });
    const { spans } = telemetry;
    const failing = spanned(
      spans,
      'cycle',
      { facts: { 'clinic_mirror.tenant': 'rossi', patient: 'Zwxyquist' } },
      async (span) => {
        await spanned(spans, 'cycle read', {}, async () => {
          log.child({ tenant: 'rossi', name: 'Zwxyquist' }).warn({ count: 3, to: 'a@zwxyquist.example' }, 'a line');
        });
        span.addFacts({ 'clinic_mirror.changes': 4 });
        throw new MirrorError('Zwxyquist', { actor: 'remote', code: 'timeout', retry: 'later' });
      },
    );
    await expect(failing).rejects.toThrow();
    await telemetry.close(1_000);
    const [read, cycle] = receiver.spans;
    expect(cycle).toMatchObject({
      ...{ name: 'cycle', parentSpanId: '', status: 2, kind: 1 },
      attributes: { 'clinic_mirror.tenant': 'rossi', 'clinic_mirror.changes': 4, 'error.type': 'timeout' },
      resource: { 'service.name': 'clinic-mirror', 'service.version': '1.2.3', 'deployment.environment.name': 'trial' },
    });
    expect(read).toMatchObject({ name: 'cycle read', traceId: cycle?.traceId, parentSpanId: cycle?.spanId, status: 0 });
    const ids = { traceId: read?.traceId, spanId: read?.spanId };
    expect(receiver.lines).toMatchObject([
      {
        ...ids,
        severity: 13,
        body: 'a line',
        attributes: { tenant: 'rossi', count: 3, to: '[redacted]', name: '[redacted]' },
      },
    ]);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      tenant: 'rossi',
      trace_id: read?.traceId,
      span_id: read?.spanId,
    });
    expect(receiver.text()).not.toMatch(/zwxyquist/i);
    expect(receiver.requests.map(({ headers }) => headers['x-api-key'])).toEqual([KEY, KEY]);
    expect(telemetry.counts).toEqual({ traces: { sent: 2, dropped: 0 }, logs: { sent: 1, dropped: 0 } });
  },
);

test('of traces the configured share is sent, and of what is switched off nothing', async () => {
  const none = await open({ sampledShare: 0 });
  const off = await open({ traces: false, logs: false });
  for (const { telemetry, log } of [none, off]) {
    await spanned(telemetry.spans, 'cycle', {}, async () => log.info({}, 'a line'));
    await telemetry.close(1_000);
  }
  expect([none.receiver.spans.length, none.receiver.lines.length]).toEqual([0, 1]);
  expect(off.receiver.requests).toEqual([]);
});

test('a job belongs to the trace of its direct request, in any process, and a later job starts a new trace', async () => {
  const { receiver, telemetry } = await open();
  const { spans } = telemetry;
  const queues = openWorkQueues(redis.url, neverNeedless, undefined, spans);
  onTestFinished(() => queues.close());
  const done: string[] = [];
  const both = Promise.withResolvers<void>();
  const workers = startSomeWorkers(
    redis.url,
    {
      async push({ target }) {
        done.push(target);
        if (done.length === 2) both.resolve();
        if (target === 'at-once') await queues.wake('rossi', 'later', 1);
      },
    },
    { spans },
  );
  onTestFinished(() => workers.close(1_000));
  await spanned(spans, 'cycle', {}, () => queues.wake('rossi', 'at-once', 0));
  await both.promise;
  await workers.close(1_000);
  await telemetry.close(1_000);
  const of = (target: string) => receiver.spans.find(({ attributes }) => attributes['clinic_mirror.target'] === target);
  const cycle = receiver.spans.find(({ name }) => name === 'cycle');
  expect(of('at-once')).toMatchObject({
    name: 'job push',
    kind: 5,
    traceId: cycle?.traceId,
    parentSpanId: cycle?.spanId,
  });
  expect(of('later')).toMatchObject({ name: 'job push', parentSpanId: '' });
  expect(of('later')?.traceId).not.toBe(cycle?.traceId);
});

test('an API call continues the trace of its caller, even if its body arrives late, and probes are not traced', async () => {
  const { receiver, telemetry } = await open();
  const { spans } = telemetry;
  const app = await openApp({ log: silentLogger, spans });
  const seen: (string | null)[] = [];
  const begun = Promise.withResolvers<void>();
  app.addHook('onRequest', async ({ method }) => {
    if (method === 'POST') begun.resolve();
  });
  app.get('/readyz', async () => ({}));
  app.post<{ Params: { tenant: string } }>('/api/:tenant', { config: { level: 'viewer' } }, async () => {
    await new Promise(setImmediate);
    seen.push(spans.traceparent());
    return {};
  });
  const port = new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port;
  onTestFinished(() => app.close());
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { 'content-type': 'application/json', traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  await fetch(`http://127.0.0.1:${port}/readyz`, { headers });
  const late = request({ port, path: '/api/rossi?q=Zwxyquist', method: 'POST', headers });
  const answered = once(late, 'response');
  late.flushHeaders();
  await begun.promise;
  late.end('{"a":1}');
  ((await answered)[0] as IncomingMessage).resume();
  await app.close();
  await telemetry.close(1_000);
  expect(receiver.spans).toMatchObject([
    {
      ...{ name: 'POST /api/:tenant', kind: 2, traceId, parentSpanId: '00f067aa0ba902b7' },
      attributes: { 'http.route': '/api/:tenant', 'http.response.status_code': 200 },
    },
  ]);
  expect(seen).toEqual([`00-${traceId}-${receiver.spans[0]?.spanId}-01`]);
  expect(receiver.text()).not.toContain('Zwxyquist');
});

test('an unauthorised caller creates no span, with any trace headers', async () => {
  const { receiver, telemetry } = await open();
  const app = await openApp({ log: silentLogger, spans: telemetry.spans });
  const visitor = { id: 'token:a', name: 'a', csrf: 'c', level: 'owner', tenants: null } as const;
  const visitorOf = async (caller: FastifyRequest) => (caller.headers.authorization === undefined ? null : visitor);
  addAccess(app, {
    visitorOf,
    stillVisitorOf: visitorOf,
    heldBackMs: async () => null,
    publicUrl: () => 'http://localhost:80',
  });
  app.get('/api/status', { config: { level: 'viewer' } }, async () => ({}));
  onTestFinished(() => app.close());
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const stranger = await app.inject({ url: '/api/status', headers: { traceparent } });
  const known = await app.inject({ url: '/api/status', headers: { traceparent, authorization: 'Bearer a' } });
  await telemetry.close(1_000);
  expect([stranger.statusCode, known.statusCode]).toEqual([401, 200]);
  expect(receiver.spans.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([200]);
});

test('a request to a vendor is a span with its host and status, and the vendor receives the trace only if configured', async () => {
  const { receiver, telemetry } = await open();
  const { spans } = telemetry;
  const vendor = await open();
  vendor.receiver.answer = (response) => response.writeHead(503).end();
  for (const sendsTrace of [false, true]) {
    const http = createHttpClient({ userAgent: 'test', clock: Date.now, spans, sendsTrace });
    const url = `${vendor.receiver.url}/patients/Zwxyquist?phone=345`;
    await http.send({ label: 'google.events.batch', method: 'POST', url, body: 'Zwxyquist', signal: SIGNAL });
  }
  await telemetry.close(1_000);
  const [first, second] = vendor.receiver.requests;
  const port = Number(new URL(vendor.receiver.url).port);
  expect(receiver.spans.map(({ name, kind, attributes }) => ({ name, kind, attributes }))).toEqual(
    Array.from({ length: 2 }, () => ({
      ...{ name: 'google.events.batch', kind: 3 },
      attributes: {
        ...{ 'http.request.method': 'POST', 'server.address': '127.0.0.1', 'server.port': port },
        'http.response.status_code': 503,
      },
    })),
  );
  expect(first?.headers.traceparent).toBeUndefined();
  expect(second?.headers.traceparent).toBe(`00-${receiver.spans[1]?.traceId}-${receiver.spans[1]?.spanId}-01`);
});

test.each<[string, (response: ServerResponse) => unknown]>([
  ['answers 5xx', (response) => response.writeHead(503).end()],
  ['breaks off', (response) => response.destroy()],
  ['never answers', () => {}],
])('a collector that %s delays neither work nor shutdown', async (_, answer) => {
  const { receiver, telemetry, lines } = await open();
  const asked = Promise.withResolvers<void>();
  receiver.answer = (response) => {
    asked.resolve();
    answer(response);
  };
  const { traces } = telemetry.counts;
  for (let count = 0; count < 3_000; count += 1) telemetry.spans.begin('cycle').end();
  // The queue is full: a batch is in progress, and the spans did not wait for it.
  expect(traces).toEqual({ sent: 0, dropped: 3_000 - 2_048 });
  await asked.promise;
  await telemetry.close(50);
  expect(traces).toEqual({ sent: 0, dropped: 3_000 });
  expect(lines.length).toBeLessThanOrEqual(1);
});

test('records refused by the collector are counted, and redirects are not followed', async () => {
  const { receiver, telemetry } = await open({ protocol: 'http/json', logs: false });
  const elsewhere = await open();
  const answers = [
    (response: ServerResponse) => response.end('{"partialSuccess":{"rejectedSpans":"2"}}'),
    (response: ServerResponse) => response.writeHead(307, { location: `${elsewhere.receiver.url}/v1/traces` }).end(),
  ];
  receiver.answer = (response) => answers.shift()?.(response);
  for (let count = 0; count < 256; count += 1) telemetry.spans.begin('cycle').end();
  await telemetry.close(1_000);
  expect(telemetry.counts.traces).toEqual({ sent: 254, dropped: 2 });
  expect(elsewhere.receiver.requests).toEqual([]);
});

test('a collector outside this network is contacted only over https, and only at public IP addresses', async () => {
  const parse = (endpoint: string, more: object = {}) =>
    telemetrySection(secretSchemas({ env: {}, dir: '.' })).safeParse({ endpoint, ...more });
  const [issue] = parse('http://otel.example:4318').error?.issues ?? [];
  expect(render(textOfIssue(issue?.message ?? ''))).toContain('https');
  expect(parse('https://user:secret@otel.example').success).toBe(false);
  expect(parse('http://otel.monitoring.svc:4318', { allowPrivateAddresses: true }).success).toBe(true);
  const http = createHttpClient({ userAgent: 'test', clock: Date.now });
  const told = Promise.withResolvers<object>();
  const log = { ...silentLogger, warn: (data: object) => told.resolve(data) };
  const telemetry = openTelemetry(parse('https://127.0.0.1:9').data!, { http, version: '1', log: () => log });
  for (let count = 0; count < 256; count += 1) telemetry.spans.begin('cycle').end();
  expect(await told.promise).toMatchObject({ signal: 'traces', code: 'address-not-allowed' });
  await telemetry.close(1_000);
  expect(telemetry.counts.traces).toEqual({ sent: 0, dropped: 256 });
});

const TAKEN: Handed = { result: 'taken', refused: 0 };
const BUSY: Handed = { result: 'later', code: 'status-503', retryAfterMs: null };
const ROOM = 20;

const answer = fc.oneof(
  fc.constant(TAKEN),
  fc.constant<Handed>({ result: 'refused', code: 'status-400' }),
  fc.record({ result: fc.constant('later' as const), code: fc.constant('timeout'), retryAfterMs: fc.nat(200_000) }),
);
const step = fc.oneof(fc.record({ add: fc.nat(30) }), fc.record({ passMs: fc.nat(70_000) }), answer);

test('whatever a collector answers, all is sent in order, waits, or is counted as dropped, and no more waits than there is room', async () => {
  const time = useFakeTime();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const taken: number[] = [];
      let next: Handed = TAKEN;
      let [added, refused, under] = [0, 0, 0];
      const handOver = new HandOver<number>({
        ...{ room: ROOM, batch: 6, everyMs: 1_000, report() {} },
        async send(items) {
          under += 1;
          expect([under, items.length > 0, items.length <= 6]).toEqual([1, true, true]);
          await Promise.resolve();
          under -= 1;
          if (next.result === 'taken') taken.push(...items);
          if (next.result === 'refused') refused += items.length;
          return next;
        },
      });
      const { counts } = handOver;
      for (const given of steps) {
        if ('add' in given) for (let left = given.add; left > 0; left -= 1) handOver.add(added++);
        else if ('passMs' in given) await time.pass(given.passMs);
        else next = given;
        expect(added - counts.sent - counts.dropped).toBeLessThanOrEqual(ROOM);
      }
      next = TAKEN;
      // Longer than the longest rest.
      await time.pass(61_000);
      await handOver.close(1_000);
      expect(taken).toEqual([...taken].sort((one, other) => one - other));
      expect(counts.sent).toBe(taken.length);
      expect(counts.sent + counts.dropped).toBe(added);
      expect(counts.dropped).toBeGreaterThanOrEqual(refused);
    }),
    { numRuns: 60 },
  );
});

test('one message reports that a collector accepts nothing, and one that it accepts records again', async () => {
  const time = useFakeTime();
  const told: (string | null)[] = [];
  let next: Handed = BUSY;
  const handOver = new HandOver<number>({ send: async () => next, report: (code) => told.push(code), everyMs: 1_000 });
  for (const answered of [BUSY, BUSY, BUSY, TAKEN, TAKEN, BUSY]) {
    next = answered;
    handOver.add(1);
    await time.pass(61_000);
  }
  expect(told).toEqual(['status-503', null, 'status-503']);
});

test('waiting records are sent at shutdown, and an unresponsive collector delays it only by the grace time', async () => {
  const time = useFakeTime();
  const prompt = new HandOver<number>({ send: async () => TAKEN, report() {} });
  for (let count = 0; count < 600; count += 1) prompt.add(count);
  await prompt.close(1_000);
  expect(prompt.counts).toEqual({ sent: 600, dropped: 0 });

  const silent = new HandOver<number>({
    send: (_items, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ...BUSY, code: 'aborted' } as Handed))),
    report() {},
  });
  silent.add(1);
  let isClosed = false;
  const closing = silent.close(500).then(() => {
    isClosed = true;
  });
  await time.pass(499);
  expect(isClosed).toBe(false);
  await time.pass(1);
  await closing;
  expect(silent.counts).toEqual({ sent: 0, dropped: 1 });
});
