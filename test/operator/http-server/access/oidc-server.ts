import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Provider } from '../../../../sandbox/clinic/authorization/engine.ts';
import { createTokenStore } from '../../../../sandbox/clinic/authorization/token-store.ts';
import { newSigningKey } from '../../../../sandbox/kit/oauth/jwt.ts';

/** A user of the provider, with the claims that the provider returns. */
export interface Person {
  sub: string;
  email?: string;
  email_verified?: boolean;
  groups?: readonly string[];
  /** Claims of the e-mail address in the id_token, if they differ from those of the userinfo endpoint. */
  inIdToken?: { email?: string; email_verified?: boolean };
  /** How the user signed in at the provider; `ts`: when, in seconds since 1970. Default: now, in an unnamed way. */
  login?: { acr?: string; amr?: readonly string[]; ts?: number };
}

/** An OpenID provider of administrators, which has one client. */
export interface OidcServer {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Goes where the browser is sent, and signs in as this person. @returns where the provider sends the browser back to; null: they refused */
  signIn(address: string, person: Person | null): Promise<URL>;
  close(): void;
}

/** Starts a real provider (oidc-provider), which returns e-mail addresses and groups only by its userinfo endpoint, as many do. */
export async function startOidcServer(redirectUri: string): Promise<OidcServer> {
  const client = { client_id: 'mirror', client_secret: 'a secret of the tests', redirect_uris: [redirectUri] };
  let person: Person | null = null;
  const http = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  const issuer = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const tokens = createTokenStore();
  const provider = new Provider(issuer, {
    adapter: (model: string) => tokens.adapter(model),
    clients: [{ ...client, token_endpoint_auth_method: 'client_secret_post' }],
    clientAuthMethods: ['client_secret_post'],
    jwks: { keys: [{ ...newSigningKey().privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['of the tests'] },
    conformIdTokenClaims: false,
    acrValues: ['urn:example:hardware', 'urn:example:mfa', 'urn:example:mfa2'],
    claims: {
      openid: ['sub', 'amr'],
      acr: null,
      auth_time: null,
      email: ['email', 'email_verified'],
      profile: ['groups'],
    },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: async (_: unknown, sub: string) => ({
      accountId: sub,
      claims: async (use: string) => ({ ...(use === 'id_token' ? person?.inIdToken : person), sub }),
    }),
    ttl: { Interaction: 60, Session: 60, Grant: 60, AccessToken: 60, IdToken: 60, AuthorizationCode: 60 },
  });
  const callback = provider.callback();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith('/interaction/')) return callback(request, response);
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (person === null) return provider.interactionFinished(request, response, { error: 'access_denied' });
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { ...person.login, accountId: person.sub } });
    }
    const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: params.client_id });
    grant.addOIDCScope(params.scope ?? '');
    const consent = { grantId: await grant.save() };
    return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
  }

  return {
    issuer,
    clientId: client.client_id,
    clientSecret: client.client_secret,
    close() {
      http.close();
      http.closeAllConnections();
    },
    async signIn(begun, whose) {
      person = whose;
      return followed(new URL(begun), issuer);
    },
  };
}

/** Follows the redirects of the provider as a browser does. @returns the first URL elsewhere */
async function followed(begun: URL, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = begun;
  for (let step = 0; step < 10 && url.origin === issuer; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const given = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const set of given.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const next = given.headers.get('location');
    if (next === null) throw new Error(`the provider answered ${given.status}: ${await given.text()}`);
    url = new URL(next, url);
  }
  return url;
}
