import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sharedSigningKey, toJwks } from './jwt.ts';
import type { OAuth } from './oauth.ts';
import { loginPage, messagePage } from './pages.ts';
import { answerTokenRequest } from './token-endpoint.ts';
import type { Client, Grant, Place } from './vendor.ts';
import { OAuthError, RedirectError, type Words } from './words.ts';

/** The form of a request; empty when there is none. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

/** The query of a request. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URL(url, 'http://sandbox').searchParams;
}

/** Returns the origin that the client used, which can be the origin of a proxy. */
export function originOf({ headers }: FastifyRequest): string {
  return `http://${headers.host ?? 'sandbox'}`;
}

/** The token of an Authorization header; empty when there is none. */
export function bearerOf(authorization: string | string[] | undefined, scheme = 'Bearer'): string {
  return new RegExp(`^(?:${scheme}) (\\S+)$`, 'i').exec(String(authorization ?? ''))?.[1] ?? '';
}

/** Sends a page. */
export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(html);
}

/** Answers a request of an OAuth endpoint; what is refused becomes the vendor's error answer or a redirect. */
export function answering<C extends Client, G extends Grant>(
  { vendor }: OAuth<C, G>,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: (place: Place) => FastifyReply,
  errorBody: (words: Words) => object | string = vendor.errorBody,
): FastifyReply {
  try {
    return answer(vendor.place(request));
  } catch (error) {
    if (error instanceof OAuthError) return reply.status(error.words.status ?? 400).send(errorBody(error.words));
    if (error instanceof RedirectError) return reply.redirect(error.location, 302);
    throw error;
  }
}

/** Adds the authorization endpoint and its sign-in page (RFC 6749 section 3.1). */
export function addLoginRoutes<C extends Client, G extends Grant>(app: FastifyInstance, oauth: OAuth<C, G>): void {
  const { authorization, vendor } = oauth;
  const { paths, page, errorPage } = vendor.login;
  app.get(`${paths.prefix}${paths.authorize}`, (request, reply) => {
    const show = ({ base, ...place }: Place): FastifyReply =>
      sendPage(
        reply,
        loginPage(authorization.begin(queryOf(request), { base, ...place }), page, `${base}${paths.answer}`),
      );
    if (!errorPage) return answering(oauth, request, reply, show);
    return answering(oauth, request, reply.type('text/html; charset=utf-8'), show, (words) =>
      messagePage(errorPage(words)),
    );
  });
  app.post(`${paths.prefix}${paths.answer}`, (request, reply) =>
    answering(oauth, request, reply, (place) => reply.redirect(authorization.answer(formOf(request), place), 302)),
  );
}

/** Adds a token endpoint (RFC 6749 section 3.2). `asked` is called for each request. */
export function addTokenRoute<C extends Client, G extends Grant>(
  app: FastifyInstance,
  oauth: OAuth<C, G>,
  path: string,
  asked?: (form: URLSearchParams) => void,
): void {
  app.post(path, (request, reply) =>
    answering(oauth, request, reply, (place) => {
      const form = formOf(request);
      asked?.(form);
      const { authorization } = request.headers;
      const answer = answerTokenRequest(oauth, { form, authorization, place });
      return reply.header('cache-control', 'no-store').send(answer);
    }),
  );
}

/** Adds OpenID Connect's discovery document and its keys. */
export function addDiscoveryRoutes<C extends Client, G extends Grant>(
  app: FastifyInstance,
  oauth: OAuth<C, G>,
  paths: { discovery: string; keys: string },
  document: (place: Place, request: FastifyRequest) => object,
): void {
  app.get(paths.discovery, (request, reply) =>
    answering(oauth, request, reply, (place) => reply.send(document(place, request))),
  );
  app.get(paths.keys, (request, reply) =>
    answering(oauth, request, reply, () => reply.send(toJwks(sharedSigningKey()))),
  );
}
