import type { FastifyInstance } from 'fastify';
import {
  addDiscoveryRoutes,
  addLoginRoutes,
  addTokenRoute,
  answering,
  bearerOf,
  formOf,
  queryOf,
} from '../kit/oauth/routes.ts';
import type { Place } from '../kit/oauth/vendor.ts';
import { OAuthError } from '../kit/oauth/words.ts';
import { type GoogleOAuth, serversAt, subjectOf, tokenUrl } from './oauth.ts';

/** Adds the OAuth and OpenID Connect endpoints. */
export function addOAuthRoutes(app: FastifyInstance, oauth: GoogleOAuth): void {
  const paths = { discovery: '/.well-known/openid-configuration', keys: '/oauth2/v3/certs' };
  addDiscoveryRoutes(app, oauth, paths, discoveryDocument);
  addLoginRoutes(app, oauth);
  addTokenRoute(app, oauth, '/token');
  app.post('/revoke', (request, reply) =>
    answering(oauth, request, reply, () => {
      const token = formOf(request).get('token') ?? queryOf(request).get('token') ?? '';
      const grant = oauth.tokens.find(token)?.grant;
      if (!grant) throw new OAuthError({ error: 'invalid_token', description: 'Token expired or revoked' });
      oauth.revoke(grant.account, grant.client.clientId);
      return reply.send({});
    }),
  );
  app.get('/v1/userinfo', (request, reply) =>
    answering(oauth, request, reply, () => {
      const grant = oauth.tokens.findAccess(bearerOf(request.headers.authorization));
      if (!grant) throw new OAuthError({ status: 401, error: 'invalid_request', description: 'Invalid Credentials' });
      return reply.send({ sub: subjectOf(grant.account), email: grant.account, email_verified: true });
    }),
  );
}

function discoveryDocument(place: Place): object {
  const { accounts, oauth, openid, api } = serversAt(place);
  return {
    issuer: accounts,
    authorization_endpoint: `${accounts}/o/oauth2/v2/auth`,
    token_endpoint: tokenUrl(place),
    revocation_endpoint: `${oauth}/revoke`,
    userinfo_endpoint: `${openid}/v1/userinfo`,
    jwks_uri: `${api}/oauth2/v3/certs`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'email', 'profile'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    claims_supported: ['aud', 'email', 'email_verified', 'exp', 'hd', 'iat', 'iss', 'sub'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
  };
}
