import { describe, expect, it } from 'vitest';
import { anEvent, type Bench, DOCTOR, IMMUTABLE, startBench } from './support.ts';

interface Part {
  id: string;
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: unknown;
  dependsOn?: string[];
}

interface PartAnswer {
  id: string;
  status: number;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  body?: any;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

function creates(count: number): Part[] {
  return Array.from({ length: count }, (_, index) => ({
    id: String(index + 1),
    method: 'POST',
    url: '/me/events',
    headers: JSON_TYPE,
    body: anEvent({ subject: `Event ${index + 1}` }),
  }));
}

async function batch({ call }: Bench, requests: Part[], headers?: Record<string, string>) {
  const answer = await call('POST', '/$batch', { requests }, headers);
  const responses: PartAnswer[] = answer.body?.responses ?? [];
  return { ...answer, responses, byId: new Map(responses.map((response) => [response.id, response])) };
}

describe('a batch', () => {
  it('runs twenty requests in one, and answers out of order', async () => {
    const bench = await startBench();
    const { sandbox } = bench;
    sandbox.counts.reset();
    const { status, responses, byId } = await batch(bench, creates(20));
    expect(status).toBe(200);
    expect(responses.map(({ id }) => id)).not.toEqual(creates(20).map(({ id }) => id));
    expect(responses.every((response) => response.status === 201)).toBe(true);
    expect(byId.get('7')?.body.subject).toBe('Event 7');
    expect(byId.get('7')?.headers['Content-Type']).toBe('application/json');
    expect(sandbox.counts).toMatchObject({ httpRequests: 1, batchRequests: 1, innerCalls: 20, concurrencyRefusals: 0 });
    expect(sandbox.counts.maxConcurrency(DOCTOR)).toBe(4);
  });

  it('mixes outcomes', async () => {
    const bench = await startBench();
    const { id } = (await bench.call('POST', '/me/events', anEvent())).body;
    const { byId } = await batch(bench, [
      { id: 'a', method: 'GET', url: `/me/events/${id}` },
      { id: 'b', method: 'DELETE', url: `me/events/A${id}` },
      { id: 'c', method: 'PATCH', url: `/me/events/${id}`, headers: { ...JSON_TYPE, 'If-Match': 'W/"old"' }, body: {} },
      { id: 'd', method: 'PATCH', url: `/me/events/${id}`, body: { subject: 'undeclared' } },
      { id: 'e', method: 'GET', url: 'https://elsewhere.example/v1.0/me/events' },
    ]);
    const shown = [...byId].sort().map(([part, { status, body }]) => [part, status, body.error?.code]);
    expect(shown).toEqual([
      ['a', 200, undefined],
      ['b', 404, 'ErrorItemNotFound'],
      ['c', 412, 'ErrorIrresolvableConflict'],
      ['d', 400, 'ErrorInvalidRequest'],
      ['e', 400, 'ErrorInvalidRequest'],
    ]);
    const deletion = await batch(bench, [{ id: '1', method: 'DELETE', url: `/me/events/${id}` }]);
    expect(deletion.responses).toEqual([{ id: '1', status: 204, headers: {} }]);
  });

  it('hands no preference down', async () => {
    const bench = await startBench();
    const { id } = (await bench.call('POST', '/me/events', anEvent(), IMMUTABLE)).body;
    const { byId } = await batch(
      bench,
      [
        { id: '1', method: 'GET', url: `/me/events/${id}` },
        { id: '2', method: 'GET', url: `/me/events/${id}`, headers: { Prefer: IMMUTABLE.prefer } },
      ],
      IMMUTABLE,
    );
    expect(byId.get('1')?.body.id).not.toBe(id);
    expect(byId.get('2')?.body.id).toBe(id);
  });

  it('fails requests that depend on a failed one', async () => {
    const bench = await startBench();
    const [create] = creates(1);
    const { byId } = await batch(bench, [
      { id: '1', method: 'GET', url: '/me/calendars/nonsense' },
      { ...create!, id: '2', dependsOn: ['1'] },
      { ...create!, id: '3', dependsOn: ['2'] },
      { ...create!, id: '4' },
      { ...create!, id: '5', dependsOn: ['4'] },
    ]);
    expect([...byId].sort().map(([, { status }]) => status)).toEqual([400, 424, 424, 201, 201]);
    expect(byId.get('2')?.body.error.code).toBe('FailedDependency');
  });

  it.each<[string, unknown]>([
    ['21 requests', { requests: creates(21) }],
    ['no requests', { requests: [] }],
    [
      'one id in two cases',
      {
        requests: [
          { ...creates(1)[0], id: 'a' },
          { ...creates(1)[0], id: 'A' },
        ],
      },
    ],
    ['no id', { requests: [{ method: 'GET', url: '/me' }] }],
    ['a parent that does not come before', { requests: [{ ...creates(1)[0], dependsOn: ['9'] }] }],
    ['something else', { things: [] }],
  ])('with %s is refused as a whole', async (_what, body) => {
    const { call, sandbox } = await startBench();
    expect(await call('POST', '/$batch', body)).toMatchObject({ status: 400, code: 'BadRequest' });
    expect(sandbox.events(DOCTOR, 'default')).toEqual([]);
  });

  it('without a token is refused as a whole', async () => {
    const { as } = await startBench();
    expect((await as('nonsense')('POST', '/$batch', { requests: creates(1) })).status).toBe(401);
  });
});

describe('faults inside a batch', () => {
  it('hit single parts, each with its own Retry-After', async () => {
    const bench = await startBench();
    const { sandbox } = bench;
    const fault = { kind: 'status', status: 429, headers: { 'retry-after': '7' } };
    sandbox.faults.add({ match: { method: 'POST', path: '^/v1.0/me/events' }, after: 2, times: 1, fault });
    const { responses } = await batch(bench, creates(5));
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused).toMatchObject([
      { headers: { 'Retry-After': '7' }, body: { error: { code: 'ApplicationThrottled' } } },
    ]);
    expect(sandbox.events(DOCTOR, 'default')).toHaveLength(4);
  });

  it('lose an answer after the work is done, or leave it out', async () => {
    const bench = await startBench();
    bench.sandbox.faults.add({ match: { path: '/me/events' }, times: 1, fault: { kind: 'lost-answer' } });
    bench.sandbox.faults.add({ match: { path: '/me/events' }, times: 1, fault: { kind: 'missing-part' } });
    const { responses } = await batch(bench, creates(3));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 504]);
    expect(bench.sandbox.events(DOCTOR, 'default')).toHaveLength(3);
  });

  it('conflict without If-Match', async () => {
    const bench = await startBench();
    const { id } = (await bench.call('POST', '/me/events', anEvent())).body;
    bench.sandbox.faults.add({ match: { method: 'PATCH', client: DOCTOR }, times: 1, fault: { kind: 'conflict' } });
    const patch = { id: '1', method: 'PATCH', url: `/me/events/${id}`, headers: JSON_TYPE, body: { subject: 'x' } };
    expect((await batch(bench, [patch])).responses[0]?.status).toBe(412);
    expect((await batch(bench, [patch])).responses[0]?.status).toBe(200);
  });

  it('may hit the batch itself', async () => {
    const bench = await startBench();
    bench.sandbox.faults.add({ match: { path: 'batch' }, times: 1, fault: { kind: 'status', status: 503 } });
    expect(await batch(bench, creates(1))).toMatchObject({ status: 503, code: 'ServerBusy', responses: [] });
  });
});

