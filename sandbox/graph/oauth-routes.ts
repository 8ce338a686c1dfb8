import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { RedirectError } from './authorization.ts';
import { consentPage, devicePage, messagePage } from './login-pages.ts';
import { OAuthError } from './oauth-error.ts';
import { toJwks } from './signing.ts';
import { answerTokenRequest, type OAuthParts } from './token-endpoint.ts';

/** Where a person types the code of a device. */
export const DEVICE_PAGE_PATH = '/common/oauth2/deviceauth';
/** Stand for any tenant; the issuer of their tokens is still the account's own. */
const ANY_TENANT: readonly string[] = ['common', 'organizations'];

const inPath = z.object({ tenant: z.string() });

/** Adds Entra's login and token endpoints for the sandbox's tenant. */
export function addOAuthRoutes(app: FastifyInstance, parts: OAuthParts): void {
  const on = (path: string, method: 'GET' | 'POST', answer: Answer): void => {
    app.route({
      method,
      url: `/:tenant${path}`,
      handler: (request, reply) => answering(parts, request, reply, answer),
    });
  };
  on('/v2.0/.well-known/openid-configuration', 'GET', (request, reply) => reply.send(discoveryDocument(request)));
  on('/discovery/v2.0/keys', 'GET', (_request, reply) => reply.send(toJwks(parts.signingKey())));
  on('/oauth2/v2.0/authorize', 'GET', ({ raw, base }, reply) => {
    const pending = parts.authorization.begin(new URL(raw.url, 'http://sandbox').searchParams);
    return sendPage(reply, consentPage(pending, accounts(parts), `${base}/consent`));
  });
  on('/consent', 'POST', ({ form }, reply) => reply.redirect(consent(parts, form), 302));
  on('/oauth2/v2.0/devicecode', 'POST', ({ form, origin }, reply) => reply.send(deviceAnswer(parts, form, origin)));
  on('/oauth2/v2.0/token', 'POST', ({ form, raw, issuer, base }, reply) => {
    const { authorization } = raw.headers;
    const tokenUrl = `${base}/oauth2/v2.0/token`;
    const answer = answerTokenRequest(parts, { form, authorization, issuer, tokenUrl });
    return reply.header('cache-control', 'no-store').send(answer);
  });
  app.get(DEVICE_PAGE_PATH, (_request, reply) => sendPage(reply, devicePage(accounts(parts), DEVICE_PAGE_PATH)));
  app.post(DEVICE_PAGE_PATH, (request, reply) => {
    const isKnown = answerDevice(parts, formOf(request));
    const message = isKnown ? 'You may close this window.' : 'That code did not work.';
    return sendPage(reply.status(isKnown ? 200 : 400), messagePage(message));
  });
}

/** A request with what its endpoints need; addresses are as the client wrote them. */
interface OAuthRequest {
  raw: FastifyRequest;
  form: URLSearchParams;
  origin: string;
  /** `{origin}/{tenant}`. */
  base: string;
  issuer: string;
}

type Answer = (request: OAuthRequest, reply: FastifyReply) => FastifyReply;

/** Refuses other tenants and turns errors into their answers. */
function answering(parts: OAuthParts, raw: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply {
  const { tenant } = inPath.parse(raw.params);
  const { tenantId } = parts.settings;
  const origin = `http://${raw.headers.host ?? 'sandbox'}`;
  try {
    if (tenant !== tenantId && !ANY_TENANT.includes(tenant)) {
      throw new OAuthError(400, 'invalid_tenant', 90_002, 'The tenant was not found.');
    }
    const issuer = `${origin}/${tenantId}/v2.0`;
    return answer({ raw, form: formOf(raw), origin, base: `${origin}/${tenant}`, issuer }, reply);
  } catch (error) {
    if (error instanceof OAuthError) {
      return reply.status(error.status).send(error.toBody());
    }
    if (error instanceof RedirectError) {
      const { redirectUri, state, error: code, message } = error;
      return reply.redirect(withAnswer(redirectUri, state, { error: code, error_description: message }), 302);
    }
    throw error;
  }
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

function accounts({ world }: OAuthParts): string[] {
  return world.mailboxes.map(({ mail }) => mail);
}

function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(html);
}

/** The person's answer to the consent page; returns where the browser goes. */
function consent({ authorization, world }: OAuthParts, form: URLSearchParams): string {
  const pending = authorization.take(form.get('request') ?? '');
  const account = form.get('account') ?? '';
  if (form.get('answer') !== 'allow' || !account.includes('@')) {
    const denied = { error: 'access_denied', error_subcode: 'cancel', error_description: 'AADSTS65004: declined.' };
    return withAnswer(pending.redirectUri, pending.state, denied);
  }
  const code = authorization.agree(pending, world.mailbox(account).mail);
  return withAnswer(pending.redirectUri, pending.state, { code });
}

function answerDevice({ authorization, world }: OAuthParts, form: URLSearchParams): boolean {
  const account = form.get('account') ?? '';
  const isAllowed = form.get('answer') === 'allow' && account.includes('@');
  const answer = isAllowed ? { account: world.mailbox(account).mail } : 'declined';
  return authorization.answerDevice(form.get('user_code') ?? '', answer);
}

function withAnswer(redirectUri: string, state: string | undefined, answer: Record<string, string>): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...answer, ...(state === undefined ? {} : { state }) })) {
    url.searchParams.set(name, value);
  }
  return url.href;
}

/** RFC 8628 section 3.2; Entra knows no verification_uri_complete. */
function deviceAnswer({ authorization, settings }: OAuthParts, form: URLSearchParams, origin: string): object {
  const { deviceCode, userCode } = authorization.beginDevice(form);
  const verificationUri = `${origin}${DEVICE_PAGE_PATH}`;
  return {
    user_code: userCode,
    device_code: deviceCode,
    verification_uri: verificationUri,
    expires_in: Math.floor(settings.deviceCodeLifetimeMs / 1000),
    interval: settings.devicePollIntervalS,
    message: `To sign in, use a web browser to open the page ${verificationUri} and enter the code ${userCode} to authenticate.`,
  };
}

function discoveryDocument({ base, raw, origin, issuer }: OAuthRequest): object {
  const { tenant } = inPath.parse(raw.params);
  return {
    // Literally so for any tenant, as at the vendor.
    issuer: ANY_TENANT.includes(tenant) ? `${origin}/{tenantid}/v2.0` : issuer,
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
