import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Authorizer } from '../../src/connectors/connector.ts';
import {
  type ConnectionAuthorizer,
  createBasicAuthorizer,
  createBearerAuthorizer,
  createKeyAuthorizer,
  quotaUserOf,
} from '../../src/oauth/authorizer.ts';
import { clinicProvider, googleProvider, missingScopes } from '../../src/oauth/providers.ts';
import { NEVER } from './connection.ts';

test('the interface is the one that connectors require', () => {
  const authorizer: Authorizer = createBasicAuthorizer('nas', 'a', 'p') satisfies ConnectionAuthorizer;
  expect(authorizer.quotaUser).toBeNull();
});

test('the quota user is stable, opaque, short, and its own for each target', () => {
  const id = quotaUserOf('studio-rossi', 'dr-bianchi@example.org');
  expect(id).toBe(quotaUserOf('studio-rossi', 'dr-bianchi@example.org'));
  expect(id).toMatch(/^[\w-]{32}$/);
  expect(new Set([id, quotaUserOf('studio-rossi', 'other'), quotaUserOf('other', 'dr-bianchi@example.org')]).size).toBe(
    3,
  );
});

test('missing scopes are listed in order; those of the protocol are not checked', () => {
  const needed = ['openid', 'offline_access', 'svc.agenda', 'svc.patients'];
  expect(missingScopes(needed, ['svc.patients'])).toEqual(['svc.agenda']);
  expect(missingScopes(needed, needed)).toEqual([]);
});

test('provider URLs are https, or http on this host only', () => {
  const client = { clientId: 'c', clientSecret: null };
  for (const authUrl of [
    'https://login.example.org',
    'http://127.0.0.1:4000',
    'http://localhost:1',
    'http://[::1]:1',
  ]) {
    expect(clinicProvider({ authUrl, ...client }).issuer).toBe(authUrl);
  }
  for (const authUrl of [
    'http://login.example.org',
    'http://127.0.0.1.example.org',
    'ftp://127.0.0.1',
    'login',
    'http://127.evil.org',
  ]) {
    const refused = expect.objectContaining({ actor: 'settings', code: 'insecure-address' });
    expect(() => clinicProvider({ authUrl, ...client }), authUrl).toThrow(refused);
    expect(() => googleProvider({ issuer: authUrl, ...client }), authUrl).toThrow(refused);
    expect(() => clinicProvider({ authUrl: 'https://x.example.org', deviceEndpoint: authUrl, ...client })).toThrow(
      refused,
    );
  }
  expect(googleProvider(client).issuer).toBe('https://accounts.google.com');
});

test('credentials of name and password are a header, in UTF-8, and cannot be renewed', async () => {
  const authorizer = createBasicAuthorizer('nas', 'jörg', 'p:ss wörd');
  expect(await authorizer.header(NEVER)).toBe(`Basic ${Buffer.from('jörg:p:ss wörd').toString('base64')}`);
  await expect(authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'authorization', code: 'password-refused' });
  expect(() => createBasicAuthorizer('nas', 'a:b', 'p')).toThrow(expect.objectContaining({ actor: 'settings' }));
});

test('a key is sent unchanged in its own header, whatever the case of the header name', async () => {
  const authorizer = createKeyAuthorizer('crm', 'X-Api-Key', 'k-1');
  expect(authorizer.headerName).toBe('x-api-key');
  expect(await authorizer.header(NEVER)).toBe('k-1');
});

test('a key for the header Authorization needs no other name', async () => {
  const authorizer = createKeyAuthorizer('crm', 'AUTHORIZATION', 'Token k-1');
  expect('headerName' in authorizer).toBe(false);
  expect(await authorizer.header(NEVER)).toBe('Token k-1');
});

test.each([
  ['token', createBearerAuthorizer('crm', 'key-canary')],
  ['key', createKeyAuthorizer('crm', 'x-api-key', 'key-canary')],
])('a refused %s must be replaced by an operator, and is not shown', async (what, authorizer: Authorizer) => {
  const thrown = await authorizer.renew(NEVER).catch((error: unknown) => error);
  expect(thrown).toMatchObject({
    actor: 'authorization',
    code: 'key-refused',
    retry: 'never',
    remedy: expect.stringContaining(`create a new ${what}`),
  });
  expect(`${(thrown as Error).stack} ${JSON.stringify(thrown)}`).not.toContain('canary');
});

test('static credentials give the same header each time, and have no base URL and no quota user', async () => {
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[\x21-\x7e]{1,40}$/), async (secret) => {
      const logins: Authorizer[] = [
        createBearerAuthorizer('crm', secret),
        createKeyAuthorizer('crm', 'x-key', secret),
        createBasicAuthorizer('crm', 'user', secret),
      ];
      for (const login of logins) {
        expect(await login.header(NEVER)).toBe(await login.header(NEVER));
        expect([login.quotaUser, login.baseUrl]).toEqual([null, undefined]);
      }
    }),
    { numRuns: 50 },
  );
});
