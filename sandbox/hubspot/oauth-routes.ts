import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Authorization, findApplication } from './authorization.ts';
import type { Grant, Grants, KnownToken } from './grants.ts';
import { installPage, messagePage } from './login-page.ts';
import { OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';
import { DATED_VERSIONS } from './routes.ts';

/** Where a person installs an app; stands for `https://app.hubspot.com/oauth/authorize`. */
export const AUTHORIZE_PATH = '/oauth/authorize';
const ANSWER_PATH = '/oauth/authorize/answer';
/** Where tokens are given: the old endpoint, and the new ones, which take nothing from the query. */
const NEW_BASES = ['/oauth/v3', ...DATED_VERSIONS.map((version) => `/oauth/${version}`)];
const USER_ID = 9_041_277;
const HUB_DOMAIN = 'clinic.example';

/** What the OAuth endpoints work with. */
export interface OAuthParts {
  settings: Settings;
  grants: Grants;
  authorization: Authorization;
}

const inPath = z.object({ token: z.string() });

/** Adds the installation page and the token endpoints, old and new. */
export function addOAuthRoutes(app: FastifyInstance, parts: OAuthParts): void {
  app.get(AUTHORIZE_PATH, (request, reply) => showPage(parts, request, reply));
  app.post(ANSWER_PATH, (request, reply) => answering(reply, true, () => takeAnswer(parts, request, reply)));
  app.post('/oauth/v1/token', (request, reply) =>
    answering(reply, false, () => {
      const form = formOf(request);
      for (const [name, value] of queryOf(request)) {
        form.set(name, value);
      }
      const { access_token, refresh_token, expires_in, token_type } = giveTokens(parts, form);
      return reply.send({ token_type, refresh_token, access_token, expires_in });
    }),
  );
  app.get('/oauth/v1/access-tokens/:token', (request, reply) => tellToken(parts, request, reply, 'access_token'));
  app.get('/oauth/v1/refresh-tokens/:token', (request, reply) => tellToken(parts, request, reply, 'refresh_token'));
  app.delete('/oauth/v1/refresh-tokens/:token', (request, reply) => {
    parts.grants.revoke(inPath.parse(request.params).token);
    return reply.status(204).send();
  });
  for (const base of NEW_BASES) {
    addNewRoutes(app, base, parts);
  }
}

function addNewRoutes(app: FastifyInstance, base: string, parts: OAuthParts): void {
  const on = (path: string, answer: (form: URLSearchParams, reply: FastifyReply) => FastifyReply): void => {
    app.post(`${base}${path}`, (request, reply) =>
      answering(reply, parts.settings.oauthErrors === 'standard', () => {
        if (queryOf(request).size > 0) {
          throw new OAuthError(400, 'invalid_request', 'BAD_REQUEST', 'Parameters must be in the body.');
        }
        return answer(formOf(request), reply);
      }),
    );
  };
  on('/token', (form, reply) => reply.send(giveTokens(parts, form)));
  on('/token/introspect', (form, reply) => {
    const { clientId } = authenticate(parts.settings, form);
    const found = parts.grants.find(form.get('token') ?? '');
    const isTheirs = found?.grant.clientId === clientId;
    return reply.send(found && isTheirs ? { active: true, ...metadata(parts.settings, found) } : { active: false });
  });
  on('/token/revoke', (form, reply) => {
    const { clientId } = authenticate(parts.settings, form);
    const token = form.get('token') ?? '';
    if (parts.grants.find(token)?.grant.clientId === clientId) {
      parts.grants.revoke(token);
    }
    return reply.status(200).send();
  });
}

function showPage({ authorization, settings }: OAuthParts, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.type('text/html; charset=utf-8');
  try {
    return reply.send(installPage(authorization.begin(queryOf(request)), settings.portalId, ANSWER_PATH));
  } catch (error) {
    if (error instanceof OAuthError) {
      return reply.status(error.status).send(messagePage(`Couldn't complete the connection. ${error.message}`));
    }
    throw error;
  }
}

function takeAnswer({ authorization }: OAuthParts, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const form = formOf(request);
  const pending = authorization.take(form.get('request') ?? '');
  const url = new URL(pending.redirectUri);
  if (form.get('answer') === 'allow') {
    url.searchParams.set('code', authorization.agree(pending, form.get('account') ?? ''));
  } else {
    url.searchParams.set('error', 'access_denied');
    url.searchParams.set('error_description', 'The user did not connect the app.');
  }
  if (pending.state !== undefined) {
    url.searchParams.set('state', pending.state);
  }
  return reply.redirect(url.href, 302);
}

/** The answer of a token endpoint. Throws OAuthError. */
function giveTokens({ settings, grants, authorization }: OAuthParts, form: URLSearchParams) {
  const { clientId } = authenticate(settings, form);
  const { grant, refreshToken } = grantOf(form, clientId, grants, authorization);
  const { token, lifetimeMs } = grants.issueAccessToken(grant);
  return {
    token_use: 'access_token',
    token_type: 'bearer',
    access_token: token,
    refresh_token: refreshToken,
    expires_in: Math.floor(lifetimeMs / 1000),
    hub_id: settings.portalId,
    user_id: USER_ID,
    scopes: grant.scopes,
  };
}

function grantOf(
  form: URLSearchParams,
  clientId: string,
  grants: Grants,
  authorization: Authorization,
): { grant: Grant; refreshToken: string } {
  switch (form.get('grant_type')) {
    case 'authorization_code': {
      const code = form.get('code') ?? '';
      const grant = authorization.redeem(code, clientId, form.get('redirect_uri') ?? '', form.get('code_verifier'));
      return { grant, refreshToken: grants.issueRefreshToken(grant) };
    }
    case 'refresh_token':
      return grants.refresh(form.get('refresh_token') ?? '', clientId);
    default:
      throw new OAuthError(400, 'unsupported_grant_type', 'BAD_GRANT_TYPE', 'missing or unknown grant type');
  }
}

/** The app by its id and secret in the parameters. Throws OAuthError. */
function authenticate(settings: Settings, form: URLSearchParams): Application {
  const application = findApplication(settings, form.get('client_id') ?? '');
  if (form.get('client_secret') !== application.clientSecret) {
    throw new OAuthError(400, 'invalid_client', 'BAD_CLIENT_SECRET', 'missing or invalid client secret');
  }
  return application;
}

function tellToken(
  { settings, grants }: OAuthParts,
  request: FastifyRequest,
  reply: FastifyReply,
  use: KnownToken['use'],
): FastifyReply {
  const { token } = inPath.parse(request.params);
  const found = grants.find(token);
  if (found?.use !== use) {
    const error = new OAuthError(404, 'invalid_token', 'BAD_TOKEN', 'the token is expired or invalid');
    return reply.status(error.status).send(error.toBody(false));
  }
  return reply.send({ token, ...metadata(settings, found) });
}

function metadata(settings: Settings, { use, grant, expiresAt }: KnownToken): object {
  const expiresIn = expiresAt === undefined ? {} : { expires_in: Math.floor((expiresAt - settings.now()) / 1000) };
  return {
    token_use: use,
    token_type: 'bearer',
    client_id: grant.clientId,
    hub_id: settings.portalId,
    hub_domain: HUB_DOMAIN,
    user: grant.user,
    user_id: USER_ID,
    scopes: grant.scopes,
    ...expiresIn,
  };
}

function answering(reply: FastifyReply, isStandard: boolean, answer: () => FastifyReply): FastifyReply {
  try {
    return answer();
  } catch (error) {
    if (error instanceof OAuthError) {
      return reply.status(error.status).send(error.toBody(isStandard));
    }
    throw error;
  }
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URL(url, 'http://sandbox').searchParams;
}
