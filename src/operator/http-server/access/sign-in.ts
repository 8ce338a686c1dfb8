import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../../core/log/logger.ts';
import { asMirrorError } from '../../../core/model/errors.ts';
import { type Html, html } from '../../../core/model/html.ts';
import type { Language } from '../../../messages/message.ts';
import { type AccessServices, heldBackMs, SIGN_IN_PATH } from '../../control/access.ts';
import {
  beginOidcSignIn,
  describeSignInLink,
  endOidcSignIn,
  type NewSession,
  REMEMBERED_BROWSER_LIFE_MS,
  rememberBrowser,
  SHORTEST_PASSPHRASE,
  signInByPassphrase,
  signOut,
  type Trier,
  useSignInLink,
} from '../../control/sign-in.ts';
import { browserKeyOf, formOf, setBrowserKey } from '../browser-request.ts';
import { LOGIN_TIMEOUT_MS } from '../logins.ts';
import { SIGN_OUT_PATH, visitorOf } from '../operators.ts';
import { strangerContext } from '../pages/context.ts';
import { type Page, sendPage } from '../pages/layout.ts';
import { rememberedBrowserIn, sayTooMany, strangerOf } from './access.ts';
import { isFromHere, isOwnHost, ownPath, signInAgainAddress } from './own-address.ts';

/** Enough for a passphrase and a path. */
const BODY_BYTES = 4_096;

/** Options of the sign-in pages. */
interface SignInOptions {
  /** Public URL of the port, without a trailing slash. */
  publicUrl(): string;
  log: Logger;
}

/** Adds the sign-in and sign-out pages. The pages reveal nothing about the installation. */
export async function addSignIn(app: FastifyInstance, services: AccessServices, options: SignInOptions): Promise<void> {
  const { publicUrl } = options;
  // A separate scope for the hooks.
  const pages: FastifyPluginAsync = async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      if (!isOwnHost(request, publicUrl())) return reply.code(421).send({ error: 'not-this-host' });
      if (request.routeOptions.config.level !== undefined) return;
      const waitMs = await heldBackMs(
        services,
        strangerOf(request, rememberedBrowserIn(services, request, publicUrl())),
      );
      if (waitMs !== null)
        return show(
          { reply: sayTooMany(reply, waitMs), request, accessServices: services },
          { to: '/', failure: 'busy' },
          429,
        );
    });
    scope.addHook('preValidation', async (request, reply) => {
      // Without a session there is no CSRF proof, so the browser itself must state the origin of the form.
      const isForm = request.method === 'POST' && request.routeOptions.config.level === undefined;
      if (isForm && isFromHere(request, publicUrl()) !== true) return reply.code(403).send({ error: 'not-from-here' });
    });
    addPassphrase(scope, services, options);
    addProvider(scope, services, options);
    addLinks(scope, services, options);
    addSignOut(scope, services, options);
  };
  await app.register(pages);
}

const route = { bodyLimit: BODY_BYTES };

/** `again`: the last sign-in is too old for a sensitive action. */
interface SignInRoute {
  Querystring: { to?: unknown; again?: unknown };
}

function addPassphrase(app: FastifyInstance, services: AccessServices, options: SignInOptions): void {
  app.get<SignInRoute>(SIGN_IN_PATH, route, async (request, reply) => {
    const { to, again } = request.query;
    return show({ reply, request, accessServices: services }, { to: ownPath(to), isAgain: again !== undefined });
  });
  app.post(SIGN_IN_PATH, route, async (request, reply) => {
    const to = ownPath(formOf(request).get('to'));
    return attempt(request, reply, { accessServices: services, options, to }, async () => {
      const passphrase = formOf(request).get('passphrase') ?? '';
      return { ...(await signInByPassphrase(services, passphrase, trierOf(request, services, options))), to };
    });
  });
}

