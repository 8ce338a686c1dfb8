import { createServer } from 'node:http';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { acceptForms } from '../../../sandbox/kit/app.ts';
import type { Fault, FaultRule } from '../../../sandbox/kit/faults.ts';
import { SandboxKit } from '../../../sandbox/kit/kit.ts';
import { listen, listenNode, type RunningServer } from '../../../sandbox/kit/listen.ts';

interface Bench extends RunningServer {
  kit: SandboxKit;
  /** Bodies that the handler saw. */
  handled: string[];
}

const open: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

const ANSWER = JSON.stringify({ text: 'x'.repeat(100) });

async function fastifyBench(): Promise<Bench> {
  const kit = new SandboxKit({
    clientOf: (request) => request.headers['x-client']?.toString(),
    faultBody: (status) => ({ vendor: status }),
  });
  const handled: string[] = [];
  const app = fastify();
  acceptForms(app);
  kit.install(app);
  app.get('/things/:id', async () => JSON.parse(ANSWER));
  app.post('/things', async (request) => {
    handled.push(request.body instanceof URLSearchParams ? request.body.toString() : JSON.stringify(request.body));
    return JSON.parse(ANSWER);
  });
  app.get('/never', () => new Promise(() => {}));
  const server = await listen(app);
  open.push(server);
  return { ...server, kit, handled };
}

async function nodeBench(): Promise<Bench> {
  const kit = new SandboxKit({ faultBody: (status) => ({ vendor: status }) });
  const handled: string[] = [];
  const listener = kit.wrap((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      handled.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(ANSWER);
    });
  });
  const server = await listenNode(createServer(listener));
  open.push(server);
  return { ...server, kit, handled };
}

function post(bench: Bench): Promise<Response> {
  return fetch(`${bench.url}/things`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
  });
}

