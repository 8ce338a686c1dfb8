import * as client from 'openid-client';
import { authorizeInBrowser } from './browser.ts';
import type { ClinicSandbox } from './index.ts';

/** Logs the first clinic's front desk in by the code flow, with every scope, as a client would. Returns the access token. */
export async function firstToken({ authUrl, clients, tenants, scopes }: ClinicSandbox): Promise<string> {
  const [registered] = clients;
  const [tenant] = tenants;
  if (registered === undefined || tenant === undefined) throw new Error('the sandbox has no client, or no clinic');
  const { clientId, clientSecret, redirectUris } = registered;
  const authentication = clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret);
  const configuration = await client.discovery(new URL(authUrl), clientId, undefined, authentication, {
    execute: [client.allowInsecureRequests],
  });
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUris[0] ?? '',
    scope: scopes.join(' '),
    state: expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const answer = new URL(await authorizeInBrowser(url.href, tenant.user));
  const tokens = await client.authorizationCodeGrant(configuration, answer, { pkceCodeVerifier, expectedState });
  return tokens.access_token;
}
