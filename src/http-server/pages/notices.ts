import type { ErrorTexts } from '../../model/errors.ts';
import { type Html, type HtmlPart, html } from '../../model/html.ts';
import type { PageContext } from './context.ts';
import { nextStep, said } from './parts.ts';
import { FRAME } from './texts/frame.ts';

/** What did not work, and what to do, as errors tell it: constant words, ids and codes. */
export interface Failing {
  code: string;
  texts: ErrorTexts;
}

/** Says that something did not work, and what to do. @param heading null where the message says it all */
export function failureNotice(context: PageContext, heading: string | null, failing: Failing): Html {
  const {
    code,
    texts: { message, remedy },
  } = failing;
  const lead = heading === null ? null : html`<strong>${heading}</strong>: `;
  const next = remedy
    ? html`<p class="quiet">${FRAME[context.language].whatToDo}: ${nextStep(context, remedy)}</p>`
    : null;
  return html`<div class="notice act" role="status"><p>${lead}${said(context, message)} <code>${code}</code></p>${next}</div>`;
}

/** Says something that a person should know. */
export function notice(content: HtmlPart): Html {
  return html`<div class="notice"><p>${content}</p></div>`;
}