function addProvider(app: FastifyInstance, services: AccessServices, options: SignInOptions): void {
  const { publicUrl } = options;
  const slow = { ...route, handlerTimeout: LOGIN_TIMEOUT_MS };
  // A link instead of a form: `form-action` limits forms, including redirects, to this port.
  app.get<SignInRoute>(`${SIGN_IN_PATH}/provider`, slow, async (request, reply) => {
    const to = ownPath(request.query.to);
    try {
      const { url, sealedState } = await beginOidcSignIn(services, to, request.query.again !== undefined);
      setBrowserKey(reply, publicUrl(), { key: 'sign-in', value: sealedState });
      return reply.redirect(url.href, 303);
    } catch (error) {
      return refuse(request, reply, { accessServices: services, options, to }, error);
    }
  });
  app.get(`${SIGN_IN_PATH}/callback`, slow, async (request, reply) =>
    attempt(request, reply, { accessServices: services, options, to: '/' }, async () => {
      const sealed = browserKeyOf(request, 'sign-in', publicUrl());
      setBrowserKey(reply, publicUrl(), { key: 'sign-in', value: '' });
      const queryAt = request.url.indexOf('?');
      const search = queryAt === -1 ? '' : request.url.slice(queryAt);
      const trier = trierOf(request, services, options);
      return endOidcSignIn(services, { search, sealedState: sealed, trier }, request.signal);
    }),
  );
}

function addLinks(app: FastifyInstance, services: AccessServices, options: SignInOptions): void {
  const path = `${SIGN_IN_PATH}/link/:ticket`;
  app.get<{ Params: { ticket: string } }>(path, route, async (request, reply) => {
    const link = await describeSignInLink(services, request.params.ticket);
    return show(
      { reply, request, accessServices: services },
      link === null ? { to: '/', failure: 'link' } : { to: '/', link },
    );
  });
  app.post<{ Params: { ticket: string } }>(path, route, async (request, reply) => {
    const { ticket } = request.params;
    const link = await describeSignInLink(services, ticket);
    const [passphrase, again] = [formOf(request).get('passphrase'), formOf(request).get('again')];
    const context = { accessServices: services, options, to: '/', ...(link === null ? {} : { link }) };
    if (passphrase !== again)
      return show({ reply, request, accessServices: services }, { ...context, failure: 'different' }, 400);
    return attempt(request, reply, context, async () => ({
      ...(await useSignInLink(services, ticket, passphrase, trierOf(request, services, options))),
      to: '/',
    }));
  });
}

function addSignOut(app: FastifyInstance, services: AccessServices, { publicUrl }: SignInOptions): void {
  app.post(SIGN_OUT_PATH, { ...route, config: { level: 'viewer' } }, async (request, reply) => {
    const session = browserKeyOf(request, 'session', publicUrl());
    await signOut(services, visitorOf(request), session, formOf(request).get('everywhere') !== null);
    setBrowserKey(reply, publicUrl(), { key: 'session', value: '' });
    return reply.redirect(SIGN_IN_PATH, 303);
  });
}

function trierOf(request: FastifyRequest, services: AccessServices, { publicUrl }: SignInOptions): Trier {
  const rememberedBrowser = rememberedBrowserIn(services, request, publicUrl());
  return { caller: request.caller, rememberedBrowser, userAgent: request.headers['user-agent'] };
}

interface SignInContext extends SignInView {
  accessServices: AccessServices;
  options: SignInOptions;
}

/** A successful sign-in creates a new session and ends the previous one of the browser (no session fixation). */
async function attempt(
  request: FastifyRequest,
  reply: FastifyReply,
  context: SignInContext,
  work: () => Promise<NewSession>,
): Promise<FastifyReply> {
  const { accessServices, options } = context;
  try {
    const { session, account, to } = await work();
    const publicUrl = options.publicUrl();
    const before = browserKeyOf(request, 'session', publicUrl);
    if (before !== '') await accessServices.sessions.end(before);
    setBrowserKey(reply, publicUrl, { key: 'session', value: session });
    const remembered = rememberBrowser(
      accessServices,
      account,
      rememberedBrowserIn(accessServices, request, publicUrl),
    );
    setBrowserKey(reply, publicUrl, { key: 'known-browser', value: remembered, lifeMs: REMEMBERED_BROWSER_LIFE_MS });
    return reply.redirect(ownPath(to), 303);
  } catch (error) {
    return refuse(request, reply, context, error);
  }
}

