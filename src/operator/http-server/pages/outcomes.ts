import { type Html, type HtmlPart, html } from '../../../core/model/html.ts';
import { clinicAddress } from '../../documents/document.ts';
import type { PageContext } from './context.ts';
import { RESULTS } from './texts/results.ts';

/** Actions whose result the next page tells. */
const OUTCOMES = [
  ...['retry', 'retry-nothing', 'withdrawn', 'withdrawn-nothing', 'accepted', 'accepted-again'],
  ...['saved', 'saved-same', 'added', 'removed', 'removed-to-file', 'ended'],
] as const;
/** Name of an action's result. */
type Outcome = (typeof OUTCOMES)[number];

/** The result of an action: a name and figures. */
interface Result {
  outcome: Outcome;
  figures: readonly number[];
}

/**
 * Adds the result of an action to the URL of the next page. The URL contains figures only, so that a forged link can state no text, and a
 * live page keeps the sentence when it reloads.
 */
export function withOutcome(address: string, outcome: Outcome, ...figures: readonly number[]): string {
  return `${address}?did=${[outcome, ...figures].join('.')}`;
}

/** Returns the result that the URL of a page names; null for none. */
export function outcomeOf({ address }: Pick<PageContext, 'address'>): Result | null {
  const [, query = ''] = address.split('?');
  const [, name = '', list = ''] =
    /^([a-z-]+)((?:\.\d{1,9})*)$/.exec(new URLSearchParams(query).get('did') ?? '') ?? [];
  const outcome = OUTCOMES.find((each) => each === name);
  return outcome === undefined ? null : { outcome, figures: list.split('.').slice(1).map(Number) };
}

/** Renders the result of an action. @param lines sentences, with links where the reader continues */
export function resultNotice(lines: readonly HtmlPart[]): Html {
  const shown = lines.filter((line) => line !== null);
  return html`<div class="notice stack" role="status">${shown.map((line) => html`<p>${line}</p>`)}</div>`;
}

/** Renders a link to where the reader continues. */
export function resultLink(address: string, text: string): Html {
  return html`<a href="${address}">${text}</a>`;
}

/** Renders the result of a manual retry; null after another action. */
export function retryResult(context: PageContext): Html | null {
  const words = RESULTS[context.language];
  const result = outcomeOf(context);
  if (result?.outcome === 'retry-nothing') return resultNotice([words.retriedNothing]);
  if (result?.outcome !== 'retry') return null;
  const [clinics = 0, targets = 0] = result.figures;
  return resultNotice([targets === 0 ? words.retryReads(clinics) : words.retry(clinics, targets)]);
}

/** Renders the result of a change to a clinic's configuration; null after another action. */
export function configurationResult(context: PageContext): Html | null {
  const words = RESULTS[context.language];
  const { tenant } = context;
  switch (outcomeOf(context)?.outcome) {
    case 'saved':
      return resultNotice([words.saved, tenant && resultLink(clinicAddress(tenant.id), words.toClinic)]);
    case 'saved-same':
      return resultNotice([words.savedSame]);
    case 'added':
      return resultNotice([
        words.added,
        tenant && resultLink(clinicAddress(tenant.id, '#connections'), words.toConnections),
      ]);
    case 'removed':
      return resultNotice([words.removed]);
    case 'removed-to-file':
      return resultNotice([words.removedToFile]);
    default:
      return null;
  }
}
