import { calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { Claims } from './accounts.ts';
import { callbackError } from './errors.ts';
import { codeRefused, loginUnknown } from './login.ts';
import type { AuthorizationServer } from './server.ts';

/** A sign-in of an administrator that is under way: what its answer must fit. */
export interface PendingSignIn {
  issuer: string;
  redirectUri: string;
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** Begins one by authorization code, with PKCE S256, state and nonce. @throws MirrorError `settings` or `remote` from the provider's metadata */
export async function beginSignIn(
  server: AuthorizationServer,
  scopes: readonly string[],
  redirectUri: string,
): Promise<{ url: URL; pending: PendingSignIn }> {
  const [state, nonce, codeVerifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
  const url = await server.authorizationUrl({
    ...{ redirect_uri: redirectUri, scope: scopes.join(' '), state, nonce },
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
  return { url, pending: { issuer: server.provider.issuer, redirectUri, state, nonce, codeVerifier } };
}

/**
 * Ends one with the address that the provider sent the browser to. Tokens are used for nothing but to tell who it is.
 * @throws MirrorError `authorization`: `login-unknown` when it is another provider's by now, `login-refused`, `login-code-refused`,
 *   `login-answer-rejected`, `id-token-rejected`; `remote` when the provider can't be asked
 */
export async function completeSignIn(
  server: AuthorizationServer,
  callback: URL,
  { issuer, redirectUri, state, nonce, codeVerifier }: PendingSignIn,
  signal: AbortSignal,
): Promise<Claims> {
  if (server.provider.issuer !== issuer) throw loginUnknown();
  // The address as we asked for it: behind a proxy the request carries another one.
  const response = new URL(redirectUri);
  response.search = callback.search;
  const refusal = callbackError(response);
  if (refusal !== null) throw refusal;
  const answer = await server.exchangeCode(response, { state, codeVerifier }, signal).catch(codeRefused);
  return server.claimsOf(answer, nonce, signal);
}
