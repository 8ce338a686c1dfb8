import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { maySee } from '../../../core/model/acts.ts';
import { SECOND_MS } from '../../../core/model/time.ts';
import {
  type AccessServices,
  type Asker,
  type Entrant,
  entrantBySession,
  entrantByToken,
  heldBackMs,
  SIGN_IN_PATH,
} from '../../control/access.ts';
import { type RememberedBrowser, rememberedBrowserOf } from '../../control/sign-in.ts';
import { browserKeyOf, formOf } from '../browser-request.ts';
import { mayDo, type Visitor } from '../operators.ts';
import { isFromHere, isOwnHost } from './own-address.ts';

/** Identifies visitors. */
interface Access {
  /** Null for an anonymous visitor. If the request carries a token, only the token counts. */
  visitorOf(request: FastifyRequest): Promise<Visitor | null>;
  /** Returns the current visitor of an earlier accepted request, without extending a session. */
  stillVisitorOf(request: FastifyRequest): Promise<Visitor | null>;
  /** Counts a request of a visitor. @returns the wait after too many requests; null if allowed */
  heldBackMs(request: FastifyRequest, visitor: Visitor | null): Promise<number | null>;
  /** Public URL of the port, without a trailing slash. */
  publicUrl(): string;
}

/** Identifies visitors by session cookie or by token. */
export function accessBy(services: AccessServices, publicUrl: () => string): Access {
  const sessionIn = (request: FastifyRequest) => browserKeyOf(request, 'session', publicUrl());
  const visitorOf = async (request: FastifyRequest, how: 'use' | 'look') => {
    const token = bearerIn(request);
    if (token !== null) return withCsrf(await entrantByToken(services, token), token);
    const session = sessionIn(request);
    return session === '' ? null : withCsrf(await entrantBySession(services, session, how), session);
  };
  /** A rejected token identifies no one: each guess would otherwise appear as another caller. */
  const askerOf = (request: FastifyRequest, visitor: Visitor | null): Asker => {
    if (visitor === null) return strangerOf(request, rememberedBrowserIn(services, request, publicUrl()));
    const token = bearerIn(request);
    return token === null ? { by: 'session', who: sessionIn(request) } : { by: 'token', who: token };
  };
  return {
    publicUrl,
    heldBackMs: (request, visitor) =>
      heldBackMs(services, askerOf(request, visitor), request.routeOptions.config.isStream ? 'stream' : 'answer'),
    visitorOf: (request) => visitorOf(request, 'use'),
    stillVisitorOf: (request) => visitorOf(request, 'look'),
  };
}

/** Returns the identity of an unauthenticated visitor: a browser with an earlier sign-in, otherwise the client. */
export function strangerOf({ caller }: FastifyRequest, browser: RememberedBrowser | null): Asker {
  return { by: 'address', who: browser === null ? caller : `browser ${browser.id}` };
}

/** Returns the browser of the request if a user signed in with it before. */
export function rememberedBrowserIn(
  services: AccessServices,
  request: FastifyRequest,
  publicUrl: string,
): RememberedBrowser | null {
  const shown = browserKeyOf(request, 'known-browser', publicUrl);
  return shown === '' ? null : rememberedBrowserOf(services, shown);
}

/** Derives the CSRF proof from the browser's secret, which no page contains. Only pages of this port contain the proof. */
function withCsrf(entrant: Entrant | null, secret: string): Visitor | null {
  return entrant === null ? null : { ...entrant, csrf: digestOf(`csrf ${secret}`).toString('base64url') };
}

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const LOOKS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Enforces the level of each route. A tenant without access appears as not found. Identity and rate limits are checked before the body is
 * read. The origin of a change is checked afterwards: forms carry the proof in the field `csrf`, calls in the header `x-csrf-token`.
 * Programs with a token need no proof, because browsers never add a token automatically.
 */
export function addAccess(app: FastifyInstance, access: Access): void {
  app.decorateRequest('visitor', null);
  app.decorateRequest('stillVisitor', function (this: FastifyRequest) {
    return access.stillVisitorOf(this);
  });
  readForms(app);
  app.addHook('onRequest', async (request, reply) => {
    const { level } = request.routeOptions.config;
    if (level === undefined) return;
    if (!isOwnHost(request, access.publicUrl())) return reply.code(421).send({ error: 'not-this-host' });
    const visitor = await access.visitorOf(request);
    const waitMs = await access.heldBackMs(request, visitor);
    if (waitMs !== null) return sayTooMany(reply, waitMs).send({ error: 'too-many-requests' });
    if (visitor === null) return askWho(request, reply);
    if (!maySeeTenantOf(request, visitor)) return reply.code(404).send({ error: 'no-such-tenant' });
    if (!mayDo(visitor, level)) return reply.code(403).send({ error: 'not-allowed' });
    request.visitor = visitor;
  });
  app.addHook('preValidation', async (request, reply) => {
    const { visitor } = request;
    if (visitor === null || LOOKS.has(request.method) || bearerIn(request) !== null) return;
    const isOurs = isFromHere(request, access.publicUrl()) !== false && showsCsrf(request, visitor);
    if (!isOurs) return reply.code(403).send({ error: 'not-from-here' });
  });
}

/** RFC 6585 section 4, RFC 9110 section 10.2.3. */
export function sayTooMany(reply: FastifyReply, waitMs: number): FastifyReply {
  return reply.code(429).header('retry-after', Math.max(1, Math.ceil(waitMs / SECOND_MS)));
}

/** Redirects users to the sign-in page and back; programs receive a status. */
function askWho(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isPerson = LOOKS.has(request.method) && (request.headers.accept ?? '').includes('text/html');
  if (isPerson) return reply.redirect(`${SIGN_IN_PATH}?to=${encodeURIComponent(request.url)}`, 303);
  // RFC 6750 section 3.
  return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'not-logged-in' });
}

function maySeeTenantOf({ params }: FastifyRequest, visitor: Visitor): boolean {
  if (typeof params !== 'object' || params === null || !('tenant' in params)) return true;
  return typeof params.tenant === 'string' && maySee(visitor, params.tenant);
}

function showsCsrf(request: FastifyRequest, { csrf }: Visitor): boolean {
  const shown = request.headers['x-csrf-token'] ?? formOf(request).get('csrf');
  return typeof shown === 'string' && timingSafeEqual(digestOf(shown), digestOf(csrf));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Parses browser forms; a repeated name becomes a list. */
function readForms(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string | Buffer) => {
      const fields = new URLSearchParams(body.toString());
      const named = [...new Set(fields.keys())].map((name) => [name, fields.getAll(name)] as const);
      return Object.fromEntries(named.map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
    },
  );
}

/** Returns the request's token (RFC 6750 section 2.1), or null. */
export function bearerIn({ headers }: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}
