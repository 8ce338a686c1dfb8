import * as openid from 'openid-client';
import type { Account } from '../core/model/credentials.ts';
import { MirrorError } from '../core/model/errors.ts';
import { SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { accountOfClaims, accountOfHub, type Claims, unvalidatedClaims } from './accounts.ts';
import { toMirrorError } from './errors.ts';
import { isPlainHttp } from './providers.ts';
import type { LoginAnswer } from './token-requests.ts';
import { type Reach, recordingFetch } from './token-requests.ts';

/** Calls the authorization server, and throws {@link MirrorError}. */
type CallServer = <Result>(
  label: string,
  signal: AbortSignal,
  run: (configuration: openid.Configuration) => Promise<Result>,
) => Promise<Result>;

/** What the provider must confirm in the id_token, beyond the identity (OpenID Connect Core sections 2 and 3.1.2.1). */
export interface SignInDemands {
  /** Requested, and one of them must be the claim `acr`; empty: any. */
  acrValues: readonly string[];
  /** All of them must be in the claim `amr`; no parameter requests them. */
  amr: readonly string[];
  /** Requested as `max_age`, and compared with `auth_time`; null: any age. */
  maxAgeSeconds: number | null;
  /** Whether an answer without `auth_time` is refused even from a provider that announces no such claim. */
  needsAuthTime: boolean;
}

/** Authorization server for a request, with its signal. */
interface AskedServer {
  reach: Reach;
  metadata: openid.ServerMetadata;
  call: CallServer;
  signal: AbortSignal;
}

/**
 * Returns the account of a connection. Reads the id_token if its signing keys are known, otherwise an additional endpoint, otherwise the
 * members of the answer. Returns null if no source identifies the account at the moment.
 * @param nonce nonce of the request; null without a nonce
 * @throws MirrorError `authorization`, code `id-token-rejected`; `remote` if the keys cannot be fetched at the moment
 */
export async function readAccount(
  server: AskedServer,
  answer: LoginAnswer,
  nonce: string | null,
): Promise<Account | null> {
  const { metadata, signal } = server;
  const { provider } = server.reach;
  const { idToken } = answer.names;
  // An unknown server may sign by any method.
  if (idToken !== null && metadata.jwks_uri !== undefined && provider.name !== 'oauth') {
    const checks = { nonce, skewMs: answer.skewMs };
    return accountOfClaims(provider, await validateIdToken(server, idToken, checks));
  }
  try {
    return (await askAccount(server, answer)) ?? answer.account;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MirrorError) return answer.account;
    throw error;
  }
}

/**
 * Returns the claims of an id_token, combined with the userinfo endpoint: some providers report e-mail addresses and groups only there.
 * @throws MirrorError `authorization`, code `id-token-rejected`, also without an id_token, or `sign-in-too-weak`; `remote` if the keys cannot
 * be fetched at the moment
 */
export async function readClaims(
  server: AskedServer,
  answer: LoginAnswer,
  { nonce, demands }: { nonce: string; demands: SignInDemands },
): Promise<Claims> {
  const { metadata, call, signal } = server;
  const { names, skewMs, accessToken } = answer;
  const claims = await validateIdToken(server, names.idToken ?? '', { nonce, skewMs });
  const isTimeAnnounced = metadata.claims_supported?.includes('auth_time') === true;
  const unmet = unmetDemand(claims, demands, isTimeAnnounced, server.reach.clock() + skewMs);
  if (unmet !== null) throw tooWeak(unmet);
  if (metadata.userinfo_endpoint === undefined) return claims;
  const asked = call('userinfo', signal, (configuration) =>
    openid.fetchUserInfo(configuration, accessToken, String(claims.sub)),
  );
  // The id_token identifies the user. A failed userinfo request only reduces the known data, and never admits a user.
  const fromUserinfo: Claims = (await asked.catch(() => null)) ?? {};
  // Only the id_token proves when the user authenticated.
  const { email, email_verified, auth_time: _, ...others } = fromUserinfo;
  // `email_verified` applies only to the e-mail address from the same source.
  const ofAddress = 'email' in claims || 'email_verified' in claims ? {} : { email, email_verified };
  return { ...others, ...ofAddress, ...claims };
}

/**
 * Returns the name of a claim of the id_token that does not meet the demands; null if all do. A provider that announces `auth_time` must
 * send it for `max_age` (OpenID Connect Core section 3.1.3.7): otherwise the user removed `max_age` from the request in the browser.
 */
