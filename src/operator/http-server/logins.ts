import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../core/log/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { cookieOf, languageOf } from './browser-request.ts';
import {
  LOGIN_CALLBACK_PATH,
  LOGIN_LINK_PATH,
  LOGIN_PAGE_STYLE_SOURCE,
  loginLinkPage,
  loginOnwardPage,
  loginPage,
  loginStatus,
} from './login-page.ts';
import type { LoginResult, PublicVerbs } from './verbs.ts';

/** Longer than the token exchange with its retries. */
export const LOGIN_TIMEOUT_MS = 60 * SECOND_MS;
/** Equal to the lifetime of a pending connection. */
const COOKIE_LIFE_SECONDS = (10 * MINUTE_MS) / SECOND_MS;
/** A button posts nothing. */
const BODY_BYTES = 256;

/** The page of a link contains a form that can be sent to this port only. */
const LINK_POLICY = [
  "default-src 'none'",
  `style-src ${LOGIN_PAGE_STYLE_SOURCE}`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join(';');

type LoginVerbs = Pick<PublicVerbs, 'describeLogin' | 'beginLogin' | 'completeLogin'>;

/**
 * Adds the pages to start a connection by link and to return from the provider. A cookie binds a connection to one browser, so that a
 * stolen code or link is useless in another browser (RFC 9700 section 4.7.1).
 */
export function addLogins(app: FastifyInstance, verbs: LoginVerbs, options: { publicUrl(): string; log: Logger }) {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: BODY_BYTES }, async () => null);
  const route = {
    handlerTimeout: LOGIN_TIMEOUT_MS,
    bodyLimit: BODY_BYTES,
    errorHandler: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
      options.log.error({ error }, 'sign-in was not completed');
      return answer(reply, { outcome: 'failed', language: 'en' });
    },
  };
  const path = `${LOGIN_LINK_PATH}/:ticket`;
  app.get<{ Params: { ticket: string } }>(path, route, async ({ params, headers }, reply) => {
    const accepted = headers['accept-language'] ?? '';
    const about = await verbs.describeLogin(params.ticket);
    if (about === null) return answer(reply, { outcome: 'expired', language: languageOf(accepted, 'en') });
    return sendLink(reply, loginLinkPage(about, accepted));
  });
  app.post<{ Params: { ticket: string } }>(path, route, async ({ params }, reply) => {
    const begun = await verbs.beginLogin(params.ticket);
    if ('outcome' in begun) return answer(reply, begun);
    const { url, browserKey, language } = begun;
    reply.header('set-cookie', cookie(options.publicUrl(), url, browserKey, COOKIE_LIFE_SECONDS));
    return sendLink(reply, loginOnwardPage(url, language));
  });
  app.get(LOGIN_CALLBACK_PATH, route, async (request, reply) => {
    const url = callbackUrl(request, options.publicUrl());
    const browserKey = cookieOf(request, cookieName(options.publicUrl(), url));
    const result = await verbs.completeLogin({ url: url.href, browserKey });
    if (browserKey !== '') reply.header('set-cookie', cookie(options.publicUrl(), url, '', 0));
    return answer(reply, result);
  });
}

function callbackUrl(request: FastifyRequest, publicUrl: string): URL {
  const queryAt = request.url.indexOf('?');
  const query = queryAt === -1 ? '' : request.url.slice(queryAt);
  return new URL(`${publicUrl}${LOGIN_CALLBACK_PATH}${query}`);
}

/**
 * Returns a cookie name per connection, so that several can be pending in a browser. `__Host-` prevents cookies set by other hosts or plain
 * http.
 */
function cookieName(publicUrl: string, { searchParams }: URL): string {
  const login = createHash('sha256')
    .update(searchParams.get('state') ?? '')
    .digest('base64url');
  return `${isSecure(publicUrl) ? '__Host-' : ''}login-${login.slice(0, 22)}`;
}

/** Lax: sent on the redirect back from the provider, but not with cross-site subrequests. */
function cookie(publicUrl: string, login: URL, value: string, lifeSeconds: number): string {
  const attributes = ['Path=/', `Max-Age=${lifeSeconds}`, 'HttpOnly', 'SameSite=Lax'];
  if (isSecure(publicUrl)) attributes.push('Secure');
  return [`${cookieName(publicUrl, login)}=${value}`, ...attributes].join('; ');
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:');
}

function answer(reply: FastifyReply, result: LoginResult): FastifyReply {
  return reply.code(loginStatus(result.outcome)).type('text/html; charset=utf-8').send(loginPage(result));
}

function sendLink(reply: FastifyReply, html: string): FastifyReply {
  return reply.header('content-security-policy', LINK_POLICY).type('text/html; charset=utf-8').send(html);
}
