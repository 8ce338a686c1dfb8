import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RedirectError } from './authorization.ts';
import { consentPage } from './consent-page.ts';
import { OAuthError } from './oauth-error.ts';
import { toJwks } from './signing.ts';
import { answerTokenRequest, subjectOf, type TokenEndpointParts } from './token-endpoint.ts';
import type { World } from './world.ts';

/** Adds the OAuth and OpenID Connect endpoints. `parts()` is read per request, for the url is known only after listening. */
export function addOAuthRoutes(app: FastifyInstance, world: World, parts: () => TokenEndpointParts): void {
  app.get('/.well-known/openid-configuration', async () => discoveryDocument(parts().url));
  app.get('/oauth2/v3/certs', async () => toJwks(parts().signingKey));
  app.get('/o/oauth2/v2/auth', (request, reply) =>
    answering(parts, reply, () => {
      const pending = parts().authorization.begin(new URL(request.url, 'http://sandbox').searchParams);
      const people = [...world.accounts.values()].filter((account) => !account.isServiceAccount);
      const page = consentPage(
        pending,
        people.map((account) => account.email),
      );
      return reply.type('text/html; charset=utf-8').send(page);
    }),
  );
  app.post('/o/oauth2/v2/consent', (request, reply) =>
    answering(parts, reply, () => reply.redirect(consent(parts(), world, formOf(request)), 302)),
  );
  app.post('/token', (request, reply) =>
    answering(parts, reply, () => {
      const answer = answerTokenRequest(parts(), formOf(request), request.headers.authorization);
      return reply.header('cache-control', 'no-store').send(answer);
    }),
  );
  app.post('/revoke', (request, reply) =>
    answering(parts, reply, () => {
      const query = new URL(request.url, 'http://sandbox').searchParams;
      const token = formOf(request).get('token') ?? query.get('token') ?? '';
      if (!parts().grants.revokeToken(token)) {
        throw new OAuthError(400, 'invalid_token', 'Token expired or revoked');
      }
      return reply.send({});
    }),
  );
  app.get('/v1/userinfo', (request, reply) =>
    answering(parts, reply, () => {
      const token = request.headers.authorization?.replace(/^Bearer /i, '') ?? '';
      const caller = parts().grants.findCaller(token);
      if (!caller) {
        throw new OAuthError(401, 'invalid_request', 'Invalid Credentials');
      }
      return reply.send({ sub: subjectOf(caller.account), email: caller.account, email_verified: true });
    }),
  );
}

function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
}

/** Turns OAuth errors into their answers. */
async function answering(
  parts: () => TokenEndpointParts,
  reply: FastifyReply,
  answer: () => FastifyReply,
): Promise<FastifyReply> {
  try {
    return answer();
  } catch (error) {
    if (error instanceof OAuthError) {
      return reply.status(error.status).send(error.toBody());
    }
    if (error instanceof RedirectError) {
      const { redirectUri, state, error: code, message } = error;
      return reply.redirect(
        withAnswer(parts().url, redirectUri, state, { error: code, error_description: message }),
        302,
      );
    }
    throw error;
  }
}

/** The person's answer to the consent page; returns where the browser goes. */
function consent(parts: TokenEndpointParts, world: World, form: URLSearchParams): string {
  const pending = parts.authorization.take(form.get('request') ?? '');
  const account = form.get('account') ?? '';
  const isAllowed = form.get('answer') === 'allow' && account.includes('@');
  const code = isAllowed
    ? parts.authorization.agree(pending, world.account(account).email, form.getAll('scope'))
    : undefined;
  const answer = code === undefined ? { error: 'access_denied' } : { code };
  return withAnswer(parts.url, pending.redirectUri, pending.state, answer);
}

/** The redirect URI with the answer, the state and the issuer (RFC 9207). */
function withAnswer(
  issuer: string,
  redirectUri: string,
  state: string | undefined,
  answer: Record<string, string>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...answer, iss: issuer })) {
    url.searchParams.set(name, value);
  }
  if (state !== undefined) {
    url.searchParams.set('state', state);
  }
  return url.href;
}

function discoveryDocument(url: string): object {
  return {
    issuer: url,
    authorization_endpoint: `${url}/o/oauth2/v2/auth`,
    token_endpoint: `${url}/token`,
    revocation_endpoint: `${url}/revoke`,
    userinfo_endpoint: `${url}/v1/userinfo`,
    jwks_uri: `${url}/oauth2/v3/certs`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'email', 'profile'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    claims_supported: ['aud', 'email', 'email_verified', 'exp', 'iat', 'iss', 'sub'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
  };
}
