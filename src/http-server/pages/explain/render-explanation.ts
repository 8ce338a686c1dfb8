import type { Explanation } from '../../../control/explain.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { explanationDocument } from '../../../documents/explain.ts';
import { EXPLAIN } from '../../../documents/texts/explain.ts';
import { type Html, html } from '../../../model/html.ts';
import { shellWord } from '../../../model/shell-words.ts';
import type { PageContext } from '../context.ts';
import { copyable } from '../parts.ts';
import { printHtml } from '../print-html.ts';

/** The box that leads to an appointment's way. @param id what stands in it */
export function searchForm({ language }: PageContext, tenant: string, id: string): Html {
  const words = EXPLAIN[language];
  return html`<form class="search" role="search" action="${clinicAddress(tenant, '/explain')}"><input type="search" name="id" value="${id}" aria-label="${words.search}" placeholder="${words.search}" required><button class="button main">${words.find}</button></form>`;
}

/** One appointment's way into each target, below a box for another one. */
export function renderExplanation(context: PageContext, explanation: Explanation): Html {
  const { tenant, appointment } = explanation;
  const json = clinicAddress(tenant, `/explain.json?id=${encodeURIComponent(appointment)}`);
  const command = `clinic-mirror explain ${shellWord(tenant)} ${shellWord(appointment)}`;
  const { blocks } = explanationDocument(explanation, context.language);
  return html`${searchForm(context, tenant, appointment)}${printHtml(context, blocks)}<p class="buttons">${copyable(context, command)}<a href="${json}">${EXPLAIN[context.language].asJson}</a></p>`;
}
