import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readAssertion } from './assertion.ts';
import { type Authorization, findApplication, RedirectError } from './authorization.ts';
import type { Grant, Grants } from './grants.ts';
import { ORG_ID } from './ids.ts';
import type { Instance } from './instance.ts';
import { loginPage } from './login-page.ts';
import { OAuthError } from './oauth-error.ts';
import type { Application } from './options.ts';
import type { World } from './world.ts';

const OAUTH_PATH = '/services/oauth2';
const CONSENT_PATH = '/sandbox-login';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** What the OAuth endpoints work with. */
export interface OAuthParts {
  world: World;
  grants: Grants;
  authorization: Authorization;
  instance: Instance;
}

/** Adds the login page and the endpoints for tokens. */
export function addOAuthRoutes(app: FastifyInstance, parts: OAuthParts): void {
  app.get(`${OAUTH_PATH}/authorize`, (request, reply) =>
    refusing(reply, () => {
      const pending = parts.authorization.begin(new URL(request.url, 'http://sandbox').searchParams);
      const page = loginPage(pending, parts.world.usernames, CONSENT_PATH);
      return reply.type('text/html; charset=utf-8').send(page);
    }),
  );
  app.post(CONSENT_PATH, (request, reply) =>
    refusing(reply, () => {
      const form = formOf(request);
      const username = form.get('username') ?? '';
      const isAllowed = form.get('answer') === 'allow' && username !== '';
      return reply.redirect(
        parts.authorization.answer(form.get('request') ?? '', isAllowed ? username : undefined),
        302,
      );
    }),
  );
  app.post(`${OAUTH_PATH}/token`, (request, reply) =>
    refusing(reply, () => {
      parts.world.counts.add('tokenRequests');
      const form = formOf(request);
      const answer = tokenAnswer(parts, form, request);
      return reply.header('cache-control', 'no-store').send(answer);
    }),
  );
  app.route({
    method: ['GET', 'POST'],
    url: `${OAUTH_PATH}/revoke`,
    handler: (request, reply) => {
      const form = request.method === 'POST' ? formOf(request) : new URL(request.url, 'http://sandbox').searchParams;
      const isKnown = parts.grants.revoke(form.get('token') ?? '');
      return isKnown
        ? reply.status(200).send()
        : reply.status(400).send(new OAuthError('unsupported_token_type', 'this token type is not supported').toBody());
    },
  });
  app.get(`${OAUTH_PATH}/userinfo`, (request, reply) => {
    const grant = parts.grants.findSession(request.headers.authorization);
    return grant ? reply.send(userinfo(parts.world, grant)) : reply.status(403).send('Bad_OAuth_Token');
  });
}

/** Sends refusals as their answers. */
function refusing(reply: FastifyReply, answer: () => FastifyReply): FastifyReply {
  try {
    return answer();
  } catch (error) {
    if (error instanceof OAuthError) {
      return reply.status(400).send(error.toBody());
    }
    if (error instanceof RedirectError) {
      return reply.redirect(error.location, 302);
    }
    throw error;
  }
}

function tokenAnswer(parts: OAuthParts, form: URLSearchParams, request: FastifyRequest): object {
  const origin = `http://${request.headers.host ?? 'sandbox'}`;
  const grant = grantOf(parts, form, request.headers.authorization, origin);
  const accessToken = parts.grants.openSession(grant);
  const user = parts.world.user(grant.username);
  const { rotateRefreshTokens } = grant.application;
  const isTold = form.get('grant_type') === 'authorization_code' || rotateRefreshTokens;
  return {
    access_token: accessToken,
    ...(grant.refreshToken !== undefined && isTold ? { refresh_token: grant.refreshToken } : {}),
    signature: createHash('sha256').update(randomBytes(16)).digest('base64'),
    scope: grant.scopes.join(' '),
    instance_url: parts.instance.url ?? origin,
    id: `${origin}/id/${ORG_ID}/${user.id}`,
    token_type: 'Bearer',
    issued_at: String(parts.world.now()),
  };
}

function grantOf(parts: OAuthParts, form: URLSearchParams, authorization: string | undefined, origin: string): Grant {
  const { world, grants } = parts;
  const grantType = form.get('grant_type');
  if (grantType === JWT_BEARER) {
    const { application, username } = readAssertion(world.settings, form.get('assertion') ?? '', origin);
    return grants.add(username, application, ['api'], false);
  }
  const application = authenticate(parts, form, authorization);
  switch (grantType) {
    case 'authorization_code': {
      const { username, scopes } = parts.authorization.redeem(form, application);
      const isLasting = scopes.includes('refresh_token') || scopes.includes('offline_access');
      return grants.add(username, application, scopes, isLasting);
    }
    case 'refresh_token':
      world.counts.add('refreshes');
      return grants.refresh(form.get('refresh_token') ?? '', application);
    case 'client_credentials':
      if (application.runAs === undefined || application.clientSecret === undefined) {
        throw new OAuthError('invalid_grant', 'no client credentials user enabled');
      }
      return grants.add(application.runAs, application, ['api'], false);
    default:
      throw new OAuthError('unsupported_grant_type', 'grant type not supported');
  }
}

/** The application behind a token request, by its secret in the form or by Basic; a public one sends none. Throws OAuthError. */
function authenticate({ world }: OAuthParts, form: URLSearchParams, authorization: string | undefined): Application {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
  const [id, secret] = Buffer.from(encoded, 'base64').toString().split(':').map(decodeURIComponent);
  const application = findApplication(world.settings, form.get('client_id') ?? id ?? null);
  if (application.clientSecret !== (form.get('client_secret') ?? secret)) {
    throw new OAuthError('invalid_client', 'invalid client credentials');
  }
  return application;
}

function userinfo(world: World, grant: Grant): object {
  const user = world.user(grant.username);
  return {
    sub: user.id,
    user_id: user.id,
    organization_id: ORG_ID,
    preferred_username: grant.username,
    email: user.fields.Email,
  };
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}
