import { createHash } from 'node:crypto';
import type { Authorization } from './authorization.ts';
import type { Grant, Grants } from './grants.ts';
import { invalidGrant, OAuthError } from './oauth-error.ts';
import type { OAuthClient, Settings } from './options.ts';
import { parseScopes } from './scopes.ts';
import type { ServiceAccounts } from './service-accounts.ts';
import { type SigningKey, signJwt } from './signing.ts';

/** What the OAuth endpoints work with; `url` is the issuer. */
export interface TokenEndpointParts {
  url: string;
  settings: Settings;
  grants: Grants;
  authorization: Authorization;
  serviceAccounts: ServiceAccounts;
  signingKey: SigningKey;
}

/** Answers a token request (RFC 6749 §4.1.3, §6; RFC 7523). Throws OAuthError. */
export function answerTokenRequest(
  parts: TokenEndpointParts,
  form: URLSearchParams,
  authorizationHeader: string | undefined,
): object {
  switch (form.get('grant_type')) {
    case 'authorization_code':
      return redeemCode(parts, form, clientOf(parts.settings, form, authorizationHeader));
    case 'refresh_token':
      return refresh(parts, form, clientOf(parts.settings, form, authorizationHeader));
    case 'urn:ietf:params:oauth:grant-type:jwt-bearer': {
      const grant = parts.serviceAccounts.grantOf(form.get('assertion') ?? '', `${parts.url}/token`);
      return tokenAnswer(parts, grant, {});
    }
    default:
      throw new OAuthError(400, 'unsupported_grant_type', 'Invalid grant_type');
  }
}

/** The account of an OpenID Connect subject: stable, and not the address. */
export function subjectOf(account: string): string {
  return BigInt(`0x${createHash('sha256').update(account).digest('hex').slice(0, 17)}`).toString();
}

function clientOf(settings: Settings, form: URLSearchParams, header: string | undefined): OAuthClient {
  const basic = /^Basic (\S+)$/i.exec(header ?? '')?.[1];
  const [id, secret] =
    basic === undefined
      ? [form.get('client_id'), form.get('client_secret')]
      : Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent);
  const client = settings.clients.find((known) => known.clientId === id);
  if (!client) {
    throw new OAuthError(401, 'invalid_client', 'The OAuth client was not found.');
  }
  if (client.clientSecret !== secret) {
    throw new OAuthError(401, 'invalid_client', 'Unauthorized');
  }
  return client;
}

function redeemCode(parts: TokenEndpointParts, form: URLSearchParams, client: OAuthClient): object {
  const code = parts.authorization.redeem(form.get('code') ?? '');
  if (code.grant.client.clientId !== client.clientId) {
    throw invalidGrant('Malformed auth code.');
  }
  if (code.redirectUri !== form.get('redirect_uri')) {
    throw new OAuthError(400, 'redirect_uri_mismatch', 'Bad Request');
  }
  if (code.codeChallenge !== undefined && code.codeChallenge !== s256(form.get('code_verifier') ?? '')) {
    throw invalidGrant('Invalid code verifier.');
  }
  const { refreshTokenLifetimeMs } = parts.settings;
  const lifetime =
    refreshTokenLifetimeMs === undefined ? {} : { refresh_token_expires_in: toSeconds(refreshTokenLifetimeMs) };
  const refreshToken = code.withRefreshToken
    ? { refresh_token: parts.grants.issueRefreshToken(code.grant), ...lifetime }
    : {};
  return tokenAnswer(parts, code.grant, refreshToken, code.nonce);
}

function refresh(parts: TokenEndpointParts, form: URLSearchParams, client: OAuthClient): object {
  const { grant, expiresAt } = parts.grants.useRefreshToken(form.get('refresh_token') ?? '', client.clientId);
  const asked = form.get('scope');
  const scopes = asked === null ? grant.scopes : parseScopes(asked);
  if (!scopes?.every((scope) => grant.scopes.includes(scope))) {
    throw new OAuthError(400, 'invalid_scope', 'Some requested scopes were not granted.');
  }
  const left = expiresAt - parts.settings.now();
  const lifetime = Number.isFinite(left) ? { refresh_token_expires_in: toSeconds(left) } : {};
  return tokenAnswer(parts, { ...grant, scopes }, lifetime);
}

function tokenAnswer(parts: TokenEndpointParts, grant: Grant, more: object, nonce?: string): object {
  return {
    access_token: parts.grants.issueAccessToken(grant),
    expires_in: toSeconds(parts.settings.accessTokenLifetimeMs),
    token_type: 'Bearer',
    ...(grant.serviceAccount === undefined ? { scope: grant.scopes.join(' ') } : {}),
    ...(grant.scopes.includes('openid') ? { id_token: idToken(parts, grant, nonce) } : {}),
    ...more,
  };
}

function idToken({ url, settings, signingKey }: TokenEndpointParts, grant: Grant, nonce: string | undefined): string {
  const issuedAt = toSeconds(settings.now());
  const claims = {
    iss: url,
    azp: grant.client.clientId,
    aud: grant.client.clientId,
    sub: subjectOf(grant.account),
    email: grant.account,
    email_verified: true,
    nonce,
    iat: issuedAt,
    exp: issuedAt + 3600,
  };
  return signJwt(claims, signingKey);
}

function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
