import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { type AccessDesk, heldBackMs, SIGN_IN_PATH, SIGN_OUT_PATH } from '../../control/access.ts';
import { KNOWN_BROWSER_LIFE_MS, rememberBrowser } from '../../control/known-browsers.ts';
import {
  beginOidcSignIn,
  describeSignInLink,
  endOidcSignIn,
  type NewSession,
  signInByPassphrase,
  signOut,
  type Trier,
  useSignInLink,
} from '../../control/sign-in.ts';
import type { Logger } from '../../log/logger.ts';
import { asMirrorError } from '../../model/errors.ts';
import { formOf } from '../forms.ts';
import { LOGIN_TIMEOUT_MS } from '../logins.ts';
import { strangerContext } from '../pages/context.ts';
import { sendPage } from '../pages/layout.ts';
import { visitorOf } from '../visitors.ts';
import { knownBrowserIn, sayTooMany, strangerOf } from './access.ts';
import { browserKeyOf, setBrowserKey } from './browser-keys.ts';
import { isFromHere, isOwnHost, ownPath } from './own-address.ts';
import { type SignInFailure, type SignInView, signInPage } from './sign-in-page.ts';

/** A passphrase and a path. */
const BODY_BYTES = 4_096;

/** What the pages of signing in are made with. */
export interface SignInOptions {
  /** How browsers reach the port, without a slash at the end. */
  publicUrl(): string;
  log: Logger;
}

/** Adds the pages at which administrators sign in and out. They tell nothing of the installation. */
export async function addSignIn(app: FastifyInstance, desk: AccessDesk, options: SignInOptions): Promise<void> {
  const { publicUrl } = options;
  // A scope of its own, for its hooks.
  const pages: FastifyPluginAsync = async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      if (!isOwnHost(request, publicUrl())) return reply.code(421).send({ error: 'not-this-host' });
      if (request.routeOptions.config.level !== undefined) return;
      const waitMs = await heldBackMs(desk, strangerOf(request, knownBrowserIn(desk, request, publicUrl())));
      if (waitMs !== null) return show(sayTooMany(reply, waitMs), request, desk, { to: '/', failure: 'busy' }, 429);
    });
    scope.addHook('preValidation', async (request, reply) => {
      // Nobody has a session yet whose proof a form could bring: the browser itself must say where the form stood.
      const isForm = request.method === 'POST' && request.routeOptions.config.level === undefined;
      if (isForm && isFromHere(request, publicUrl()) !== true) return reply.code(403).send({ error: 'not-from-here' });
    });
    addPassphrase(scope, desk, options);
    addProvider(scope, desk, options);
    addLinks(scope, desk, options);
    addSignOut(scope, desk, options);
  };
  await app.register(pages);
}

const route = { bodyLimit: BODY_BYTES };

function addPassphrase(app: FastifyInstance, desk: AccessDesk, options: SignInOptions): void {
  app.get<{ Querystring: { to?: unknown } }>(SIGN_IN_PATH, route, async (request, reply) =>
    show(reply, request, desk, { to: ownPath(request.query.to) }),
  );
  app.post(SIGN_IN_PATH, route, async (request, reply) => {
    const to = ownPath(formOf(request).get('to'));
    return attempt(request, reply, { desk, options, to }, async () => {
      const passphrase = formOf(request).get('passphrase') ?? '';
      return { ...(await signInByPassphrase(desk, passphrase, trierOf(request, desk, options))), to };
    });
  });
}

function addProvider(app: FastifyInstance, desk: AccessDesk, options: SignInOptions): void {
  const { publicUrl } = options;
  const slow = { ...route, handlerTimeout: LOGIN_TIMEOUT_MS };
  // By a link, not by a form: that may only be sent here (`form-action`), redirects included.
  app.get<{ Querystring: { to?: unknown } }>(`${SIGN_IN_PATH}/provider`, slow, async (request, reply) => {
    const to = ownPath(request.query.to);
    try {
      const { url, kept } = await beginOidcSignIn(desk, to);
      setBrowserKey(reply, 'sign-in', kept, publicUrl());
      return reply.redirect(url.href, 303);
    } catch (error) {
      return refuse(request, reply, { desk, options, to }, error);
    }
  });
  app.get(`${SIGN_IN_PATH}/callback`, slow, async (request, reply) =>
    attempt(request, reply, { desk, options, to: '/' }, async () => {
      const kept = browserKeyOf(request, 'sign-in', publicUrl());
      setBrowserKey(reply, 'sign-in', '', publicUrl());
      const queryAt = request.url.indexOf('?');
      const search = queryAt === -1 ? '' : request.url.slice(queryAt);
      const trier = trierOf(request, desk, options);
      return endOidcSignIn(desk, { search, kept, trier }, request.signal);
    }),
  );
}

