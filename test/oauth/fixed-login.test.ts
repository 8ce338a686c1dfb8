import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Authorizer } from '../../src/connectors/connector.ts';
import { createBasicAuthorizer, createBearerAuthorizer, createKeyAuthorizer } from '../../src/oauth/fixed-login.ts';
import { NEVER } from './connection.ts';

test('a login by name and password is a header, in UTF-8, and cannot be renewed', async () => {
  const authorizer = createBasicAuthorizer('nas', 'jörg', 'p:ss wörd');
  expect(await authorizer.header(NEVER)).toBe(`Basic ${Buffer.from('jörg:p:ss wörd').toString('base64')}`);
  await expect(authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'authorization', code: 'password-refused' });
  expect(() => createBasicAuthorizer('nas', 'a:b', 'p')).toThrow(expect.objectContaining({ actor: 'settings' }));
});

test('a key goes into its own header as it is, whatever the case of its name', async () => {
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
])('a %s that is refused is for a person to replace, and is not told', async (what, authorizer: Authorizer) => {
  const thrown = await authorizer.renew(NEVER).catch((error: unknown) => error);
  expect(thrown).toMatchObject({
    actor: 'authorization',
    code: 'key-refused',
    retry: 'never',
    remedy: expect.stringContaining(`make another ${what}`),
  });
  expect(`${(thrown as Error).stack} ${JSON.stringify(thrown)}`).not.toContain('canary');
});

test('logins that never change give the same header each time, and have no place and no quota user', async () => {
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