describe('the limits of a mailbox', () => {
  it('let four requests run at once and refuse the fifth', async () => {
    const { call, sandbox } = await startBench({ latencyMs: 100 });
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('GET', '/me/events')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.error).toMatchObject({
      code: 'ApplicationThrottled',
      message: expect.stringContaining('MailboxConcurrency'),
    });
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(sandbox.counts.concurrencyRefusals).toBe(1);
    expect(sandbox.counts.maxConcurrency(DOCTOR)).toBe(5);
  });

  it('refuse with 503 when so configured, and know mailboxes apart', async () => {
    const { as, sandbox } = await startBench({ latencyMs: 100, mailboxConcurrency: 1, concurrencyStatus: 503 });
    sandbox.addMailbox('nurse@clinic.example');
    const call = as(sandbox.issueAppToken());
    const [one, two, elsewhere] = await Promise.all([
      call('GET', `/users/${DOCTOR}/events`),
      call('GET', `/users/${DOCTOR}/events`),
      call('GET', '/users/nurse@clinic.example/events'),
    ]);
    expect([one?.status, two?.status].sort()).toEqual([200, 503]);
    expect(elsewhere?.status).toBe(200);
  });

  it('hold for two batches at once too', async () => {
    const bench = await startBench({ latencyMs: 20 });
    const [one, two] = await Promise.all([batch(bench, creates(8)), batch(bench, creates(8))]);
    const statuses = [...one.responses, ...two.responses].map(({ status }) => status);
    expect(statuses).toContain(429);
    expect(bench.sandbox.counts.maxConcurrency(DOCTOR)).toBe(8);
    expect(bench.sandbox.events(DOCTOR, 'default')).toHaveLength(statuses.filter((status) => status === 201).length);
  });

  it('count requests in a sliding window, inner and refused ones too, for each application', async () => {
    let now = 1_800_000_000_000;
    const applications = [{ clientSecret: 's' }, { clientId: 'other', clientSecret: 's' }];
    const bench = await startBench({ requestsPerWindow: 3, windowMs: 10_000, now: () => now, applications });
    const { call, sandbox, as } = bench;
    expect((await batch(bench, creates(2))).responses.map(({ status }) => status)).toEqual([201, 201]);
    now += 4000;
    expect((await call('GET', '/me/events')).status).toBe(200);
    const refused = await call('GET', '/me/events');
    expect(refused).toMatchObject({ status: 429, code: 'ApplicationThrottled' });
    expect(refused.headers.get('retry-after')).toBe('6');
    const other = as(sandbox.issueAccessToken(DOCTOR, { clientId: 'other' }));
    expect((await other('GET', '/me/events')).status).toBe(200);
    now += 6000;
    expect((await call('GET', '/me/events')).status).toBe(200);
    expect((await call('GET', '/me/events')).status).toBe(429);
    expect(sandbox.counts.throttled).toBe(2);
  });
});
