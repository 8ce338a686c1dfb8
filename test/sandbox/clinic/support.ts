import * as client from 'openid-client';
import {
  authorizeInBrowser,
  type ClinicSandbox,
  type Credentials,
  type Person,
} from '../../../sandbox/clinic/index.ts';

/** What the tests' application registered. */
export const REDIRECT_URI = 'http://127.0.0.1/callback';

/** 20 March 2026, 10:00 in Rome: nine days before the clocks change. */
export const NOW = Date.parse('2026-03-20T10:00:00+01:00');

/** Any JSON object. */
export type Json = Record<string, unknown>;

/** An openid-client configuration for the sandbox's first client, or for another one. */
export function discover(
  sandbox: ClinicSandbox,
  clientId = sandbox.clients[0]?.clientId ?? '',
): Promise<client.Configuration> {
  const secret = sandbox.clients.find((one) => one.clientId === clientId)?.clientSecret;
  const authentication = secret === undefined ? client.None() : client.ClientSecretPost(secret);
  return client.discovery(new URL(sandbox.authUrl), clientId, undefined, authentication, {
    execute: [client.allowInsecureRequests],
  });
}

/** Starts a code flow: returns the URL to open, and the values that the client must keep. */
export async function prepareLogin(
  configuration: client.Configuration,
  scope: string,
  redirectUri = REDIRECT_URI,
): Promise<{ url: string; verifier: string; state: string }> {
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { url: url.href, verifier, state };
}

/** Signs a user in by the code flow and returns the token response. */
export async function logIn(
  sandbox: ClinicSandbox,
  person: Person | Credentials,
  { scope = sandbox.scopes.join(' '), clientId }: { scope?: string; clientId?: string } = {},
): Promise<client.TokenEndpointResponse> {
  const configuration = await discover(sandbox, clientId);
  const { url, verifier, state } = await prepareLogin(configuration, scope);
  const callback = new URL(await authorizeInBrowser(url, person));
  return client.authorizationCodeGrant(configuration, callback, { pkceCodeVerifier: verifier, expectedState: state });
}

/** An access token of the first clinic's front desk with every scope. */
export async function frontDeskToken(sandbox: ClinicSandbox): Promise<string> {
  return (await logIn(sandbox, firstTenant(sandbox).user)).access_token;
}

export function firstTenant(sandbox: ClinicSandbox): ClinicSandbox['tenants'][number] {
  const [tenant] = sandbox.tenants;
  if (tenant === undefined) throw new Error('the sandbox has no tenant');
  return tenant;
}

/** One API call; `body` of the answer is parsed JSON, or undefined when there is none. */
export async function call(
  sandbox: ClinicSandbox,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; headers: Headers; body: Json }> {
  const response = await fetch(sandbox.baseUrl + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed: Json = text === '' ? {} : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: parsed };
}

/** The rows of a list's page. */
export function rowsOf(page: { body: Json }): Json[] {
  if (!Array.isArray(page.body.data)) throw new Error('the answer is no list');
  return page.body.data;
}

/** Fetches a complete list page by page until hasMore is false. */
export async function readAll(sandbox: ClinicSandbox, token: string, path: string, limit = 200): Promise<Json[]> {
  const rows: Json[] = [];
  for (let more = true; more; ) {
    const page = await call(
      sandbox,
      token,
      'GET',
      `${path}${path.includes('?') ? '&' : '?'}offset=${rows.length}&limit=${limit}`,
    );
    rows.push(...rowsOf(page));
    more = page.body.hasMore === true;
  }
  return rows;
}