function addLinks(app: FastifyInstance, desk: AccessDesk, options: SignInOptions): void {
  const path = `${SIGN_IN_PATH}/link/:ticket`;
  app.get<{ Params: { ticket: string } }>(path, route, async (request, reply) => {
    const link = await describeSignInLink(desk, request.params.ticket);
    return show(reply, request, desk, link === null ? { to: '/', failure: 'link' } : { to: '/', link });
  });
  app.post<{ Params: { ticket: string } }>(path, route, async (request, reply) => {
    const { ticket } = request.params;
    const link = await describeSignInLink(desk, ticket);
    const [passphrase, again] = [formOf(request).get('passphrase'), formOf(request).get('again')];
    const place = { desk, options, to: '/', ...(link === null ? {} : { link }) };
    if (passphrase !== again) return show(reply, request, desk, { ...place, failure: 'different' }, 400);
    return attempt(request, reply, place, async () => ({
      ...(await useSignInLink(desk, ticket, passphrase)),
      to: '/',
    }));
  });
}

function addSignOut(app: FastifyInstance, desk: AccessDesk, { publicUrl }: SignInOptions): void {
  app.post(SIGN_OUT_PATH, { ...route, config: { level: 'viewer' } }, async (request, reply) => {
    const session = browserKeyOf(request, 'session', publicUrl());
    await signOut(desk, visitorOf(request), session, formOf(request).get('everywhere') !== null);
    setBrowserKey(reply, 'session', '', publicUrl());
    return reply.redirect(SIGN_IN_PATH, 303);
  });
}

function trierOf(request: FastifyRequest, desk: AccessDesk, { publicUrl }: SignInOptions): Trier {
  return { caller: request.caller, known: knownBrowserIn(desk, request, publicUrl()) };
}

interface Place extends SignInView {
  desk: AccessDesk;
  options: SignInOptions;
}

/** Who gets in has a session that nobody knew before: one that the browser brought along is over. */
async function attempt(
  request: FastifyRequest,
  reply: FastifyReply,
  place: Place,
  work: () => Promise<NewSession>,
): Promise<FastifyReply> {
  const { desk, options } = place;
  try {
    const { session, account, to } = await work();
    const publicUrl = options.publicUrl();
    const before = browserKeyOf(request, 'session', publicUrl);
    if (before !== '') await desk.sessions.end(before);
    setBrowserKey(reply, 'session', session, publicUrl);
    const known = rememberBrowser(desk, account, knownBrowserIn(desk, request, publicUrl));
    setBrowserKey(reply, 'known-browser', known, publicUrl, KNOWN_BROWSER_LIFE_MS);
    return reply.redirect(ownPath(to), 303);
  } catch (error) {
    return refuse(request, reply, place, error);
  }
}

const FAILURES: Readonly<Record<string, SignInFailure>> = {
  'passphrase-wrong': 'passphrase',
  'passphrase-unusable': 'unusable',
  'sign-in-too-often': 'often',
  'sign-in-not-allowed': 'account',
  'login-refused': 'denied',
  'login-unknown': 'link',
};

/** The person reads a constant sentence; the operator the code. */
function refuse(request: FastifyRequest, reply: FastifyReply, place: Place, thrown: unknown): FastifyReply {
  const { code, actor, retryAfterMs } = asMirrorError(thrown);
  const failure = FAILURES[code] ?? 'failed';
  const { desk, options, ...view } = place;
  if (failure === 'failed') options.log.error({ error: thrown }, 'an administrator could not sign in');
  else options.log.info({ code }, 'a sign-in was refused');
  if (code === 'sign-in-too-often') sayTooMany(reply, retryAfterMs ?? 0);
  const status =
    code === 'sign-in-too-often'
      ? 429
      : failure === 'failed' && actor === 'remote' && code !== 'provider-failed'
        ? 502
        : 400;
  return show(reply, request, desk, { ...view, failure }, status);
}

function show(
  reply: FastifyReply,
  request: FastifyRequest,
  desk: AccessDesk,
  view: SignInView,
  status = 200,
): FastifyReply {
  const settings = desk.settings();
  const context = strangerContext(request, desk.clock());
  const ways = {
    passphrase: settings?.passphrase === true,
    provider: settings?.oidc === undefined ? null : new URL(settings.oidc.issuer).host,
  };
  return sendPage(reply, context, signInPage(context.language, ways, view), status);
}
