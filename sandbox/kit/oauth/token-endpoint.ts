import { authenticateClient } from './client-authentication.ts';
import { sharedSigningKey, signJwt } from './jwt.ts';
import type { OAuth } from './oauth.ts';
import type { Client, Grant, PendingRequest, Place, TokenRequest } from './vendor.ts';
import { refusalOf, wordsFor } from './words.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const ID_TOKEN_LIFETIME_S = 3600;

/** Answers a token request (RFC 6749, RFC 7523, RFC 8628). Throws OAuthError. */
export function answerTokenRequest<C extends Client, G extends Grant>(
  oauth: OAuth<C, G>,
  request: TokenRequest,
): object {
  const { vendor, authorization, devices } = oauth;
  const { form, place } = request;
  const grantType = form.get('grant_type');
  if (grantType === JWT_BEARER && vendor.assertedGrant) {
    return give(oauth, request, vendor.assertedGrant(form.get('assertion') ?? '', place));
  }
  const client = authenticateClient(vendor, request);
  if (grantType === 'authorization_code') {
    const { grant, pending } = authorization.redeem(form, client);
    return give(oauth, request, grant, pending);
  }
  if (grantType === 'refresh_token') return refresh(oauth, request, client);
  if (grantType === 'client_credentials' && vendor.clientGrant) {
    return give(oauth, request, vendor.clientGrant(client, form));
  }
  if (grantType === DEVICE_CODE && vendor.device) {
    return give(oauth, request, devices.poll(form.get('device_code') ?? '', client));
  }
  throw refusalOf(vendor.words, 'grantType');
}

function give<C extends Client, G extends Grant>(
  oauth: OAuth<C, G>,
  request: TokenRequest,
  agreed: G,
  pending?: PendingRequest<C>,
): object {
  const grant = oauth.vendor.admit?.(agreed, request, pending) ?? agreed;
  const refreshToken = agreed.isLasting ? oauth.tokens.issueRefresh(agreed) : undefined;
  const nonce = pending?.query.get('nonce') ?? undefined;
  return answer(oauth, request.place, { agreed, grant, nonce, current: refreshToken, told: refreshToken });
}

function refresh<C extends Client, G extends Grant>(
  oauth: OAuth<C, G>,
  request: TokenRequest,
  { clientId }: C,
): object {
  const { vendor, tokens } = oauth;
  const token = request.form.get('refresh_token') ?? '';
  const found = tokens.findRefresh(token, clientId);
  if (!found) throw refusalOf(vendor.words, 'refreshUnknown');
  if (found.isOver) throw refusalOf(vendor.words, 'refreshExpired');
  const admitted = vendor.admit?.(found.grant, request, undefined) ?? found.grant;
  const grant = narrowed(oauth, admitted, request.form.get('scope'));
  return answer(oauth, request.place, { agreed: found.grant, grant, nonce: undefined, ...tokens.useRefresh(token) });
}

/** Narrows the grant, because a refresh may request fewer scopes, if the vendor checks the scopes. */
function narrowed<C extends Client, G extends Grant>({ vendor }: OAuth<C, G>, grant: G, scope: string | null): G {
  if (scope === null || !wordsFor(vendor.words, 'scopeWider')) return grant;
  const scopes = vendor.parseScopes?.(scope);
  if (!scopes?.every((each) => grant.scopes.includes(each))) throw refusalOf(vendor.words, 'scopeWider');
  return { ...grant, scopes };
}

interface Basis<G extends Grant> {
  agreed: G;
  grant: G;
  nonce: string | undefined;
  /** The refresh token that is valid from now on; `told` is the one in the answer. */
  current: string | undefined;
  told: string | undefined;
}

function answer<C extends Client, G extends Grant>(oauth: OAuth<C, G>, place: Place, basis: Basis<G>): object {
  const { vendor, tokens } = oauth;
  const { grant, agreed, current, told, nonce } = basis;
  const { token, lifetimeMs } = tokens.issueAccess(grant, agreed);
  const leftMs = current === undefined ? undefined : tokens.refreshLeftMs(current);
  return vendor.answer({
    grant,
    accessToken: token,
    expiresIn: toSeconds(lifetimeMs),
    refreshToken: told,
    refreshExpiresIn: leftMs === undefined ? undefined : toSeconds(leftMs),
    idToken: grant.scopes.includes('openid') ? idToken(oauth, grant, place, nonce) : undefined,
    place,
  });
}

/** OpenID Connect Core section 2. */
function idToken<C extends Client, G extends Grant>(
  { vendor }: OAuth<C, G>,
  grant: G,
  { issuer }: Place,
  nonce: string | undefined,
): string | undefined {
  if (!vendor.idClaims) return undefined;
  const issuedAt = toSeconds(vendor.now());
  const claims = {
    iss: issuer,
    aud: grant.client.clientId,
    ...vendor.idClaims(grant),
    nonce,
    iat: issuedAt,
    exp: issuedAt + ID_TOKEN_LIFETIME_S,
  };
  return signJwt(claims, sharedSigningKey());
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
