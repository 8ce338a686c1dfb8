import { randomUUID } from 'node:crypto';
import { sharedSigningKey } from '../../kit/oauth/jwt.ts';
import type { Accounts } from './accounts.ts';
import type { Clients } from './clients.ts';
import { errors, type OidcContext, Provider } from './engine.ts';
import { escapeHtml, page, userCodeConfirmPage, userCodePage } from './pages.ts';
import type { TokenStore } from './token-store.ts';

/** Grants outlive everything issued under them; they end by revocation only. */
const GRANT_LIFETIME_SECONDS = 10 * 365 * 86_400;

export interface TokenPolicy {
  accessTokenLifetimeSeconds: number;
  /** From the last use: rotation or, without it, use renews it. */
  refreshTokenLifetimeSeconds: number;
  authorizationCodeLifetimeSeconds: number;
  deviceCodeLifetimeSeconds: number;
  /** Polling interval that the device authorization response gives to devices. */
  deviceIntervalSeconds: number;
  /** Each refresh gives a new refresh token, and using an old one again ends the whole family. */
  rotateRefreshTokens: boolean;
  /** Who must use PKCE: clients that can't keep a secret (specification section 5.3), or all. */
  pkce: 'public' | 'all';
  /** Whether a request must contain the scope `openid` (specification section 5.7). */
  openid: 'mandatory' | 'optional';
}

export interface ProviderParts {
  issuer: string;
  userinfoEndpoint: string;
  scopes: readonly string[];
  accounts: Accounts;
  clients: Clients;
  tokens: TokenStore;
  policy: TokenPolicy;
}

/** The authorization server's engine, set up as sections 5.1 to 5.8 of the clinic API's specification say. */
export function createProvider(parts: ProviderParts): Provider {
  const { policy, tokens } = parts;
  const provider = new Provider(parts.issuer, {
    adapter: (model: string) => adapterOf(parts, model),
    jwks: { keys: [{ ...sharedSigningKey().privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'sandbox' }] },
    cookies: { keys: [randomUUID()] },
    scopes: [...parts.scopes],
    responseTypes: ['code'],
    routes: ROUTES,
    pkce: {
      required: (_context: OidcContext, client: { clientAuthMethod: string }) =>
        policy.pkce === 'all' || client.clientAuthMethod === 'none',
    },
    // Listed here although `scope` is a standard parameter, so that the check below runs on it.
    extraParams: {
      scope(_context: OidcContext, scope: string | undefined) {
        if (policy.openid === 'optional' || scope?.split(' ').includes('openid')) return;
        throw new errors.InvalidScope('the scope openid is mandatory', scope ?? '');
      },
    },
    clockTolerance: 0,
    clientAuthMethods: ['client_secret_post', 'client_secret_basic', 'none'],
    clientBasedCORS: () => false,
    discovery: { userinfo_endpoint: parts.userinfoEndpoint },
    interactions: { url: (_context: OidcContext, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    features: featuresOf(),
    findAccount: (_context: OidcContext, sub: string) => findAccount(parts.accounts, sub),
    loadExistingGrant: (context: OidcContext) => grantOfThisConsent(context),
    issueRefreshToken: (_context: OidcContext, _client: unknown, source: { scopes: Set<string> }) =>
      source.scopes.has('offline_access'),
    expiresWithSession: () => false,
    rotateRefreshToken: () => policy.rotateRefreshTokens,
    renderError,
    ttl: lifetimes(policy),
  });
  provider.on('device_authorization.success', (_context, answer) => {
    if (typeof answer === 'object' && answer !== null)
      Object.assign(answer, { interval: policy.deviceIntervalSeconds });
  });
  provider.on('grant.success', ({ oidc }) => {
    const { RefreshToken, RotatedRefreshToken } = oidc.entities;
    if (RefreshToken !== undefined && RotatedRefreshToken === undefined) {
      tokens.extend('RefreshToken', RefreshToken.jti, policy.refreshTokenLifetimeSeconds);
    }
  });
  return provider;
}

const ROUTES = {
  authorization: '/connect/authorize',
  token: '/connect/token',
  revocation: '/connect/revocation',
  device_authorization: '/connect/deviceauthorization',
  code_verification: '/device',
  jwks: '/.well-known/openid-configuration/jwks',
};

function adapterOf({ clients, tokens }: ProviderParts, model: string): unknown {
  const adapter = tokens.adapter(model);
  return model === 'Client' ? { ...adapter, find: async (id: string) => clients.metadata(id) } : adapter;
}

function featuresOf(): Record<string, unknown> {
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    dPoP: { enabled: false },
    resourceIndicators: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: (_context: OidcContext, client: { clientId: string }, token: { clientId: string }) =>
        token.clientId === client.clientId,
    },
    deviceFlow: {
      enabled: true,
      userCodeInputSource: (context: OidcContext, form: string, _out: unknown, problem?: Error) => {
        context.body = userCodePage(form, problem === undefined ? undefined : 'That code does not work.');
      },
      userCodeConfirmSource: (
        context: OidcContext,
        form: string,
        client: { clientId: string },
        _device: unknown,
        userCode: string,
      ) => {
        context.body = userCodeConfirmPage(form, client.clientId, userCode);
      },
      successSource: (context: OidcContext) => {
        context.body = page('Device connected', '<p>You can close this page.</p>');
      },
    },
  };
}

async function findAccount(accounts: Accounts, sub: string): Promise<unknown> {
  const account = accounts.bySub(sub);
  if (account === undefined || account.disabled) return undefined;
  return { accountId: sub, claims: async () => ({ sub }) };
}

/** Creates a separate grant for every consent, so that each sign-in is one token family. */
async function grantOfThisConsent({ oidc }: OidcContext): Promise<unknown> {
  const grantId = oidc.result?.consent?.grantId;
  return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
}

function renderError(context: OidcContext, out: Record<string, string>): void {
  context.type = 'html';
  const lines = Object.entries(out).map(([name, value]) => `<p>${escapeHtml(name)}: ${escapeHtml(String(value))}</p>`);
  context.body = page('That did not work', lines.join('\n'));
}

function lifetimes(policy: TokenPolicy): Record<string, number> {
  return {
    AccessToken: policy.accessTokenLifetimeSeconds,
    RefreshToken: policy.refreshTokenLifetimeSeconds,
    AuthorizationCode: policy.authorizationCodeLifetimeSeconds,
    DeviceCode: policy.deviceCodeLifetimeSeconds,
    IdToken: policy.accessTokenLifetimeSeconds,
    Grant: GRANT_LIFETIME_SECONDS,
    Interaction: 3600,
    Session: 86_400,
  };
}
