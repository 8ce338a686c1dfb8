import * as openid from 'openid-client';
import { message } from '../messages/message.ts';
import type { Account } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
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

/** An authorization server that is asked, and until when. */
interface AskedServer {
  reach: Reach;
  metadata: openid.ServerMetadata;
  call: CallServer;
  signal: AbortSignal;
}

/**
 * Whose a login is: by its id_token, where the keys are known by which it is signed; else by what only another question tells; else by
 * what the answer says of itself. Null when nothing tells, or can be asked now.
 * @param nonce that the request was sent with; null where it had none
 * @throws MirrorError `authorization`, code `id-token-rejected`; `remote` when its keys can't be read now
 */
export async function readAccount(
  server: AskedServer,
  answer: LoginAnswer,
  nonce: string | null,
): Promise<Account | null> {
  const { metadata, signal } = server;
  const { provider } = server.reach;
  const { idToken } = answer.names;
  // A server of which nothing is known may sign as it likes.
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
 * What the id_token of a login says, and beside it what the userinfo endpoint tells: some providers put addresses and groups there alone.
 * @throws MirrorError `authorization`, code `id-token-rejected`, for an answer without one too; `remote` when its keys can't be read now
 */
export async function readClaims(server: AskedServer, answer: LoginAnswer, nonce: string): Promise<Claims> {
  const { metadata, call, signal } = server;
  const { names, skewMs, accessToken } = answer;
  const claims = await validateIdToken(server, names.idToken ?? '', { nonce, skewMs });
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

/** By how much its times may be off beside the difference of the clocks that the server's Date header tells. */
const TOLERANCE_SECONDS = 60;
/** What an id_token names its directory by may stand in the address of an issuer. */
const DIRECTORY = /^[\w-]+$/;

/** What an id_token must fit. */
interface IdTokenChecks {
  /** Sent with the request; null where none was, as with a device code. */
  nonce: string | null;
  /** The server's clock less ours. */
  skewMs: number;
}

/**
 * The claims of an id_token, validated as openid-client does it (OpenID Connect Core section 3.1.3.7): issuer, audience, authorized party,
 * times, nonce, and the signature by the keys that the server's metadata point to.
 * @throws MirrorError `authorization`, code `id-token-rejected`; `remote` when the keys can't be read now
 */
export async function validateIdToken(
  { reach, metadata, signal }: Omit<AskedServer, 'call'>,
  idToken: string,
  { nonce, skewMs }: IdTokenChecks,
): Promise<Claims> {
  const { provider } = reach;
  const issuer = issuerOf(provider.idTokenIssuers ?? [metadata.issuer], unvalidatedClaims(idToken) ?? {});
  // The library goes by this machine's clock.
  const aheadMs = reach.clock() + skewMs - Date.now();
  const client = { [openid.clockSkew]: Math.round(aheadMs / SECOND_MS), [openid.clockTolerance]: TOLERANCE_SECONDS };
  const configuration = new openid.Configuration({ ...metadata, issuer }, provider.clientId, client, openid.None());
  openid.enableNonRepudiationChecks(configuration);
  if (isPlainHttp(provider.issuer)) openid.allowInsecureRequests(configuration);
  const keys = recordingFetch(reach, 'keys', signal);
  const received = { access_token: 'received', token_type: 'bearer', id_token: idToken };
  // The tokens came before, and are safe: the library is given the answer again, and asks for the keys.
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

/** The issuer that a token must be of: of several, the one that it names; of a directory, its own. */
function issuerOf(issuers: readonly string[], { iss, tid }: Claims): string {
  const directory = typeof tid === 'string' && DIRECTORY.test(tid) ? tid : '';
  const filled = issuers.map((issuer) => issuer.replace('{tid}', directory));
  return filled.find((issuer) => issuer === iss) ?? filled[0] ?? '';
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
