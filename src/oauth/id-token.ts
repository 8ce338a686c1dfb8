import * as openid from 'openid-client';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { toMirrorError } from './errors.ts';
import { isPlainHttp } from './providers.ts';
import { type Reach, recordingFetch } from './recording-fetch.ts';
import { type Claims, unvalidatedClaims } from './told-account.ts';

/** By how much its times may be off beside the difference of the clocks that the server's Date header tells. */
const TOLERANCE_SECONDS = 60;
/** What an id_token names its directory by may stand in the address of an issuer. */
const DIRECTORY = /^[\w-]+$/;

/** What an id_token must fit. */
export interface IdTokenChecks {
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
  reach: Reach,
  metadata: openid.ServerMetadata,
  idToken: string,
  { nonce, skewMs }: IdTokenChecks,
  signal: AbortSignal,
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
  return new MirrorError('the provider tells whose login it is in a way that does not stand up to its checks', {
    actor: 'authorization',
    code: 'id-token-rejected',
    retry: 'never',
    remedy: "begin the login again; if it comes back, check this machine's clock, the issuer and the client id",
    ...(cause === undefined ? {} : { cause }),
  });
}
