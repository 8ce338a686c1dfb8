import * as openid from 'openid-client';
import type { Account } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import { validateIdToken } from './id-token.ts';
import type { Reach } from './recording-fetch.ts';
import type { LoginAnswer } from './token-answer.ts';
import { accountOfClaims, accountOfHub, type Claims } from './told-account.ts';

/** Calls the authorization server, and throws {@link MirrorError}. */
export type CallServer = <Result>(
  label: string,
  signal: AbortSignal,
  run: (configuration: openid.Configuration) => Promise<Result>,
) => Promise<Result>;

/**
 * Whose a login is: by its id_token, where the keys are known by which it is signed; else by what only another question tells; else by
 * what the answer says of itself. Null when nothing tells, or can be asked now.
 * @param nonce that the request was sent with; null where it had none
 * @throws MirrorError `authorization`, code `id-token-rejected`; `remote` when its keys can't be read now
 */
export async function readAccount(
  reach: Reach,
  metadata: openid.ServerMetadata,
  call: CallServer,
  { answer, nonce }: { answer: LoginAnswer; nonce: string | null },
  signal: AbortSignal,
): Promise<Account | null> {
  const { provider } = reach;
  const { idToken } = answer.names;
  // A server of which nothing is known may sign as it likes.
  if (idToken !== null && metadata.jwks_uri !== undefined && provider.name !== 'oauth') {
    const checks = { nonce, skewMs: answer.skewMs };
    return accountOfClaims(provider, await validateIdToken(reach, metadata, idToken, checks, signal));
  }
  try {
    return (await askAccount(reach, metadata, call, answer, signal)) ?? answer.account;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MirrorError) return answer.account;
    throw error;
  }
}

/**
 * What the id_token of a login says, and beside it what the userinfo endpoint tells: some providers put addresses and groups there alone.
 * @throws MirrorError `authorization`, code `id-token-rejected`, for an answer without one too; `remote` when its keys can't be read now
 */
export async function readClaims(
  reach: Reach,
  metadata: openid.ServerMetadata,
  call: CallServer,
  { answer, nonce }: { answer: LoginAnswer; nonce: string },
  signal: AbortSignal,
): Promise<Claims> {
  const { names, skewMs, accessToken } = answer;
  const claims = await validateIdToken(reach, metadata, names.idToken ?? '', { nonce, skewMs }, signal);
  if (metadata.userinfo_endpoint === undefined) return claims;
  const asked = call('userinfo', signal, (configuration) =>
    openid.fetchUserInfo(configuration, accessToken, String(claims.sub)),
  );
  // Who it is stands in the id_token; where this can't be asked, less is known, and nobody is let in by it.
  const { email, email_verified, ...others } = (await asked.catch(() => null)) ?? {};
  // Whether an address is verified is said of the address beside it: one of another place is another address.
  const ofAddress = 'email' in claims || 'email_verified' in claims ? {} : { email, email_verified };
  return { ...others, ...ofAddress, ...claims };
}

async function askAccount(
  { provider }: Reach,
  { introspection_endpoint: introspection, userinfo_endpoint: userinfo }: openid.ServerMetadata,
  call: CallServer,
  { accessToken }: LoginAnswer,
  signal: AbortSignal,
): Promise<Account | null> {
  if (provider.name === 'hubspot' && introspection !== undefined) {
    return accountOfHub(
      await call('introspect', signal, (configuration) => openid.tokenIntrospection(configuration, accessToken)),
    );
  }
  if ((provider.name !== 'salesforce' && provider.name !== 'oauth') || userinfo === undefined) return null;
  const claims = await call('userinfo', signal, (configuration) =>
    openid.fetchUserInfo(configuration, accessToken, openid.skipSubjectCheck),
  );
  return accountOfClaims(provider, claims);
}
