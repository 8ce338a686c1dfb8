import { createHash } from 'node:crypto';
import { createOAuth, type OAuth } from '../kit/oauth/oauth.ts';
import { bearerOf } from '../kit/oauth/routes.ts';
import type { LoginRules, OAuthVendor, Place } from '../kit/oauth/vendor.ts';
import { type VendorWords, words } from '../kit/oauth/words.ts';
import type { Caller } from './call.ts';
import { Consents } from './consents.ts';
import type { Grant } from './grant.ts';
import type { OAuthClient, Settings } from './options.ts';
import { isLoginScope, longForm, parseScopes, shortScope } from './scopes.ts';
import type { ServiceAccounts } from './service-accounts.ts';
import type { World } from './world.ts';

/** Google's OAuth, and the grants of accounts. */
export interface GoogleOAuth extends OAuth<OAuthClient, Grant> {
  /** The caller behind an Authorization header; undefined when its token is unknown, expired or revoked. */
  findCaller(authorization: string | undefined): Caller | undefined;
  /** Ends an account's consent to one client, or to all, and with it every token. */
  revoke(account: string, clientId?: string): void;
}

/** Live refresh tokens per account and client; the oldest dies silently. */
const MOST_REFRESH_TOKENS = 100;
/** A refresh token that is not used for six months dies. */
const REFRESH_IDLE_MS = 183 * 86_400_000;

const WORDS: VendorWords = {
  clientUnknown: words('invalid_client', 'The OAuth client was not found.', { status: 401 }),
  secretWrong: words('invalid_client', 'Unauthorized', { status: 401 }),
  redirectUnknown: words('redirect_uri_mismatch', "The redirect URI doesn't match the ones of the client."),
  responseType: words('unsupported_response_type', 'Only the code flow is supported.'),
  scopeUnknown: words('invalid_scope', 'Some requested scopes were invalid.'),
  challengeMethod: words('invalid_request', 'PKCE with S256 is required.'),
  personNeeded: words('interaction_required', 'A user must answer.'),
  requestOver: words('invalid_request', 'This request is over.'),
  codeUnknown: words('invalid_grant', 'Malformed auth code.'),
  codeRedirect: words('redirect_uri_mismatch', 'Bad Request'),
  codeVerifier: words('invalid_grant', 'Invalid code verifier.'),
  refreshUnknown: words('invalid_grant', 'Token has been expired or revoked.'),
  scopeWider: words('invalid_scope', 'Some requested scopes were not granted.'),
  grantType: words('unsupported_grant_type', 'Invalid grant_type'),
};

/** Google's OAuth for the sandbox. @param url where it listens: its issuer */
export function googleOAuth(
  world: World,
  settings: Settings,
  serviceAccounts: ServiceAccounts,
  url: () => string,
): GoogleOAuth {
  const consents = new Consents();
  const vendor: OAuthVendor<OAuthClient, Grant> = {
    now: () => settings.now(),
    clients: settings.clients,
    words: WORDS,
    errorBody: ({ error, description }) => ({ error, error_description: description }),
    place: () => {
      const issuer = settings.namesGoogle ? GOOGLE.accounts : url();
      return { origin: issuer, issuer, base: '' };
    },
    login: loginRules(world, consents),
    clientBy: ['basic', 'form'],
    access: { prefix: 'ya29.', chance: 60, lifetimeMs: () => settings.accessTokenLifetimeMs },
    refresh: {
      prefix: '1//0',
      chance: 50,
      rules: () => ({
        rotation: 'kept',
        idleMs: REFRESH_IDLE_MS,
        lifetimeMs: settings.refreshTokenLifetimeMs,
        most: { count: MOST_REFRESH_TOKENS, ends: 'token' },
      }),
    },
    parseScopes,
    assertedGrant: (assertion, place) => serviceAccounts.grantOf(assertion, tokenUrl(place)),
    idClaims: ({ account, client, scopes }) => ({
      azp: client.clientId,
      sub: subjectOf(account),
      ...(scopes.includes(longForm('email')) ? { email: account, email_verified: true } : {}),
      hd: settings.workspaceDomains.find((domain) => account.endsWith(`@${domain}`)),
    }),
    answer: ({ grant, accessToken, expiresIn, refreshToken, refreshExpiresIn, idToken }) => ({
      access_token: accessToken,
      expires_in: expiresIn,
      token_type: 'Bearer',
      scope: grant.serviceAccount === undefined ? grant.scopes.join(' ') : undefined,
      id_token: idToken,
      refresh_token: refreshToken,
      refresh_token_expires_in: refreshExpiresIn,
    }),
  };
  const oauth = createOAuth(vendor);
  return {
    ...oauth,
    findCaller: (authorization) => {
      const grant = oauth.tokens.findAccess(bearerOf(authorization));
      if (!grant) return undefined;
      const { account, client, scopes, serviceAccount } = grant;
      return { account, ...client, serviceAccount, scopes: new Set(scopes.map(shortScope)) };
    },
    revoke: (account, clientId) => {
      consents.end(account, clientId);
      oauth.tokens.endGrants(
        (grant) => grant.account === account && (clientId === undefined || grant.client.clientId === clientId),
      );
    },
  };
}

