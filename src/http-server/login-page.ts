import { createHash } from 'node:crypto';
import type { LoginLinkDescription } from '../control/logins.ts';
import type { Language } from '../messages/message.ts';
import { Html, html } from '../model/html.ts';
import { CONNECT, type ConnectKind, VENDORS } from './connect-texts.ts';
import { languageOf } from './languages.ts';
import type { LoginOutcome, LoginResult } from './verbs.ts';

/** Path that logins come back to, below the public address. */
export const LOGIN_CALLBACK_PATH = '/oauth/callback';
/** Below it stand the pages at which logins by a link begin. */
export const LOGIN_LINK_PATH = '/oauth/login';

const TEXTS: Record<Language, Record<LoginOutcome, [title: string, text: string]>> = {
  en: {
    connected: ['Connected', 'The connection is made. You can close this page.'],
    unconfirmed: [
      'Almost done',
      'The connection is made. It is used once the clinic has confirmed that this is the right account. You can close this page.',
    ],
    denied: ['Not connected', 'Access was not granted. To connect after all, open the link again.'],
    expired: ['Not connected', 'This link was used already or is too old. Ask for a new one.'],
    'other-browser': [
      'Not connected',
      'This login was begun in another browser. Ask for a new link, and stay in the browser that opens it.',
    ],
    'missing-permissions': [
      'Not connected',
      'A permission that is needed was not granted. Open a new link and leave every box ticked.',
    ],
    'wrong-account': [
      'Not connected',
      'This account can not be used here. Open a new link and choose another account.',
    ],
    interrupted: [
      'Not connected',
      'The provider wants you to sign in, choose an account or confirm the access. Open a new link and complete every step.',
    ],
    'provider-failed': [
      'Not connected',
      'The provider reported an error of its own. Nothing was changed. Try again with a new link in a few minutes.',
    ],
    'not-set-up': [
      'Not connected',
      'The provider does not allow this application the access. Tell your administrator: the application or its permissions must be set up first.',
    ],
    failed: ['Not connected', 'Something went wrong on the way. Try again with a new link in a few minutes.'],
  },
  it: {
    connected: ['Collegamento riuscito', 'Il collegamento è attivo. Può chiudere questa pagina.'],
    unconfirmed: [
      'Quasi fatto',
      'Il collegamento è attivo. Sarà usato quando la clinica avrà confermato che è l’account giusto. Può chiudere questa pagina.',
    ],
    denied: ['Collegamento non riuscito', "L'accesso non è stato concesso. Per collegarsi apra di nuovo il link."],
    expired: ['Collegamento non riuscito', 'Questo link è già stato usato o è scaduto. Ne chieda uno nuovo.'],
    'other-browser': [
      'Collegamento non riuscito',
      'Questo accesso è iniziato in un altro browser. Chieda un nuovo link e resti nel browser che lo apre.',
    ],
    'missing-permissions': [
      'Collegamento non riuscito',
      'Manca un permesso necessario. Apra un nuovo link e lasci selezionate tutte le caselle.',
    ],
    'wrong-account': [
      'Collegamento non riuscito',
      'Questo account non può essere usato qui. Apra un nuovo link e scelga un altro account.',
    ],
    interrupted: [
      'Collegamento non riuscito',
      'Il fornitore richiede di accedere, scegliere un account o confermare l’accesso. Apra un nuovo link e completi tutti i passaggi.',
    ],
    'provider-failed': [
      'Collegamento non riuscito',
      'Il fornitore ha segnalato un proprio errore. Nulla è cambiato. Riprovi tra qualche minuto con un nuovo link.',
    ],
    'not-set-up': [
      'Collegamento non riuscito',
      'Il fornitore non consente l’accesso a questa applicazione. Avvisi l’amministratore: occorre prima configurare l’applicazione o i suoi permessi.',
    ],
    failed: ['Collegamento non riuscito', 'Qualcosa è andato storto. Riprovi tra qualche minuto con un nuovo link.'],
  },
};

const BEGIN: Record<Language, Record<'title' | 'button', string>> = {
  en: { title: 'Connect your account', button: 'Go on' },
  it: { title: 'Colleghi il suo account', button: 'Prosegui' },
};

