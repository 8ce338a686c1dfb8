import { describe, expect, it } from 'vitest';
import { anEvent, type Bench, DOCTOR, startBench } from './support.ts';

interface Part {
  method: string;
  path: string;
  body?: unknown;
  id?: string;
  headers?: Record<string, string>;
}

interface PartAnswer {
  id: string | undefined;
  status: number;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of many shapes
  body: any;
}

function toMultipart(parts: Part[], newline: string): string {
  const texts = parts.map((part) => {
    const head = ['--border', 'Content-Type: application/http'];
    if (part.id !== undefined) {
      head.push(`Content-ID: <${part.id}>`);
    }
    const headers = Object.entries(part.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    const body = part.body === undefined ? '' : JSON.stringify(part.body);
    if (body !== '') {
      headers.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
    }
    return [...head, '', `${part.method} ${part.path} HTTP/1.1`, ...headers, '', body, ''].join(newline);
  });
  return `${texts.join('')}--border--`;
}

function readMultipart(contentType: string, text: string): PartAnswer[] {
  const boundary = /boundary=(\S+)/.exec(contentType)?.[1];
  return text
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [outer = '', inner = '', ...rest] = part.trim().split('\r\n\r\n');
      const [statusLine = '', ...headers] = inner.split('\r\n');
      const body = rest.join('\r\n\r\n');
      expect(outer).toContain('Content-Type: application/http');
      return {
        id: /Content-ID: <(.*)>/.exec(outer)?.[1],
        status: Number(statusLine.split(' ')[1]),
        headers: Object.fromEntries(headers.map((line) => line.split(/: (.*)/).slice(0, 2))),
        body: body === '' ? undefined : JSON.parse(body),
      };
    });
}

async function sendBatch(
  { sandbox }: Bench,
  parts: Part[],
  { token = sandbox.issueAccessToken(DOCTOR), newline = '\r\n', type = 'multipart/mixed; boundary="border"' } = {},
): Promise<{ status: number; parts: PartAnswer[]; text: string }> {
  const response = await fetch(sandbox.batchUrl, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body: toMultipart(parts, newline),
  });
  const text = await response.text();
  const contentType = response.headers.get('content-type') ?? '';
  const isMultipart = contentType.startsWith('multipart/mixed');
  return { status: response.status, parts: isMultipart ? readMultipart(contentType, text) : [], text };
}

function inserts({ events }: Bench, count: number): Part[] {
  return Array.from({ length: count }, (_, index) => ({
    method: 'POST',
    path: `/calendar/v3${events}`,
    id: `item${index}`,
    body: anEvent({ id: `event${index}`, summary: `Grüße ${index}` }),
  }));
}

const byId = (answers: PartAnswer[]): Record<string, PartAnswer> =>
  Object.fromEntries(answers.map((answer) => [answer.id, answer]));

describe('a batch', () => {
  it.each(['\r\n', '\n'])('runs its calls and answers each by its content id (line ends %j)', async (newline) => {
    const bench = await startBench();
    const { parts } = await sendBatch(bench, inserts(bench, 20), { newline });
    const answers = byId(parts);
    expect(Object.keys(answers)).toHaveLength(20);
    for (let index = 0; index < 20; index++) {
      expect(answers[`response-item${index}`]).toMatchObject({
        status: 200,
        body: { id: `event${index}`, summary: `Grüße ${index}` },
        headers: { 'Content-Type': 'application/json; charset=UTF-8' },
      });
    }
    expect(bench.sandbox.events(bench.calendarId)).toHaveLength(20);
    expect(bench.sandbox.counts).toMatchObject({ httpRequests: 1, batchRequests: 1, innerCalls: 20, quotaUnits: 20 });
  });

  it('answers in another order than the requests', async () => {
    const bench = await startBench();
    const { parts } = await sendBatch(bench, inserts(bench, 20));
    const order = parts.map((part) => part.id);
    expect(order).not.toEqual(inserts(bench, 20).map((part) => `response-${part.id}`));
    const executed = bench.sandbox.events(bench.calendarId).map((event) => event.id);
    expect(executed).not.toEqual(executed.toSorted((a, b) => Number(a.slice(5)) - Number(b.slice(5))));
  });

  it('mixes outcomes, and inner headers win over outer ones', async () => {
    const bench = await startBench();
    const { sandbox, calendarId, events } = bench;
    const { etag } = sandbox.addByHand(calendarId, anEvent({ id: 'listed' }));
    sandbox.addByHand(calendarId, anEvent({ id: 'changed' }));
    const path = `/calendar/v3${events}`;
    const stranger = { Authorization: `Bearer ${sandbox.issueAccessToken('stranger@clinic.example')}` };
    const { parts } = await sendBatch(bench, [
      { method: 'PUT', path: `${path}/listed`, id: 'ok', body: anEvent(), headers: { 'If-Match': String(etag) } },
      { method: 'PUT', path: `${path}/changed`, id: 'stale', body: anEvent(), headers: { 'If-Match': '"1"' } },
      { method: 'POST', path, id: 'taken', body: anEvent({ id: 'changed' }) },
      { method: 'DELETE', path: `${path}/nowhere`, id: 'missing' },
      { method: 'POST', path, id: 'stranger', body: anEvent(), headers: stranger },
      { method: 'GET', path: '/drive/v3/files', id: 'elsewhere' },
    ]);
    const statuses = Object.fromEntries(parts.map((part) => [part.id, part.status]));
    expect(statuses).toEqual({
      'response-ok': 200,
      'response-stale': 412,
      'response-taken': 409,
      'response-missing': 404,
      'response-stranger': 404,
      'response-elsewhere': 404,
    });
    expect(byId(parts)['response-stale']?.body.error.errors[0].reason).toBe('conditionNotMet');
  });

  it('answers a delete without a body', async () => {
    const bench = await startBench();
    bench.sandbox.addByHand(bench.calendarId, anEvent({ id: 'listed' }));
    const path = `/calendar/v3${bench.events}/listed`;
    const { parts } = await sendBatch(bench, [{ method: 'DELETE', path }]);
    expect(parts).toMatchObject([{ id: undefined, status: 204, body: undefined }]);
  });

  it('is refused whole above the cap, which can change', async () => {
    const bench = await startBench();
    expect((await sendBatch(bench, inserts(bench, 51))).status).toBe(400);
    expect(bench.sandbox.events(bench.calendarId)).toEqual([]);
    expect((await sendBatch(bench, inserts(bench, 50))).parts).toHaveLength(50);
    bench.sandbox.configure({ maxBatchSize: 10 });
    expect((await sendBatch(bench, inserts(bench, 11))).status).toBe(400);
  });

  it.each([
    ['without a boundary', 'multipart/mixed', undefined],
    ['of another boundary', 'multipart/mixed; boundary=other', undefined],
    ['with a full URL', undefined, 'http://127.0.0.1/calendar/v3/x'],
  ])('is refused %s', async (_what, type, path) => {
    const bench = await startBench();
    const parts = path === undefined ? inserts(bench, 1) : [{ method: 'GET', path }];
    const { status, text } = await sendBatch(bench, parts, type === undefined ? {} : { type });
    expect(status).toBe(400);
    expect(JSON.parse(text).error.code).toBe(400);
  });

  it('charges each call, so that some are refused when the quota ends inside it', async () => {
    const bench = await startBench({ quotaPerUserPerMinute: 3 });
    const { parts } = await sendBatch(bench, inserts(bench, 5));
    const statuses = parts.map((part) => part.status).sort();
    expect(statuses).toEqual([200, 200, 200, 403, 403]);
    expect(bench.sandbox.events(bench.calendarId)).toHaveLength(3);
  });

  it('is one concurrent request for its calendar', async () => {
    const bench = await startBench();
    bench.sandbox.faults.add({ fault: { kind: 'latency', ms: 30 } });
    await Promise.all([sendBatch(bench, inserts(bench, 5)), bench.call('GET', bench.events)]);
    expect(bench.sandbox.counts.maxConcurrency(bench.calendarId)).toBe(2);
  });
});

