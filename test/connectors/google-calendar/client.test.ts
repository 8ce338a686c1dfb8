import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildBatch, parseBatch } from '../../../src/connectors/google-calendar/client.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';

const NOW = Date.parse('2027-01-01T00:00:00Z');
const TYPE = 'multipart/mixed; boundary=batch_x';

function part(id: string, inner: string): string {
  return `--batch_x\r\nContent-Type: application/http\r\nContent-ID: <response-${id}>\r\n\r\n${inner}\r\n`;
}

function readBatch(contentType: string | null, body: string, nowMs: number) {
  return atOnce(parseBatch(contentType, Buffer.from(body), nowMs));
}

function parse(...parts: string[]) {
  return readBatch(TYPE, `${parts.join('')}--batch_x--\r\n`, NOW);
}

describe('a batch request', () => {
  test('holds one part per call, with its own headers', () => {
    const { contentType, body } = buildBatch(
      [
        { method: 'POST', path: '/calendar/v3/a', body: { summary: 'ä' } },
        { method: 'DELETE', path: '/calendar/v3/b', ifMatch: '"1"' },
      ],
      'batch_x',
    );
    expect(contentType).toBe('multipart/mixed; boundary=batch_x');
    expect(body).toBe(
      [
        '--batch_x',
        'Content-Type: application/http',
        'Content-ID: <0>',
        '',
        'POST /calendar/v3/a HTTP/1.1',
        'Content-Type: application/json; charset=UTF-8',
        'Content-Length: 16',
        '',
        '{"summary":"ä"}',
        '--batch_x',
        'Content-Type: application/http',
        'Content-ID: <1>',
        '',
        'DELETE /calendar/v3/b HTTP/1.1',
        'If-Match: "1"',
        '',
        '',
        '--batch_x--',
        '',
      ].join('\r\n'),
    );
  });

  test('keeps any text within its part', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 5 }), (texts) => {
        const calls = texts.map((text) => ({ method: 'POST', path: '/p', body: { text } }) as const);
        const { body } = buildBatch(calls, 'batch_00000000-0000-4000-8000-000000000000');
        const parts = body.split('--batch_00000000-0000-4000-8000-000000000000').slice(1, -1);
        const read = parts.map((one) => JSON.parse(one.slice(one.lastIndexOf('\r\n\r\n') + 4)));
        expect(read).toEqual(texts.map((text) => ({ text })));
      }),
    );
  });
});

describe('a batch answer', () => {
  test('is read by content id, whatever the order', () => {
    const answers = parse(
      part('1', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n'),
      part('0', 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"etag":"\\"7\\""}\r\n'),
    );
    expect(answers?.get(0)).toEqual({ status: 200, body: { etag: '"7"' }, retryAfterMs: null });
    expect(answers?.get(1)).toEqual({ status: 204, body: undefined, retryAfterMs: null });
  });

  test('is read with bare line feeds, a quoted boundary and other letters in header names', () => {
    const body = '--b x\ncontent-type: application/http\ncontent-id: response-0\n\nHTTP/2 200\n\n{}\n--b x--';
    expect(readBatch('Multipart/Mixed; charset=UTF-8; boundary="b x"', body, NOW)?.get(0)?.body).toEqual({});
  });

  test("has each part's own Retry-After", () => {
    const answers = parse(
      part('0', 'HTTP/1.1 403 Forbidden\r\nRetry-After: 30\r\n\r\n{}'),
      part('1', 'HTTP/1.1 429 Too Many\r\nRetry-After: Fri, 01 Jan 2027 00:01:00 GMT\r\n\r\n{}'),
    );
    expect(answers?.get(0)?.retryAfterMs).toBe(30_000);
    expect(answers?.get(1)?.retryAfterMs).toBe(60_000);
  });

  test('lacks what is not there: parts without id or status, cut parts', () => {
    const answers = parse(
      part('0', 'HTTP/1.1 200 OK\r\n\r\n{"id":"a","summ'),
      part('1', 'no status\r\n\r\n{}'),
      '--batch_x\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}\r\n',
    );
    expect(answers?.size).toBe(0);
  });

  test('lacks a last part whose end is missing', () => {
    const whole = part('0', 'HTTP/1.1 200 OK\r\n\r\n{"id":"a"}') + part('1', 'HTTP/1.1 200 OK\r\n\r\n{"id":"b"}');
    const answers = readBatch(TYPE, whole.slice(0, -8), NOW);
    expect([...(answers?.keys() ?? [])]).toEqual([0]);
  });

  test('lacks parts above the limit of values that all share, and a malformed part counts too', () => {
    const values = (count: number) => `HTTP/1.1 200 OK\r\n\r\n{"a":[${'0,'.repeat(count)}0]}`;
    const answers = parse(part('0', values(350_000)), part('1', values(350_000)), part('2', values(10)));
    expect([...(answers?.keys() ?? [])]).toEqual([0]);
    const malformed = `${values(599_920)},`;
    expect([...(parse(part('0', malformed), part('1', values(100)))?.keys() ?? [])]).toEqual([]);
    expect([...(parse(part('0', malformed), part('1', values(1)))?.keys() ?? [])]).toEqual([1]);
  });

  test('lacks parts beyond the calls of a batch, and a part with endless headers', () => {
    const ok = 'HTTP/1.1 200 OK\r\n\r\n{}';
    expect(parse(...Array.from({ length: 60 }, (_, at) => part(String(at), ok)))?.size).toBe(50);
    const long = `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(5_000)}\r\n{}`;
    expect([...(parse(part('0', long), part('1', ok))?.keys() ?? [])]).toEqual([1]);
  });

  test('is none when it is no multipart', () => {
    expect(readBatch('text/html', '<html></html>', NOW)).toBeNull();
    expect(readBatch(null, '', NOW)).toBeNull();
    expect(readBatch('multipart/mixed', '', NOW)).toBeNull();
  });
});