const FAILURE_OF_CODE: Readonly<Record<string, SignInFailure>> = {
  'passphrase-wrong': 'passphrase',
  'passphrase-unusable': 'unusable',
  'passphrase-guessable': 'guessable',
  'sign-in-too-often': 'often',
  'sign-in-not-allowed': 'account',
  'login-refused': 'denied',
  'sign-in-too-weak': 'weak',
  'login-unknown': 'link',
};

/** The user sees a constant sentence; the log contains the code. */
function refuse(request: FastifyRequest, reply: FastifyReply, context: SignInContext, thrown: unknown): FastifyReply {
  const { code, actor, retryAfterMs } = asMirrorError(thrown);
  const failure = FAILURE_OF_CODE[code] ?? 'failed';
  const { accessServices, options, ...view } = context;
  if (failure === 'failed') options.log.error({ error: thrown }, 'sign-in of an administrator failed');
  else options.log.info({ code }, 'sign-in was refused');
  if (code === 'sign-in-too-often') sayTooMany(reply, retryAfterMs ?? 0);
  const status =
    code === 'sign-in-too-often'
      ? 429
      : failure === 'failed' && actor === 'remote' && code !== 'provider-failed'
        ? 502
        : 400;
  return show({ reply, request, accessServices }, { ...view, failure }, status);
}

function show(
  { reply, request, accessServices }: { reply: FastifyReply; request: FastifyRequest; accessServices: AccessServices },
  view: SignInView,
  status = 200,
): FastifyReply {
  const settings = accessServices.settings();
  const context = strangerContext(request, accessServices.clock());
  const ways = {
    passphrase: settings?.passphrase === true,
    provider: settings?.oidc === undefined ? null : new URL(settings.oidc.issuer).host,
  };
  return sendPage(reply, context, signInPage(context.language, ways, view), status);
}

/** Reason of a failed sign-in, as shown to the user. */
type SignInFailure =
  | 'passphrase'
  | 'unusable'
  | 'guessable'
  | 'different'
  | 'often'
  | 'busy'
  | 'account'
  | 'denied'
  | 'weak'
  | 'link'
  | 'failed';

/** Content of a sign-in page. */
interface SignInView {
  /** Local path after the sign-in. */
  to: string;
  /** The last sign-in is too old for a sensitive action. */
  isAgain?: boolean;
  failure?: SignInFailure;
  /** The opened single-use sign-in link. */
  link?: { mustSet: boolean };
}

/** Available sign-in methods: a passphrase, or a provider with this host. */
interface SignInWays {
  passphrase: boolean;
  provider: string | null;
}

const TEXTS = {
  en: {
    title: 'Sign in',
    passphrase: 'Passphrase',
    again: 'The same once more',
    signIn: 'Sign in',
    askAgain: 'Sign in again: your last sign-in is too old for this action. Then repeat the action.',
    provider: 'Continue with',
    first: 'Choose the passphrase with which you sign in from now on.',
    rule: `At least ${SHORTEST_PASSPHRASE} characters, such as four words by chance.`,
    set: 'Set the passphrase and sign in',
    only: 'This URL signs you in once.',
    another: 'Or choose another passphrase, which ends all of your sessions.',
    none: 'Sign-in is not configured: set operator.access in clinic-mirror.yaml.',
  },
  it: {
    title: 'Accesso',
    passphrase: 'Passphrase',
    again: 'Ancora una volta la stessa',
    signIn: 'Accedi',
    askAgain: 'Accedere di nuovo: l’ultimo accesso è troppo vecchio per questa azione. Poi ripetere l’azione.',
    provider: 'Continua con',
    first: 'Scegliere la passphrase con cui accedere da ora in poi.',
    rule: `Almeno ${SHORTEST_PASSPHRASE} caratteri, per esempio quattro parole a caso.`,
    set: 'Imposta la passphrase e accedi',
    only: 'Questo indirizzo fa accedere una volta sola.',
    another: 'Oppure scegliere un’altra passphrase: tutte le sessioni aperte finiranno.',
    none: 'Qui nessuno può accedere: clinic-mirror.yaml non indica alcun modo (operator.access).',
  },
} as const;

