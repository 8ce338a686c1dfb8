import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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
import { maySee } from '../../model/acts.ts';
import { SECOND_MS } from '../../model/time.ts';
import { browserKeyOf, formOf } from '../browser-request.ts';
import { mayDo, type Visitor } from '../operators.ts';
import { isFromHere, isOwnHost } from './own-address.ts';

/** How visitors are told apart. */
interface Access {
  /** Null for nobody in particular. Who shows a token is asked by it alone. */
  visitorOf(request: FastifyRequest): Promise<Visitor | null>;
  /** The same as of now for a request that was let in a while ago, which uses no session. */
  stillVisitorOf(request: FastifyRequest): Promise<Visitor | null>;
  /** Counts a request. @param visitor whose it is @returns how long to wait where there were too many; null: it is let through */
  heldBackMs(request: FastifyRequest, visitor: Visitor | null): Promise<number | null>;
  /** How browsers reach the port, without a slash at the end. */
  publicUrl(): string;
}

/** Visitors by the session that their browser keeps, or by the token that a program shows. */
export function accessBy(services: AccessServices, publicUrl: () => string): Access {
  const sessionIn = (request: FastifyRequest) => browserKeyOf(request, 'session', publicUrl());
  const visitorOf = async (request: FastifyRequest, how: 'use' | 'look') => {
    const token = bearerIn(request);
    if (token !== null) return withCsrf(await entrantByToken(services, token), token);
    const session = sessionIn(request);
    return session === '' ? null : withCsrf(await entrantBySession(services, session, how), session);
  };
  /** What is shown and lets nobody in names nobody: whoever guesses would be somebody else with each guess. */
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

/** Whoever is not signed in: a browser in which somebody signed in before, or else the client. */
export function strangerOf({ caller }: FastifyRequest, browser: RememberedBrowser | null): Asker {
  return { by: 'address', who: browser === null ? caller : `browser ${browser.id}` };
}

/** The browser that a request comes from, if somebody signed in with it before. */
export function rememberedBrowserIn(
  services: AccessServices,
  request: FastifyRequest,
  publicUrl: string,
): RememberedBrowser | null {
  const shown = browserKeyOf(request, 'known-browser', publicUrl);
  return shown === '' ? null : rememberedBrowserOf(services, shown);
}

/** Follows from what the browser keeps, which it tells to no page: whoever shows it was shown it by a page of ours. */
function withCsrf(entrant: Entrant | null, secret: string): Visitor | null {
  return entrant === null ? null : { ...entrant, csrf: digestOf(`csrf ${secret}`).toString('base64url') };
}

/** Calls that change nothing (RFC 9110 section 9.2.1). */
const LOOKS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Lets nobody in below a route's level; whoever may not see a tenant is told that there is none. Who it is, and whether they ask too often, is
 * asked before a body is read; that a change comes from a page of ours, afterwards: forms bring the proof as the field `csrf`, calls as the header
 * `x-csrf-token`, and programs with a token need none, since no browser shows that by itself.
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

/** A person is led to where they sign in, and back; a program is told. */
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

/** Forms as browsers send them; a name that comes several times is a list. */
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

/** The token that a request shows (RFC 6750 section 2.1); null for none. */
export function bearerIn({ headers }: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}
