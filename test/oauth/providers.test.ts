import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { microsoftProvider, missingScopes } from '../../src/oauth/providers.ts';
import { createAuthorizationServer } from '../../src/oauth/server.ts';

const AUTHORITY = 'https://login.microsoftonline.com';

function providerOf(changes: { authority?: string; directory?: string } = {}) {
  return microsoftProvider({
    authority: AUTHORITY,
    directory: 'organizations',
    clientId: 'app-1',
    clientSecret: null,
    ...changes,
  });
}

describe("Microsoft's provider", () => {
  test('has the endpoints of its directory, and needs no discovery', async () => {
    const provider = providerOf({ directory: 'clinic.example' });
    const http = createHttpClient({ userAgent: 'test', clock: Date.now });
    const server = createAuthorizationServer({ provider, http, clock: Date.now });
    const url = await server.authorizationUrl({ scope: 'offline_access', state: 's' });
    expect(`${url.origin}${url.pathname}`).toBe(`${AUTHORITY}/clinic.example/oauth2/v2.0/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ client_id: 'app-1', prompt: 'select_account' });
    expect(provider).toMatchObject({
      issuer: `${AUTHORITY}/clinic.example/v2.0`,
      endpoints: { token: `${AUTHORITY}/clinic.example/oauth2/v2.0/token`, revocation: null },
      deviceEndpoint: `${AUTHORITY}/clinic.example/oauth2/v2.0/devicecode`,
    });
  });

  test('is refused when secrets would go over plain http', () => {
    expect(() => providerOf({ authority: 'http://login.example' })).toThrow(
      expect.objectContaining({ code: 'insecure-address' }),
    );
  });
});

describe('permissions of Graph', () => {
  const needed = ['https://graph.microsoft.com/Calendars.ReadWrite', 'offline_access'];

  test.each([
    ['with their address', ['https://graph.microsoft.com/Calendars.ReadWrite']],
    ['without it', ['openid', 'profile', 'Calendars.ReadWrite']],
    ['in lower case', ['https://graph.microsoft.com/calendars.readwrite']],
  ])('are held when they are granted %s', (_how, granted) => {
    expect(missingScopes(needed, granted)).toEqual([]);
  });

  test('are missing when others are granted', () => {
    expect(missingScopes(needed, ['Calendars.Read', 'Calendars.ReadWrite.Shared'])).toEqual([needed[0]]);
    expect(missingScopes(['Svc.Agenda'], ['svc.agenda']), 'elsewhere letters count').toEqual(['Svc.Agenda']);
  });
});