const FAILURES: Record<Language, Record<SignInFailure, string>> = {
  en: {
    passphrase: 'That is not the passphrase.',
    unusable: 'This passphrase is too short or too long.',
    guessable: 'This passphrase is easy to guess. Choose four words by chance.',
    different: 'The two passphrases are not the same.',
    often: 'Too many attempts. Wait 15 minutes.',
    busy: 'Too many requests in a short time. Try again in a minute.',
    account: 'Your account has no access. An owner can add it.',
    denied: 'The provider did not let you in.',
    weak: 'The provider did not confirm the sign-in that the settings demand.',
    link: 'This URL was already used or has expired. The command “clinic-mirror access sign-in” creates a new one.',
    failed: 'Something went wrong on the way. Try again in a few minutes.',
  },
  it: {
    passphrase: 'Non è la passphrase giusta.',
    unusable: 'Questa passphrase è troppo corta o troppo lunga.',
    guessable: 'Questa passphrase è facile da indovinare. Scegliere quattro parole a caso.',
    different: 'Le due passphrase non sono uguali.',
    often: 'Troppi tentativi. Attendere un quarto d’ora.',
    busy: 'Troppe richieste in poco tempo. Riprovare tra un minuto.',
    account: 'Questo account non è autorizzato. Può aggiungerlo un responsabile.',
    denied: 'L’accesso non è stato concesso.',
    weak: 'Il provider non ha confermato l’accesso richiesto dalle impostazioni.',
    link: 'Questo indirizzo è già stato usato o è scaduto. Il comando «clinic-mirror access sign-in» ne dà un altro.',
    failed: 'Qualcosa è andato storto. Riprovare tra qualche minuto.',
  },
};

/** Renders a sign-in page from constant words, the provider's host and the redirect path. */
function signInPage(language: Language, ways: SignInWays, view: SignInView): Page {
  const texts = TEXTS[language];
  const { failure, link } = view;
  const shown =
    failure === undefined ? null : html`<p class="notice act" role="alert">${FAILURES[language][failure]}</p>`;
  const ask = link === undefined ? askWho(language, ways, view) : askOwner(language, link);
  return { title: texts.title, main: html`${shown}${ask}` };
}

function askWho(language: Language, { passphrase, provider }: SignInWays, { to, isAgain = false }: SignInView): Html {
  const texts = TEXTS[language];
  if (!passphrase && provider === null) return html`<p>${texts.none}</p>`;
  const path = `${SIGN_IN_PATH}/provider`;
  const onward = isAgain ? signInAgainAddress(to, path) : `${path}?to=${encodeURIComponent(to)}`;
  return html`${isAgain ? html`<p class="notice" role="status">${texts.askAgain}</p>` : null}${provider === null ? null : html`<p><a class="button main" href="${onward}">${texts.provider} ${provider}</a></p>`}
${
  passphrase
    ? html`<form class="stack" method="post" action="${SIGN_IN_PATH}"><input type="hidden" name="to" value="${to}">
<p><label>${texts.passphrase} <input type="password" name="passphrase" required autocomplete="current-password"></label></p>
<p><button class="button main">${texts.signIn}</button></p></form>`
    : null
}`;
}

/** Forms without an action are sent to the current URL. */
function askOwner(language: Language, { mustSet }: { mustSet: boolean }): Html {
  const texts = TEXTS[language];
  const set = html`<form class="stack" method="post"><p>${mustSet ? texts.first : texts.another} ${texts.rule}</p>
<p><label>${texts.passphrase} <input type="password" name="passphrase" required minlength="${SHORTEST_PASSPHRASE}" autocomplete="new-password"></label></p>
<p><label>${texts.again} <input type="password" name="again" required autocomplete="new-password"></label></p>
<p><button class="button main">${texts.set}</button></p></form>`;
  if (mustSet) return set;
  return html`<form class="stack" method="post"><p>${texts.only}</p><p><button class="button main">${texts.signIn}</button></p></form>${set}`;
}
