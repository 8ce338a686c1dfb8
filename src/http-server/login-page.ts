import { createHash } from 'node:crypto';
import type { LoginOutcome, LoginResult } from './verbs.ts';

/** Path that logins come back to, below the public address. */
export const LOGIN_CALLBACK_PATH = '/oauth/callback';

type Language = LoginResult['language'];

const TEXTS: Record<Language, Record<LoginOutcome, [title: string, text: string]>> = {
  en: {
    connected: ['Connected', 'The connection is made. You can close this page.'],
    denied: ['Not connected', 'Access was not granted. To connect after all, open the link again.'],
    expired: ['Not connected', 'This link was used already or is too old. Ask for a new one.'],
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
    denied: ['Collegamento non riuscito', "L'accesso non è stato concesso. Per collegarsi apra di nuovo il link."],
    expired: ['Collegamento non riuscito', 'Questo link è già stato usato o è scaduto. Ne chieda uno nuovo.'],
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

const STYLE = 'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}';

/** Source of the page's one style sheet, for the Content-Security-Policy. */
export const LOGIN_PAGE_STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** The page that ends a login. It holds constant words only: nothing of the request, the account or the clinic. */
export function loginPage({ outcome, language }: LoginResult): string {
  const [title, text] = TEXTS[language][outcome];
  return [
    '<!doctype html>',
    `<html lang="${language}">`,
    `<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`,
    `<style>${STYLE}</style></head>`,
    `<body><h1>${title}</h1><p>${text}</p></body>`,
    '</html>',
    '',
  ].join('\n');
}

/** HTTP status of the page. */
export function loginStatus(outcome: LoginOutcome): number {
  if (outcome === 'connected') return 200;
  return outcome === 'failed' ? 502 : 400;
}
