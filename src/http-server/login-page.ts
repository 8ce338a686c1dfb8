import { createHash } from 'node:crypto';
import { escapeHtml } from '../model/html.ts';
import { type Language, languageOf } from './languages.ts';
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
    failed: ['Collegamento non riuscito', 'Qualcosa è andato storto. Riprovi tra qualche minuto con un nuovo link.'],
  },
};

const BEGIN: Record<Language, Record<'title' | 'text' | 'button', string>> = {
  en: {
    title: 'Connect your account',
    text: 'Go on only if the clinic has sent you this link, and choose the account that the clinic has asked you to connect.',
    button: 'Go on',
  },
  it: {
    title: 'Colleghi il suo account',
    text: 'Prosegua solo se questo link le è stato inviato dalla clinica, e scelga l’account che la clinica le ha chiesto di collegare.',
    button: 'Prosegui',
  },
};

const STYLE = 'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}';

/** Source of the page's one style sheet, for the Content-Security-Policy. */
export const LOGIN_PAGE_STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** The page that ends a login. It holds constant words only: nothing of the request, the account or the clinic. */
export function loginPage({ outcome, language }: LoginResult): string {
  const [title, text] = TEXTS[language][outcome];
  return page(language, title, `<p>${text}</p>`);
}

/**
 * The page behind a link. A button begins the login, so that programs which look at links (mail filters, previews) use none up. As above,
 * constant words.
 * @param accepted the browser's languages (Accept-Language, RFC 9110 section 12.5.4)
 */
export function loginLinkPage(accepted: string): string {
  const language = languageOf(accepted, 'en');
  const { title, text, button } = BEGIN[language];
  return page(language, title, `<p>${text}</p><form method="post"><button>${button}</button></form>`);
}

/** The page that leads on to the provider. A redirect would not do: a form may only be sent to this port. */
export function loginOnwardPage(url: URL, language: Language): string {
  const { title, button } = BEGIN[language];
  const address = escapeHtml(url.href);
  const refresh = `<meta http-equiv="refresh" content="0;url=${address}">`;
  return page(language, title, `<p><a href="${address}">${button}</a></p>`, refresh);
}

function page(language: Language, title: string, content: string, head = ''): string {
  return [
    '<!doctype html>',
    `<html lang="${language}">`,
    `<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}<title>${title}</title>`,
    `<style>${STYLE}</style></head>`,
    `<body><h1>${title}</h1>${content}</body>`,
    '</html>',
    '',
  ].join('\n');
}

/** HTTP status of the page. */
export function loginStatus(outcome: LoginOutcome): number {
  if (outcome === 'connected' || outcome === 'unconfirmed') return 200;
  return outcome === 'failed' ? 502 : 400;
}
