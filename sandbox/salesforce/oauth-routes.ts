import type { FastifyInstance } from 'fastify';
import { addLoginRoutes, addTokenRoute, formOf, queryOf } from '../kit/oauth/routes.ts';
import { ORG_ID } from './ids.ts';
import { type Grant, oauthErrorBody, PATHS, type SalesforceOAuth } from './oauth.ts';
import type { World } from './world.ts';

/** Adds the sign-in page and the token endpoints. */
export function addOAuthRoutes(app: FastifyInstance, oauth: SalesforceOAuth, world: World): void {
  addLoginRoutes(app, oauth);
  addTokenRoute(app, oauth, PATHS.token, (form) => {
    world.counts.add('tokenRequests');
    if (form.get('grant_type') === 'refresh_token') world.counts.add('refreshes');
  });
  app.route({
    method: ['GET', 'POST'],
    url: PATHS.revoke,
    handler: (request, reply) => {
      const form = request.method === 'POST' ? formOf(request) : queryOf(request);
      if (revoke(oauth, form.get('token') ?? '')) return reply.status(200).send();
      const description = 'this token type is not supported';
      return reply.status(400).send(oauthErrorBody({ error: 'unsupported_token_type', description }));
    },
  });
  app.get(PATHS.userinfo, (request, reply) => {
    const grant = oauth.findSession(request.headers.authorization);
    return grant ? reply.send(userinfo(world, grant)) : reply.status(403).send('Bad_OAuth_Token');
  });
}

/** Revokes a session, or a grant with all its sessions. Returns false for an unknown token. */
function revoke({ tokens }: SalesforceOAuth, token: string): boolean {
  const found = tokens.find(token);
  if (found?.use === 'refresh_token') tokens.endGrants((grant) => grant === found.grant);
  else tokens.end(token);
  return found !== undefined;
}

function userinfo(world: World, { account }: Grant): object {
  const user = world.user(account);
  return {
    sub: user.id,
    user_id: user.id,
    organization_id: ORG_ID,
    preferred_username: account,
    email: user.fields.Email,
  };
}
