import { expect, test } from 'vitest';
import type { Authorizer } from '../../src/connectors/connector.ts';
import { type ConnectionAuthorizer, quotaUserOf } from '../../src/oauth/authorizer.ts';
import { createBasicAuthorizer } from '../../src/oauth/fixed-login.ts';
import { clinicProvider, googleProvider } from '../../src/oauth/providers.ts';
import { missingScopes } from '../../src/oauth/scopes.ts';

test('the shape is the one that connectors ask for', () => {
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

test('missing scopes are named in order; those of the protocol are not asked after', () => {
  const needed = ['openid', 'offline_access', 'svc.agenda', 'svc.patients'];
  expect(missingScopes(needed, ['svc.patients'])).toEqual(['svc.agenda']);
  expect(missingScopes(needed, needed)).toEqual([]);
});

test('providers take https, and http on this machine only', () => {
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