/** Google's own servers of OAuth and of the API (https://accounts.google.com/.well-known/openid-configuration). */
export const GOOGLE = {
  accounts: 'https://accounts.google.com',
  oauth: 'https://oauth2.googleapis.com',
  openid: 'https://openidconnect.googleapis.com',
  api: 'https://www.googleapis.com',
} as const;

/** The servers of one place: Google's, or one for all. */
export function serversAt({ issuer }: Pick<Place, 'issuer'>): Readonly<Record<keyof typeof GOOGLE, string>> {
  return issuer === GOOGLE.accounts ? GOOGLE : { accounts: issuer, oauth: issuer, openid: issuer, api: issuer };
}

/** Returns the URL of the token endpoint, which is the audience of assertions. */
export function tokenUrl(place: Pick<Place, 'issuer'>): string {
  return `${serversAt(place).oauth}/token`;
}

/** Returns the OpenID Connect subject of an account: stable, and different from the email address. */
export function subjectOf(account: string): string {
  return BigInt(`0x${createHash('sha256').update(account).digest('hex').slice(0, 17)}`).toString();
}

function loginRules(world: World, consents: Consents): LoginRules<OAuthClient, Grant> {
  return {
    paths: { prefix: '', authorize: '/o/oauth2/v2/auth', answer: '/o/oauth2/v2/consent' },
    code: { prefix: '4/0', chance: 32, lifetimeMs: 10 * 60_000 },
    allowsLoopback: ({ type }) => type === 'desktop',
    needsChallenge: ({ type }) => type === 'desktop',
    tellsIssuer: true,
    scopesOf: (query) => parseScopes(query.get('scope') ?? ''),
    page: {
      heading: (clientId) => `${clientId} wants access`,
      allow: 'Continue',
      people: () => [...world.accounts.values()].filter((each) => !each.isServiceAccount).map(({ email }) => email),
      canUntick: (scope) => !isLoginScope(scope),
    },
    // A refresh token comes with the first consent of this account to this client, and later only with prompt=consent.
    agree: ({ client, scopes: asked, query }, account, ticked) => {
      const chosen = asked.filter((scope) => isLoginScope(scope) || ticked.includes(scope));
      if (!account.includes('@') || chosen.length === 0) return undefined;
      const { email } = world.account(account);
      const { clientId, project } = client;
      const earlier = consents.scopes(email, clientId);
      const isConsentAsked = (query.get('prompt') ?? '').split(' ').includes('consent');
      const isKept = query.get('include_granted_scopes') === 'true';
      const scopes = [...new Set([...chosen, ...(isKept ? (earlier ?? []) : [])])];
      consents.add(email, clientId, scopes);
      const isLasting = query.get('access_type') === 'offline' && (earlier === undefined || isConsentAsked);
      return { account: email, client: { clientId, project }, scopes, isLasting };
    },
    denied: { error: 'access_denied' },
  };
}