function unmetDemand(
  { acr, amr, auth_time: authTime }: Claims,
  { acrValues, amr: methods, maxAgeSeconds, needsAuthTime }: SignInDemands,
  isTimeAnnounced: boolean,
  now: number,
): string | null {
  if (acrValues.length > 0 && !acrValues.some((value) => value === acr)) return 'acr';
  const used: readonly unknown[] = Array.isArray(amr) ? amr : [];
  if (!methods.every((method) => used.includes(method))) return 'amr';
  if (maxAgeSeconds === null || (authTime === undefined && !needsAuthTime && !isTimeAnnounced)) return null;
  const ageSeconds = typeof authTime === 'number' ? now / SECOND_MS - authTime : Number.POSITIVE_INFINITY;
  return ageSeconds <= maxAgeSeconds + TOLERANCE_SECONDS && ageSeconds >= -TOLERANCE_SECONDS ? null : 'auth_time';
}

async function askAccount(
  { reach: { provider }, metadata, call, signal }: AskedServer,
  { accessToken }: LoginAnswer,
): Promise<Account | null> {
  const { introspection_endpoint: introspection, userinfo_endpoint: userinfo } = metadata;
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

/** Tolerance for token times, in addition to the clock difference from the server's Date header. */
const TOLERANCE_SECONDS = 60;
/** Directory id from an id_token, safe for use in an issuer URL. */
const DIRECTORY = /^[\w-]+$/;

/** Required values of an id_token. */
interface IdTokenChecks {
  /** Nonce of the request; null without a nonce, as for a device code. */
  nonce: string | null;
  /** Server clock minus local clock. */
  skewMs: number;
}

/**
 * Returns the claims of an id_token after validation by openid-client (OpenID Connect Core section 3.1.3.7): issuer, audience, authorized
 * party, times, nonce, and the signature by the keys in the server's metadata.
 * @throws MirrorError `authorization`, code `id-token-rejected`; `remote` if the keys cannot be fetched at the moment
 */
export async function validateIdToken(
  { reach, metadata, signal }: Omit<AskedServer, 'call'>,
  idToken: string,
  { nonce, skewMs }: IdTokenChecks,
): Promise<Claims> {
  const { provider } = reach;
  const issuer = issuerOf(provider.idTokenIssuers ?? [metadata.issuer], unvalidatedClaims(idToken) ?? {});
  // The library uses the local clock.
  const aheadMs = reach.clock() + skewMs - Date.now();
  const client = { [openid.clockSkew]: Math.round(aheadMs / SECOND_MS), [openid.clockTolerance]: TOLERANCE_SECONDS };
  const configuration = new openid.Configuration({ ...metadata, issuer }, provider.clientId, client, openid.None());
  openid.enableNonRepudiationChecks(configuration);
  if (isPlainHttp(provider.issuer)) openid.allowInsecureRequests(configuration);
  const keys = recordingFetch(reach, 'keys', signal);
  const received = { access_token: 'received', token_type: 'bearer', id_token: idToken };
  // The tokens are already received and safe: the library gets the received answer again, and fetches only the keys.
  configuration[openid.customFetch] = async (url, options) =>
    options.method === 'POST' ? Response.json(received) : keys.fetch(url, options);
  try {
    const claims = (await openid.genericGrantRequest(configuration, 'received', {})).claims();
    if (claims === undefined || (claims.nonce ?? null) !== nonce) throw rejected();
    return claims;
  } catch (error) {
    const failure = toMirrorError(error, keys.facts());
    throw failure.actor === 'remote' || failure.code === 'id-token-rejected' ? failure : rejected(failure);
  }
}

/**
 * Returns the required issuer of a token: among several issuers, the issuer that the token names; for a directory, the directory's issuer.
 */
function issuerOf(issuers: readonly string[], { iss, tid }: Claims): string {
  const directory = typeof tid === 'string' && DIRECTORY.test(tid) ? tid : '';
  const filled = issuers.map((issuer) => issuer.replace('{tid}', directory));
  return filled.find((issuer) => issuer === iss) ?? filled[0] ?? '';
}

function tooWeak(claim: string): MirrorError {
  return new MirrorError(message('sign-in-too-weak', { claim }), {
    ...{ actor: 'authorization', code: 'sign-in-too-weak', retry: 'never' },
    remedy: message('sign-in-too-weak.remedy'),
  });
}

function rejected(cause?: unknown): MirrorError {
  return new MirrorError(message('id-token-rejected'), {
    actor: 'authorization',
    code: 'id-token-rejected',
    retry: 'never',
    remedy: message('id-token-rejected.remedy'),
    ...(cause === undefined ? {} : { cause }),
  });
}