describe.each([
  ['fastify', fastifyBench],
  ['a plain node server', nodeBench],
])('wire faults on %s', (_name, start) => {
  async function withFault(fault: Fault): Promise<Bench> {
    const bench = await start();
    bench.kit.faults.add({ match: { method: 'POST' }, fault });
    return bench;
  }

  it('answers a status with its body and headers, without running the handler', async () => {
    const bench = await withFault({
      kind: 'status',
      status: 429,
      body: { slow: true },
      headers: { 'retry-after': '7' },
    });
    const answer = await post(bench);
    expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([429, '7', { slow: true }]);
    expect(bench.handled).toEqual([]);
  });

  it("answers a status without a body in the vendor's shape", async () => {
    const bench = await withFault({ kind: 'status', status: 503 });
    expect(await (await post(bench)).json()).toEqual({ vendor: 503 });
  });

  it('cuts the socket before the handler', async () => {
    const bench = await withFault({ kind: 'cut' });
    await expect(post(bench)).rejects.toThrow('fetch failed');
    expect(bench.handled).toEqual([]);
    expect(bench.kit.counts.requests({ status: 0 })).toBe(1);
  });

  it('loses the answer after the handler ran', async () => {
    const bench = await withFault({ kind: 'lost-answer' });
    await expect(post(bench)).rejects.toThrow('fetch failed');
    expect(bench.handled).toEqual(['{"a":1}']);
  });

  it('cuts the body in half', async () => {
    const bench = await withFault({ kind: 'cut-body' });
    const answer = await post(bench);
    expect(answer.status).toBe(200);
    const reader = answer.body!.getReader();
    const read: Uint8Array[] = [];
    await expect(
      (async () => {
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          read.push(part.value);
        }
      })(),
    ).rejects.toThrow();
    expect(ANSWER.startsWith(Buffer.concat(read).toString())).toBe(true);
    expect(bench.handled).toHaveLength(1);
  });

  it('shows a captive portal, or garbage', async () => {
    const portal = await post(await withFault({ kind: 'html' }));
    expect([portal.status, portal.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const garbage = await post(await withFault({ kind: 'garbage', body: '{"a":' }));
    expect([garbage.headers.get('content-type'), await garbage.text()]).toEqual(['application/json', '{"a":']);
  });

  it('delays by the latency', async () => {
    const bench = await withFault({ kind: 'latency', ms: 60 });
    const began = performance.now();
    await post(bench);
    expect(performance.now() - began).toBeGreaterThan(58);
  });

  it('records every request, answered by the handler or by a fault', async () => {
    const bench = await start();
    await post(bench);
    bench.kit.recording.record(true);
    await post(bench);
    bench.kit.faults.add({ fault: { kind: 'status', status: 500 } });
    await post(bench);
    expect(bench.kit.recording.recorded()).toMatchObject([
      { method: 'POST', url: '/things', body: '{"a":1}', headers: { 'content-type': 'application/json' } },
      { method: 'POST', url: '/things', body: '{"a":1}' },
    ]);
  });

  it('is ruled over HTTP by routes that are neither counted, recorded nor faulted', async () => {
    const bench = await start();
    bench.kit.recording.record(true);
    const faults = `${bench.url}/__sandbox/faults`;
    const rule: FaultRule = { id: 'all', fault: { kind: 'status', status: 500 } };
    const json = { 'content-type': 'application/json' };
    const added = await fetch(faults, { method: 'POST', headers: json, body: JSON.stringify(rule) });
    expect([added.status, await added.json()]).toEqual([201, { ids: ['all'] }]);
    const refused = await fetch(faults, { method: 'POST', headers: json, body: '{}' });
    expect(refused.status).toBe(400);
    expect((await post(bench)).status).toBe(500);
    const counts = await (await fetch(`${bench.url}/__sandbox/counts`)).json();
    expect(counts).toMatchObject({ total: 1, requests: [{ method: 'POST', route: '/things', status: 500, count: 1 }] });
    expect(await (await fetch(faults)).json()).toMatchObject({ rules: [{ id: 'all', applied: 1 }] });
    await fetch(`${faults}?id=all`, { method: 'DELETE' });
    expect((await post(bench)).status).toBe(200);
    const recording = await (await fetch(`${bench.url}/__sandbox/recording`)).json();
    expect(recording).toMatchObject({ on: true, requests: [{ url: '/things' }, { url: '/things' }] });
    await fetch(`${bench.url}/__sandbox/counts`, { method: 'DELETE' });
    expect(bench.kit.counts.snapshot().total).toBe(0);
  });
});

describe('the kit on fastify', () => {
  it('counts by route pattern, and right after the call', async () => {
    const bench = await fastifyBench();
    for (let call = 1; call <= 50; call++) {
      await (await fetch(`${bench.url}/things/${call}`)).text();
      expect(bench.kit.counts.requests({ method: 'GET', route: '/things/:id', status: 200 })).toBe(call);
    }
    await fetch(`${bench.url}/nowhere`);
    expect(bench.kit.counts.requests({ route: 'unmatched', status: 404 })).toBe(1);
  });

  it('shows how many requests of one client run at once', async () => {
    const bench = await fastifyBench();
    bench.kit.faults.add({ fault: { kind: 'latency', ms: 30 } });
    const calls = [1, 2, 3].map((id) => fetch(`${bench.url}/things/${id}`, { headers: { 'x-client': 'a' } }));
    await Promise.all(calls);
    expect(bench.kit.counts.maxInFlight('client:a')).toBe(3);
    expect(bench.kit.counts.inFlight('client:a')).toBe(0);
    expect(bench.kit.counts.maxInFlight('client:b')).toBe(0);
  });

  it('matches faults by client', async () => {
    const bench = await fastifyBench();
    bench.kit.faults.add({ match: { client: 'a' }, fault: { kind: 'status', status: 500 } });
    expect((await fetch(`${bench.url}/things/1`, { headers: { 'x-client': 'a' } })).status).toBe(500);
    expect((await fetch(`${bench.url}/things/1`, { headers: { 'x-client': 'b' } })).status).toBe(200);
  });

  it('reads forms', async () => {
    const bench = await fastifyBench();
    await fetch(`${bench.url}/things`, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
    expect(bench.handled).toEqual(['a=b+c']);
  });
});

describe('listening', () => {
  it('ends requests that are still open when it closes', async () => {
    const bench = await fastifyBench();
    const never = fetch(`${bench.url}/never`);
    const refused = expect(never).rejects.toThrow('fetch failed');
    await expect.poll(() => bench.kit.counts.inFlight('http')).toBe(1);
    await bench.close();
    await refused;
  });

  it('uses the given port and throws if the port is in use', async () => {
    const bench = await nodeBench();
    await expect(listenNode(createServer(), bench.port)).rejects.toThrow('EADDRINUSE');
    await expect(listen(fastify(), bench.port)).rejects.toThrow('EADDRINUSE');
  });
});
