import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SIGN_IN_PATH } from '../../control/access.ts';
import { html } from '../../model/html.ts';
import { parseJson } from '../../model/json.ts';
import type { Clock } from '../../model/time.ts';
import { type PageContext, strangerContext } from './context.ts';
import { framed, type Page } from './layout.ts';
import { linkButton } from './parts.ts';
import { REFUSALS } from './texts/refusals.ts';

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
  const told = parseJson(payload);
  const code = typeof told === 'object' && told !== null && 'error' in told ? String(told.error) : '';
  return isKnown(code) ? code : 'failed';
}

function isKnown(code: string): code is Code {
  return Object.hasOwn(REFUSALS.en, `${code} text`);
}

function refusalPage({ language }: PageContext, code: Code): Page {
  const words = REFUSALS[language];
  const onward =
    code === 'not-logged-in' ? linkButton(SIGN_IN_PATH, words.signIn) : linkButton('/', words.overview, 'plain');
  const main = html`<div class="stack"><p>${words[`${code} text`]} <code>${code}</code></p><p>${onward}</p></div>`;
  return { title: words[code], main };
}
