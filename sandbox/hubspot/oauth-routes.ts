import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { authenticateClient } from '../kit/oauth/client-authentication.ts';
import { addLoginRoutes, answering, formOf, queryOf } from '../kit/oauth/routes.ts';
import { answerTokenRequest } from '../kit/oauth/token-endpoint.ts';
import type { KnownToken } from '../kit/oauth/token-store.ts';
import type { TokenRequest } from '../kit/oauth/vendor.ts';
import { OAuthError } from '../kit/oauth/words.ts';
import { type Grant, type HubSpotOAuth, standardErrorBody, USER_ID, vendorErrorBody } from './oauth.ts';
import type { Settings } from './options.ts';
import { DATED_VERSIONS } from './routes.ts';

/** Paths of the token endpoints: the old endpoint, and the new endpoints, which do not read the query. */
const OLD_BASE = '/oauth/v1';
const NEW_BASES = ['/oauth/v3', ...DATED_VERSIONS.map((version) => `/oauth/${version}`)];
const HUB_DOMAIN = 'clinic.example';

const inPath = z.object({ token: z.string() });
const oldAnswer = z.object({
  token_type: z.string(),
  refresh_token: z.string(),
  access_token: z.string(),
  expires_in: z.number(),
});

/** Adds the installation page and the token endpoints, old and new. */
export function addOAuthRoutes(app: FastifyInstance, oauth: HubSpotOAuth, settings: Settings): void {
  addLoginRoutes(app, oauth);
  addOldRoutes(app, oauth, settings);
  for (const base of NEW_BASES) addNewRoutes(app, base, oauth, settings);
}

function addOldRoutes(app: FastifyInstance, oauth: HubSpotOAuth, settings: Settings): void {
  const tell = (use: KnownToken<Grant>['use']) => (request: FastifyRequest, reply: FastifyReply) => {
    const { token } = inPath.parse(request.params);
    const found = oauth.tokens.find(token);
    if (found?.use === use) return reply.send({ token, ...metadata(settings, found) });
    const words = { error: 'invalid_token', code: 'BAD_TOKEN', description: 'the token is expired or invalid' };
    return reply.status(404).send(vendorErrorBody(words));
  };
  app.post(`${OLD_BASE}/token`, (request, reply) =>
    answering(
      oauth,
      request,
      reply,
      (place) => {
        const form = formOf(request);
        for (const [name, value] of queryOf(request)) form.set(name, value);
        return reply.send(oldAnswer.parse(answerTokenRequest(oauth, { form, authorization: undefined, place })));
      },
      vendorErrorBody,
    ),
  );
  app.get(`${OLD_BASE}/access-tokens/:token`, tell('access_token'));
  app.get(`${OLD_BASE}/refresh-tokens/:token`, tell('refresh_token'));
  app.delete(`${OLD_BASE}/refresh-tokens/:token`, (request, reply) => {
    oauth.tokens.end(inPath.parse(request.params).token);
    return reply.status(204).send();
  });
}

function addNewRoutes(app: FastifyInstance, base: string, oauth: HubSpotOAuth, settings: Settings): void {
  const on = (path: string, answer: (request: TokenRequest) => object | undefined): void => {
    app.post(`${base}${path}`, (request, reply) =>
      answering(
        oauth,
        request,
        reply,
        (place) => {
          if (queryOf(request).size > 0) {
            const description = 'Parameters must be in the body.';
            throw new OAuthError({ error: 'invalid_request', code: 'BAD_REQUEST', description });
          }
          return reply.send(answer({ form: formOf(request), authorization: undefined, place }));
        },
        settings.oauthErrors === 'standard' ? standardErrorBody : vendorErrorBody,
      ),
    );
  };
  /** Returns the token in the form if the token belongs to the app. */
  const ownToken = (request: TokenRequest): KnownToken<Grant> | undefined => {
    const { clientId } = authenticateClient(oauth.vendor, request);
    const found = oauth.tokens.find(request.form.get('token') ?? '');
    return found?.grant.client.clientId === clientId ? found : undefined;
  };
  on('/token', (request) => answerTokenRequest(oauth, request));
  on('/token/introspect', (request) => {
    const found = ownToken(request);
    return found ? { active: true, ...metadata(settings, found) } : { active: false };
  });
  on('/token/revoke', (request) => {
    // Revoking a refresh token leaves its access tokens valid until they expire.
    if (ownToken(request)) oauth.tokens.end(request.form.get('token') ?? '');
    return undefined;
  });
}

function metadata({ portalId, now }: Settings, { use, grant, expiresAt }: KnownToken<Grant>): object {
  return {
    token_use: use,
    token_type: 'bearer',
    client_id: grant.client.clientId,
    hub_id: portalId,
    hub_domain: HUB_DOMAIN,
    user: grant.account,
    user_id: USER_ID,
    scopes: grant.scopes,
    expires_in: expiresAt === undefined ? undefined : Math.floor((expiresAt - now()) / 1000),
  };
}
