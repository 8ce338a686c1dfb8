import type { FastifyInstance, FastifyRequest } from 'fastify';
import { html } from '../../../core/model/html.ts';
import { parseJson } from '../../../core/model/json.ts';
import type { Clock } from '../../../core/model/time.ts';
import { SIGN_IN_PATH } from '../../control/access.ts';
import type { Texts } from '../../documents/document.ts';
import { type PageContext, strangerContext } from './context.ts';
import { framed, type Page } from './layout.ts';
import { linkButton } from './parts.ts';

type Code = Exclude<keyof (typeof REFUSALS)['en'], `${string} text` | 'signIn' | 'overview'>;

/** Renders refusals by the port as pages for browsers; programs receive the code. The page reveals nothing about the installation. */
export function showRefusals(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', async (request, reply, payload) => {
    const isRefused = reply.statusCode >= 400 && String(reply.getHeader('content-type')).startsWith('application/json');
    if (!isRefused || typeof payload !== 'string' || !asksForPage(request)) return payload;
    const context = strangerContext(request, clock());
    reply.type('text/html; charset=utf-8');
    return framed(context, refusalPage(context, codeIn(payload))).toString();
  });
}

function asksForPage({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? '').includes('text/html');
}

/** Returns the code in an answer of this port; other answers become a general failure. */
function codeIn(payload: string): Code {
  const parsed = parseJson(payload);
  const code = typeof parsed === 'object' && parsed !== null && 'error' in parsed ? String(parsed.error) : '';
  return isCode(code) ? code : 'failed';
}

function isCode(code: string): code is Code {
  return Object.hasOwn(REFUSALS.en, `${code} text`);
}

function refusalPage({ language }: PageContext, code: Code): Page {
  const words = REFUSALS[language];
  const onward =
    code === 'not-logged-in' ? linkButton(SIGN_IN_PATH, words.signIn) : linkButton('/', words.overview, 'plain');
  const main = html`<div class="stack"><p>${words[`${code} text`]} <code>${code}</code></p><p>${onward}</p></div>`;
  return { title: words[code], main };
}

const en = {
  'not-found': 'Page not found',
  'not-found text': 'The URL is wrong, or its subject was removed.',
  'no-such-tenant': 'Clinic not found',
  'no-such-tenant text': 'The clinic is not configured, or this account has no access to the clinic.',
  'not-allowed': 'Permission denied',
  'not-allowed text': 'Nothing was changed. Ask an owner to give this account more permissions.',
  'not-from-here': 'Request refused',
  'not-from-here text':
    'The request did not come from a valid page of this server. Nothing was changed. Reload the page and try again.',
  'not-logged-in': 'Session expired',
  'not-logged-in text': 'Nothing was changed. Sign in again to continue.',
  'not-this-host': 'Wrong host',
  'not-this-host text': 'Open the pages with the URL that the administrator of the daemon provides.',
  'too-many-requests': 'Too many requests',
  'too-many-requests text': 'Nothing was changed. Wait one minute, then reload the page.',
  failed: 'Internal error',
  'failed text': 'The page could not be shown. See the log of the daemon.',
  signIn: 'Sign in',
  overview: 'Open the overview',
};

/** Title and text for each refusal code. */
const REFUSALS: Texts<typeof en> = {
  en,
  it: {
    'not-found': 'Pagina non trovata',
    'not-found text': 'L’URL è errato, oppure il suo contenuto è stato rimosso.',
    'no-such-tenant': 'Clinica non trovata',
    'no-such-tenant text': 'La clinica non è configurata, oppure questo account non vi ha accesso.',
    'not-allowed': 'Autorizzazione negata',
    'not-allowed text': 'Nulla è stato modificato. Chiedere a un titolare di concedere più permessi a questo account.',
    'not-from-here': 'Richiesta rifiutata',
    'not-from-here text':
      'La richiesta non proviene da una pagina valida di questo server. Nulla è stato modificato. Ricaricare la pagina e riprovare.',
    'not-logged-in': 'Sessione scaduta',
    'not-logged-in text': 'Nulla è stato modificato. Accedere di nuovo per continuare.',
    'not-this-host': 'Host errato',
    'not-this-host text': 'Aprire le pagine con l’URL fornito dall’amministratore del daemon.',
    'too-many-requests': 'Troppe richieste',
    'too-many-requests text': 'Nulla è stato modificato. Attendere un minuto, poi ricaricare la pagina.',
    failed: 'Errore interno',
    'failed text': 'Impossibile mostrare la pagina. Consultare il log del daemon.',
    signIn: 'Accedi',
    overview: 'Apri la panoramica',
  },
};
