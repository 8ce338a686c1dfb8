import { calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { Claims } from './accounts.ts';
import type { SignInDemands } from './ask-account.ts';
import { callbackError } from './errors.ts';
import { codeRefused, loginUnknown } from './login.ts';
import type { AuthorizationServer } from './server.ts';

/** Sign-in of an administrator in progress, with the required values of the answer. */
export interface PendingSignIn {
  issuer: string;
  redirectUri: string;
  state: string;
  nonce: string;
  codeVerifier: string;
  demands: SignInDemands;
}

/**
 * Starts a sign-in by authorization code, with PKCE S256, state and nonce. @throws MirrorError `settings` or `remote` from the provider's
 * metadata
 */
export async function beginSignIn(
  server: AuthorizationServer,
  scopes: readonly string[],
  redirectUri: string,
  demands: SignInDemands,
): Promise<{ url: URL; pending: PendingSignIn }> {
  const [state, nonce, codeVerifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
  const url = await server.authorizationUrl({
    ...{ redirect_uri: redirectUri, scope: scopes.join(' '), state, nonce },
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(demands.acrValues.length === 0 ? {} : { acr_values: demands.acrValues.join(' ') }),
    ...(demands.maxAgeSeconds === null ? {} : { max_age: String(demands.maxAgeSeconds) }),
  });
  return { url, pending: { issuer: server.provider.issuer, redirectUri, state, nonce, codeVerifier, demands } };
}

/**
 * Completes a sign-in with the provider's redirect. Tokens are only used to identify the administrator.
 * @throws MirrorError `authorization`: `login-unknown` after a change of the provider, `login-refused`, `login-code-refused`,
 * `login-answer-rejected`, `id-token-rejected`, `sign-in-too-weak`; `remote` if the provider is unavailable
 */
export async function completeSignIn(
  server: AuthorizationServer,
  callback: URL,
  { issuer, redirectUri, state, nonce, codeVerifier, demands }: PendingSignIn,
  signal: AbortSignal,
): Promise<Claims> {
  if (server.provider.issuer !== issuer) throw loginUnknown();
  // The requested redirect URL: behind a proxy, the received request has a different URL.
  const response = new URL(redirectUri);
  response.search = callback.search;
  const refusal = callbackError(response);
  if (refusal !== null) throw refusal;
  const answer = await server.exchangeCode(response, { state, codeVerifier }, signal).catch(codeRefused);
  return server.claimsOf(answer, { nonce, demands }, signal);
}
