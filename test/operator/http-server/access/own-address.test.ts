import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { isFromHere, isOwnHost, ownPath } from '../../../../src/operator/http-server/access/own-address.ts';

const PUBLIC = 'https://mirror.example';
const LOCAL = 'http://localhost:8080';
const request = (headers: Record<string, string>) => ({ headers }) as unknown as FastifyRequest;

describe('a return URL', () => {
  test('of any form is a path of this server or the first page', () => {
    const part = fc.constantFrom(
      '/',
      '\\',
      '//',
      'evil.test',
      '@',
      ':',
      'https:',
      '\t',
      '\n',
      '%2f',
      '..',
      '?',
      '#',
      'a',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
          fc.string(),
        ),
        (given) => {
          const path = ownPath(given);
          expect(new URL(path, 'https://mirror.test').origin).toBe('https://mirror.test');
          expect(new URL(`https://mirror.test${path}`).host).toBe('mirror.test');
          expect(path).toMatch(/^\/([^/\\]|$)/);
        },
      ),
    );
  });
});

test.each([
  [LOCAL, 'localhost:8080', true],
  [LOCAL, '127.0.0.1:8080', true],
  [LOCAL, '[::1]', true],
  [LOCAL, 'evil.test', false],
  [LOCAL, 'localhost.evil.test', false],
  [PUBLIC, 'whatever.the.proxy.says', true],
])('behind %s the host %s is our own: %s', (publicUrl, host, expected) => {
  expect(isOwnHost(request({ host }), publicUrl)).toBe(expected);
});

test.each<[string, Record<string, string>, boolean | null]>([
  [PUBLIC, { 'sec-fetch-site': 'same-origin' }, true],
  [PUBLIC, { 'sec-fetch-site': 'none' }, true],
  [PUBLIC, { 'sec-fetch-site': 'same-site', origin: PUBLIC }, false],
  [PUBLIC, { 'sec-fetch-site': 'cross-site' }, false],
  [PUBLIC, { origin: PUBLIC }, true],
  [PUBLIC, { origin: 'null' }, false],
  [PUBLIC, { origin: 'http://mirror.example' }, false],
  [PUBLIC, { origin: 'https://evil.test', host: 'evil.test' }, false],
  [PUBLIC, {}, null],
  [LOCAL, { origin: 'http://127.0.0.1:8080', host: '127.0.0.1:8080' }, true],
  [LOCAL, { origin: 'http://127.0.0.1:9090', host: '127.0.0.1:8080' }, false],
])('behind %s a request with %j comes from a page of this server: %s', (publicUrl, headers, expected) => {
  expect(isFromHere(request(headers), publicUrl)).toBe(expected);
});