/** One look for all pages of logins, for a phone first, light and dark. */
const STYLE = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1a1d21,#e7e9eb);
  --quiet: light-dark(#5b636b,#9ea7b0);
  --ground: light-dark(#fbfbfa,#14171a);
  --raised: light-dark(#fff,#1b1f23);
  --line: light-dark(#dfe2e5,#30363c);
  --accent: light-dark(#0f5f73,#6cc3d8);
  --on: light-dark(#fff,#08242b);
}
* { box-sizing: border-box }
body { margin: 0; font: 17px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif; background: var(--ground); color: var(--ink) }
main { max-width: 480px; margin: 0 auto; padding: 32px 20px 48px; display: grid; gap: 20px }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere }
h2 { margin: 0 0 4px; font-size: 17px }
p,ul,dl,dd { margin: 0 }
ul { padding: 0 0 0 20px; display: grid; gap: 4px }
section,dl { background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: 12px 16px }
dt { color: var(--quiet); font-size: 15px }
dd { font-weight: 600; overflow-wrap: anywhere }
a { color: var(--accent) }
.quiet { color: var(--quiet); font-size: 15px }
button { width: 100%; min-height: 48px; padding: 12px 16px; font: inherit; font-weight: 600; color: var(--on); background: var(--accent); border: 0; border-radius: 6px; cursor: pointer }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`;

/** Source of the pages' one style sheet, for the Content-Security-Policy. */
export const LOGIN_PAGE_STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** The page that ends a login. It holds constant words only: nothing of the request, the account or the clinic. */
export function loginPage({ outcome, language }: LoginResult): string {
  const [title, text] = TEXTS[language][outcome];
  return page(language, title, html`<p>${text}</p>`);
}

/**
 * The page behind a link: who asks for what, what will be done and what won't, and whose account is expected. A button begins the login, so that
 * programs which look at links (mail filters, previews) use none up.
 * @param accepted the browser's languages (Accept-Language, RFC 9110 section 12.5.4); without one of ours the clinic's counts
 */
export function loginLinkPage(about: LoginLinkDescription, accepted: string): string {
  const language = languageOf(accepted, about.language);
  const words = CONNECT[language];
  const { will, wont } = words.kinds[kindOf(about)];
  const vendor = VENDORS[about.vendor] ?? words.vendor[about.vendor === 'clinic' ? 'clinic' : 'other'];
  const list = (heading: string, lines: readonly string[]) =>
    html`<section><h2>${heading}</h2><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul></section>`;
  const expected =
    about.expected === null ? null : html`<dl><dt>${words.expected}</dt><dd>${accountText(about.expected)}</dd></dl>`;
  const content = html`<p>${words.intro}</p>${list(words.will, will)}${list(words.wont, wont)}${expected}<form method="post"><button>${words.goOn(vendor)}</button></form><p class="quiet">${words.once}</p><p class="quiet">${words.caution}</p>`;
  return page(language, words.title(about.clinic), content);
}

/** The page that leads on to the provider. A redirect would not do: a form may only be sent to this port. */
export function loginOnwardPage(url: URL, language: Language): string {
  const { title, button } = BEGIN[language];
  const refresh = html`<meta http-equiv="refresh" content="0;url=${url.href}">`;
  return page(language, title, html`<p><a href="${url.href}">${button}</a></p>`, refresh);
}

/** What a login is for, as far as a person has to know it. */
function kindOf({ vendor, targets, scopes }: LoginLinkDescription): ConnectKind {
  if (vendor === 'clinic') return 'clinic';
  if (!targets.some(({ holds }) => holds === 'events')) return 'crm';
  // Google's narrow permission: calendars that the application made itself, and no others (developers.google.com/workspace/calendar/api/auth).
  const isNarrow = vendor === 'google' && !scopes.some((scope) => scope.endsWith('/calendar.events'));
  return isNarrow ? 'own-calendar' : 'calendar';
}

/** A domain is one of whose accounts any is expected. */
function accountText(expected: string): string {
  return expected.startsWith('@') ? `…${expected}` : expected;
}

function page(language: Language, title: string, content: Html, head: Html | null = null): string {
  const whole = html`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">${head}<title>${title}</title>
<style>${new Html(STYLE)}</style></head>
<body><main><h1>${title}</h1>${content}</main></body>
</html>
`;
  return whole.toString();
}

/** HTTP status of the page. */
export function loginStatus(outcome: LoginOutcome): number {
  if (outcome === 'connected' || outcome === 'unconfirmed') return 200;
  return outcome === 'failed' ? 502 : 400;
}