describe('faults inside a batch', () => {
  const onEvent = (index: number): { method: string; path: string } => ({ method: 'PUT', path: `/event${index}$` });

  async function updates(): Promise<{ bench: Bench; parts: Part[] }> {
    const bench = await startBench();
    const parts = [0, 1, 2].map((index) => {
      bench.sandbox.addByHand(bench.calendarId, anEvent({ id: `event${index}` }));
      const body = anEvent({ summary: 'changed' });
      return { method: 'PUT', path: `/calendar/v3${bench.events}/event${index}`, id: `item${index}`, body };
    });
    return { bench, parts };
  }

  function changed({ sandbox, calendarId }: Bench): string[] {
    return sandbox
      .events(calendarId)
      .filter((event) => event.summary === 'changed')
      .map((event) => event.id);
  }

  it('answer a status for one part, which is not run', async () => {
    const { bench, parts } = await updates();
    bench.sandbox.faults.add({ match: onEvent(1), fault: { kind: 'status', status: 503 } });
    const answers = byId((await sendBatch(bench, parts)).parts);
    expect(answers['response-item1']).toMatchObject({ status: 503, body: { error: { code: 503 } } });
    expect(answers['response-item0']?.status).toBe(200);
    expect(changed(bench)).toEqual(['event0', 'event2']);
  });

  it('answer 409 conflict for one part, which is not run', async () => {
    const { bench, parts } = await updates();
    bench.sandbox.faults.add({ match: onEvent(2), times: 1, fault: { kind: 'conflict' } });
    const answers = byId((await sendBatch(bench, parts)).parts);
    expect(answers['response-item2']).toMatchObject({
      status: 409,
      body: { error: { errors: [{ reason: 'conflict' }] } },
    });
    expect(changed(bench)).toEqual(['event0', 'event1']);
    expect(byId((await sendBatch(bench, parts.slice(2))).parts)['response-item2']?.status).toBe(200);
  });

  it('lose one answer after the call was done', async () => {
    const { bench, parts } = await updates();
    bench.sandbox.faults.add({ match: onEvent(0), fault: { kind: 'lost-answer' } });
    const answers = byId((await sendBatch(bench, parts)).parts);
    expect(answers['response-item0']?.status).toBe(503);
    expect(changed(bench)).toHaveLength(3);
  });

  it('leave out one answer', async () => {
    const { bench, parts } = await updates();
    bench.sandbox.faults.add({ match: onEvent(0), fault: { kind: 'missing-part' } });
    const answers = byId((await sendBatch(bench, parts)).parts);
    expect(Object.keys(answers).sort()).toEqual(['response-item1', 'response-item2']);
    expect(changed(bench)).toHaveLength(3);
  });

  it('use the vendor’s limits too', async () => {
    const { bench, parts } = await updates();
    bench.sandbox.faults.add({ match: onEvent(0), fault: { kind: 'use-limit' } });
    const answers = byId((await sendBatch(bench, parts)).parts);
    expect(answers['response-item0']?.body.error.errors[0].reason).toBe('quotaExceeded');
  });
});
