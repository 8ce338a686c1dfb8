import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SIGN_IN_PATH } from '../../control/access.ts';
import type { Texts } from '../../documents/document.ts';
import { html } from '../../model/html.ts';
import { parseJson } from '../../model/json.ts';
import type { Clock } from '../../model/time.ts';
import { type PageContext, strangerContext } from './context.ts';
import { framed, type Page } from './layout.ts';
import { linkButton } from './parts.ts';

type Code = Exclude<keyof (typeof REFUSALS)['en'], `${string} text` | 'signIn' | 'overview'>;

/**
 * Who asks for a page and can't have it is told so by a page, wherever the port refused it; a program gets the code. The page tells nothing of the
 * installation: it is for whoever came.
 */
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

/** The code of an answer of ours; of any other one nobody is told more than that it failed. */
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
  'not-found': 'There is no such page',
  'not-found text': 'The address may be mistyped, or what it was about is gone.',
  'no-such-tenant': 'There is no such clinic here',
  'no-such-tenant text': 'It is not configured, or this account may not look at it.',
  'not-allowed': 'This account may not do that',
  'not-allowed text': 'Nothing was done. An owner can let it do more.',
  'not-from-here': 'This was not taken',
  'not-from-here text':
    'It did not come from a page of this server that is still good, and nothing was done. Open the page again, and try once more.',
  'not-logged-in': 'The session has ended',
  'not-logged-in text': 'Nothing was done. Sign in again, and go on from there.',
  'not-this-host': 'This is not the address of these pages',
  'not-this-host text': 'Open them by the address that the administrator of the daemon gives.',
  'too-many-requests': 'Too many pages in a short time',
  'too-many-requests text': 'Nothing was done. Wait a minute, then open the page again.',
  failed: 'Something went wrong',
  'failed text': 'It was not shown. The log of the daemon tells what happened.',
  signIn: 'Sign in',
  overview: 'To the Overview',
};

/** What a person is told who can't have what they asked for: a title and a text for each code. */
const REFUSALS: Texts<typeof en> = {
  en,
  it: {
    'not-found': 'Questa pagina non esiste',
    'not-found text': 'L’indirizzo può essere scritto male, oppure ciò che mostrava non c’è più.',
    'no-such-tenant': 'Qui non c’è questa clinica',
    'no-such-tenant text': 'Non è configurata, oppure questo account non può vederla.',
    'not-allowed': 'Questo account non può farlo',
    'not-allowed text': 'Non è stato fatto nulla. Un responsabile può dargli più permessi.',
    'not-from-here': 'La richiesta non è stata accettata',
    'not-from-here text':
      'Non veniva da una pagina ancora valida di questo server, e non è stato fatto nulla. Aprire di nuovo la pagina e riprovare.',
    'not-logged-in': 'La sessione è terminata',
    'not-logged-in text': 'Non è stato fatto nulla. Accedere di nuovo e riprendere da lì.',
    'not-this-host': 'Questo non è l’indirizzo di queste pagine',
    'not-this-host text': 'Vanno aperte all’indirizzo indicato da chi gestisce il servizio.',
    'too-many-requests': 'Troppe pagine in poco tempo',
    'too-many-requests text': 'Non è stato fatto nulla. Attendere un minuto e aprire di nuovo la pagina.',
    failed: 'Qualcosa è andato storto',
    'failed text': 'La pagina non è stata mostrata. Il registro del servizio dice che cosa è successo.',
    signIn: 'Accedi',
    overview: 'Alla panoramica',
  },
};
