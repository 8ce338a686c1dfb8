import type { FastifyInstance, FastifyRequest } from 'fastify';
import { devicePage, messagePage } from '../kit/oauth/pages.ts';
import {
  addDiscoveryRoutes,
  addLoginRoutes,
  addTokenRoute,
  answering,
  formOf,
  originOf,
  sendPage,
} from '../kit/oauth/routes.ts';
import type { Place } from '../kit/oauth/vendor.ts';
import type { GraphOAuth } from './oauth.ts';
import { isAnyTenant } from './tenant.ts';
import type { World } from './world.ts';

/** The page where a user types the device code. */
export const DEVICE_PAGE_PATH = '/common/oauth2/deviceauth';
const PATH = '/:tenant/oauth2/v2.0';

/** Adds Entra's authorization and token endpoints for the sandbox's tenant. */
export function addOAuthRoutes(app: FastifyInstance, oauth: GraphOAuth, world: World): void {
  const paths = {
    discovery: '/:tenant/v2.0/.well-known/openid-configuration',
    keys: '/:tenant/discovery/v2.0/keys',
  };
  addDiscoveryRoutes(app, oauth, paths, discoveryDocument);
  addLoginRoutes(app, oauth);
  addTokenRoute(app, oauth, `${PATH}/token`);
  app.post(`${PATH}/devicecode`, (request, reply) =>
    answering(oauth, request, reply, () => reply.send(beginDevice(oauth, world, request))),
  );
  app.get(DEVICE_PAGE_PATH, (_request, reply) =>
    sendPage(reply, devicePage(oauth.vendor.login.page.people(), DEVICE_PAGE_PATH)),
  );
  app.post(DEVICE_PAGE_PATH, (request, reply) => {
    const isKnown = answerDevice(oauth, world, formOf(request));
    const message = isKnown ? 'You may close this window.' : 'That code did not work.';
    return sendPage(reply.status(isKnown ? 200 : 400), messagePage(message));
  });
}

/** RFC 8628 section 3.2; Entra knows no verification_uri_complete. */
function beginDevice({ devices }: GraphOAuth, { settings }: World, request: FastifyRequest): object {
  const { deviceCode, userCode } = devices.begin(formOf(request));
  const verificationUri = `${originOf(request)}${DEVICE_PAGE_PATH}`;
  return {
    user_code: userCode,
    device_code: deviceCode,
    verification_uri: verificationUri,
    expires_in: Math.floor(settings.deviceCodeLifetimeMs / 1000),
    interval: settings.devicePollIntervalS,
    message: `To sign in, use a web browser to open the page ${verificationUri} and enter the code ${userCode} to authenticate.`,
  };
}

function answerDevice({ devices }: GraphOAuth, world: World, form: URLSearchParams): boolean {
  const account = form.get('account') ?? '';
  const isAllowed = form.get('answer') === 'allow' && account.includes('@');
  const answer = isAllowed ? { account: world.mailbox(account).mail } : 'declined';
  return devices.answer(form.get('user_code') ?? '', answer);
}

function discoveryDocument({ base, origin, issuer }: Place, request: FastifyRequest): object {
  return {
    // Literally so for any tenant, as at the vendor.
    issuer: isAnyTenant(request) ? `${origin}/{tenantid}/v2.0` : issuer,
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
    token_endpoint: `${base}/oauth2/v2.0/token`,
    device_authorization_endpoint: `${base}/oauth2/v2.0/devicecode`,
    jwks_uri: `${base}/discovery/v2.0/keys`,
    response_types_supported: ['code', 'id_token', 'code id_token'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    subject_types_supported: ['pairwise'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
    claims_supported: ['sub', 'iss', 'aud', 'exp', 'iat', 'nonce', 'preferred_username', 'tid', 'ver', 'email', 'oid'],
    request_uri_parameter_supported: false,
  };
}
