import { createHash } from 'node:crypto';
import type { Authorization } from './authorization.ts';
import { authenticateClient } from './client-authentication.ts';
import type { Grant, Grants } from './grants.ts';
import { invalidGrant, OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';
import { parseScopes, toldScopes } from './scopes.ts';
import { type SigningKey, signJwt } from './signing.ts';
import type { World } from './world.ts';

/** What the OAuth endpoints work with. */
export interface OAuthParts {
  settings: Settings;
  world: World;
  grants: Grants;
  authorization: Authorization;
  /** Made when it is first needed. */
  signingKey(): SigningKey;
}

/** One request to the token endpoint; `issuer` and `tokenUrl` as the client addressed them. */
export interface TokenRequest {
  form: URLSearchParams;
  authorization: string | undefined;
  issuer: string;
  tokenUrl: string;
}

/** Answers a token request (RFC 6749, RFC 7523, RFC 8628). Throws OAuthError. */
export function answerTokenRequest(parts: OAuthParts, request: TokenRequest): object {
  const { form, authorization, issuer, tokenUrl } = request;
  const application = authenticateClient(parts.settings, form, authorization, [tokenUrl, issuer]);
  const claims = form.get('claims');
  switch (form.get('grant_type')) {
    case 'authorization_code':
      return redeemCode(parts, request, application);
    case 'refresh_token': {
      const grant = parts.grants.useRefreshToken(form.get('refresh_token') ?? '', application.clientId, claims);
      return tokenAnswer(parts, narrowed(grant, form.get('scope')), { issuer, claims, lasting: grant });
    }
    case 'client_credentials':
      return tokenAnswer(parts, appGrant(application, form.get('scope') ?? ''), { issuer, claims });
    case 'urn:ietf:params:oauth:grant-type:device_code': {
      const grant = parts.authorization.pollDevice(form.get('device_code') ?? '', application.clientId);
      parts.grants.loggedIn(grant.account ?? '');
      return tokenAnswer(parts, grant, { issuer, claims, lasting: grant });
    }
    default:
      throw new OAuthError(400, 'unsupported_grant_type', 70_003, 'The app requested an unsupported grant type.');
  }
}

function redeemCode(parts: OAuthParts, { form, issuer }: TokenRequest, application: Application): object {
  const code = parts.authorization.redeem(form.get('code') ?? '');
  if (code.grant.application.clientId !== application.clientId || code.redirectUri !== form.get('redirect_uri')) {
    throw invalidGrant(700_005, 'The code was issued to another client or redirect URI.');
  }
  const verifier = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (code.codeChallenge !== undefined && code.codeChallenge !== verifier) {
    throw invalidGrant(501_481, 'The Code_Verifier does not match the code_challenge.');
  }
  parts.grants.loggedIn(code.grant.account ?? '');
  const claims = form.get('claims') ?? code.claims;
  return tokenAnswer(parts, code.grant, { issuer, claims, lasting: code.grant, nonce: code.nonce });
}

function narrowed(grant: Grant, scope: string | null): Grant {
  const asked = scope === null ? grant.scopes : parseScopes(scope);
  if (!asked?.every((each) => grant.scopes.includes(each))) {
    throw invalidGrant(
      65_001,
      'The user or administrator has not consented to use the application.',
      'consent_required',
    );
  }
  return { ...grant, scopes: asked };
}

/** Everything that the administrator agreed to, and nothing less (`/.default` of the one resource). */
function appGrant(application: Application, scope: string): Grant {
  if (application.clientSecret === undefined && application.certificates.length === 0) {
    throw new OAuthError(401, 'invalid_client', 7_000_218, 'A public client has no credentials of its own.');
  }
  if (!/^https?:\/\/[^/ ]+\/\.default$/.test(scope)) {
    throw new OAuthError(400, 'invalid_scope', 70_011, "The scope must be the resource's /.default.");
  }
  return { account: undefined, application, scopes: application.roles };
}

function tokenAnswer(
  { grants, world, signingKey, settings }: OAuthParts,
  grant: Grant,
  more: { issuer: string; claims: string | null; lasting?: Grant; nonce?: string | undefined },
): object {
  const { token, lifetimeMs } = grants.issueAccessToken(grant, more.claims);
  const expiresIn = Math.floor(lifetimeMs / 1000);
  const isLasting = more.lasting?.scopes.includes('offline_access') ?? false;
  const { account } = grant;
  const answer = { token_type: 'Bearer', expires_in: expiresIn, ext_expires_in: expiresIn, access_token: token };
  if (account === undefined) {
    return answer;
  }
  const issuedAt = Math.floor(settings.now() / 1000);
  const idToken = {
    iss: more.issuer,
    aud: grant.application.clientId,
    sub: createHash('sha256').update(`${grant.application.clientId} ${account}`).digest('base64url'),
    oid: world.mailbox(account).id,
    tid: settings.tenantId,
    preferred_username: account,
    email: account,
    ver: '2.0',
    nonce: more.nonce,
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + 3600,
  };
  return {
    ...answer,
    scope: toldScopes(grant.scopes),
    ...(isLasting && more.lasting ? { refresh_token: grants.issueRefreshToken(more.lasting) } : {}),
    ...(grant.scopes.includes('openid') ? { id_token: signJwt(idToken, signingKey()) } : {}),
  };
}
