import type { FastifyInstance } from 'fastify';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import { html } from '../../model/html.ts';
import type { OperatorDesk } from '../operator-desk.ts';
import { contextOf, type PageContext } from './context.ts';
import { type Page, sendPage } from './layout.ts';
import { nextStep, said } from './parts.ts';
import { FRAME } from './texts/frame.ts';

/** Has pages tell what failed in them: the sentence of the error and what to do, as on every surface. */
export function showErrors(app: FastifyInstance, desk: OperatorDesk): void {
  app.setErrorHandler((thrown, request, reply) => {
    // What the server itself refuses (a form that is too large, nobody in particular) is answered as everywhere.
    if (request.visitor === null || (!(thrown instanceof MirrorError) && isRefusal(thrown))) throw thrown;
    const error = asMirrorError(thrown);
    if (error.code === 'unexpected') desk.log.error({ error: thrown }, 'a page could not be shown');
    const context = contextOf(request, desk);
    return sendPage(reply, context, errorPage(context, error), statusOf(error));
  });
}

/** What a page says of an error. */
function errorPage(context: PageContext, error: MirrorError): Page {
  const words = FRAME[context.language];
  const { code, texts } = error;
  // What to do about a tenant that there is not names those that there are: not for whoever may see some alone.
  const isOfOthers = code === 'no-such-tenant' && context.visitor?.tenants !== null;
  const remedy = isOfOthers ? null : texts.remedy;
  const isKnown = code !== 'unexpected';
  const command = remedy === null ? null : html`<p>${words.whatToDo}: ${nextStep(context, remedy)}</p>`;
  const told = isKnown
    ? html`<p>${said(context, texts.message)} <code>${code}</code></p>`
    : html`<p>${words.failedText}</p>`;
  return { title: words.failed, main: html`<div class="notice act stack" role="alert">${told}${command}</div>` };
}

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof Error && 'statusCode' in thrown && Number(thrown.statusCode) < 500;
}

/** HTTP status of an error: whose it is to mend it. */
function statusOf({ actor, code }: MirrorError): number {
  if (code.startsWith('no-such-')) return 404;
  if (actor === 'remote') return 503;
  return actor === 'contract' ? 500 : 409;
}
