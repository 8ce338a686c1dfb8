import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import {
  browserKeyOf,
  cookieOf,
  formOf,
  languageOf,
  setBrowserKey,
} from '../../../src/operator/http-server/browser-request.ts';

const HTTPS = 'https://mirror.example';
const HTTP = 'http://localhost:8080';
const request = (cookie?: string) => ({ headers: { cookie } }) as FastifyRequest;

function cookieFor(publicUrl: string, value: string, lifeMs?: number): string {
  const headers = new Map<string, string>();
  const reply = { header: (name: string, text: string) => headers.set(name, text) } as unknown as FastifyReply;
  setBrowserKey(reply, publicUrl, { key: 'session', value, ...(lifeMs === undefined ? {} : { lifeMs }) });
  return headers.get('set-cookie') ?? '';
}

test('a cookie is found by its whole name', () => {
  expect(cookieOf(request('xsession=1; session=a=b;  other=2'), 'session')).toBe('a=b');
  expect([cookieOf(request('session-2=1'), 'session'), cookieOf(request(), 'session')]).toEqual(['', '']);
});

test('what the browser keeps comes back, and one that another host may have set does not behind https', () => {
  expect(browserKeyOf(request(cookieFor(HTTPS, 'abc').split(';')[0]), 'session', HTTPS)).toBe('abc');
  expect(browserKeyOf(request(cookieFor(HTTP, 'abc').split(';')[0]), 'session', HTTP)).toBe('abc');
  expect(browserKeyOf(request('session=abc; clinic-mirror-session=abc'), 'session', HTTPS)).toBe('');
});

test('no script and no other site reads it, and behind https it never goes out in clear', () => {
  expect(cookieFor(HTTPS, 'abc', 60_000)).toBe(
    '__Host-session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure',
  );
  expect(cookieFor(HTTP, 'abc')).toBe('clinic-mirror-session=abc; Path=/; HttpOnly; SameSite=Lax');
  expect(cookieFor(HTTPS, '', 60_000)).toContain('Max-Age=0;');
});

test('of a form only strings are taken, each value of a name', () => {
  const form = formOf({ body: { one: 'a', many: ['b', 'c'], odd: [1, null, {}], none: undefined } } as FastifyRequest);
  expect([...form]).toEqual([
    ['one', 'a'],
    ['many', 'b'],
    ['many', 'c'],
  ]);
  expect([...formOf({ body: 'one=a' } as FastifyRequest), ...formOf({ body: null } as FastifyRequest)]).toEqual([]);
});

test.each([
  ['it-IT,it;q=0.9', 'it'],
  ['de-CH, IT;q=0.8, en;q=0.5', 'it'],
  ['en-US', 'en'],
  ['de, fr', 'it'],
  ['', 'it'],
])('of the languages "%s" pages are in %s', (accepted, language) => {
  expect(languageOf(accepted, 'it')).toBe(language);
});
