import type { HeldItem } from '../../../control/held-item.ts';
import { holdAddress } from '../../../documents/addresses.ts';
import type { HoldView } from '../../../features/holds/hold-view.ts';
import { type Html, html } from '../../../model/html.ts';
import type { PageContext } from '../context.ts';
import { csrfField, hiddenFields, linkButton, section, unfolding } from '../parts.ts';
import { HOLDS } from '../texts/holds.ts';
import { itemLine } from './render-hold.ts';

/** What a visitor wants to have done with which items of a hold. */
export interface Choice {
  decision: 'approved' | 'rejected';
  chosen: readonly HeldItem[];
  /** They are not all. */
  isPart: boolean;
}

/**
 * The step before a decision: what will happen, what has to be given with it, and the button that does it.
 * @param asked.secondAbove from more items than this on a second person has to want the same; null where none has to
 */
export function renderDecision(
  context: PageContext,
  view: HoldView,
  choice: Choice,
  asked: { reason: Html | null; secondAbove: number | null },
): Html {
  const words = HOLDS[context.language];
  const { hold } = view;
  const { decision, chosen, isPart } = choice;
  const isApproval = decision === 'approved';
  const isSecondNeeded = isApproval && asked.secondAbove !== null && chosen.length > asked.secondAbove;
  const sentences = [
    ...sentencesOf(context, view, choice),
    isSecondNeeded ? words.second(asked.secondAbove ?? 0) : null,
  ];
  const told = sentences.filter((each) => each !== null).map((each) => html`<p>${each}</p>`);
  const fields = { step: 'decide', seen: hold.seen, choice: isApproval ? (isPart ? 'selected' : 'all') : 'keep' };
  // Each by itself: a day may have got more meanwhile.
  const items = isPart ? chosen.map(({ record }) => hiddenFields({ item: record })) : null;
  const [approval, rejection] = buttonsOf(context, view, chosen.length);
  const text = isApproval ? approval : rejection;
  const address = holdAddress(hold.tenant, hold.id);
  const form = html`<form method="post" action="${address}" class="stack">${csrfField(context.visitor)}${hiddenFields(fields)}${items}${asked.reason}<div class="buttons"><button class="button ${isApproval ? 'danger' : 'main'}">${text}</button>${linkButton(address, words.back, 'plain')}</div></form>`;
  const list = html`<ul class="boxes">${chosen.map((item) => html`<li>${item.startAt === null ? null : context.times.day(item.startAt)} ${itemLine(context, hold.tenant, item)}</li>`)}</ul>`;
  const unfolded = unfolding('chosen', html`${words.items} <span class="quiet">${chosen.length}</span>`, list);
  return section('what', words.willHappen, html`<div class="stack">${told}${unfolded}${form}</div>`);
}

function buttonsOf({ language }: PageContext, { hold, isDivisible }: HoldView, count: number): [string, string] {
  const words = HOLDS[language];
  if (hold.kind === 'corrections') return [words.doCorrect(count), words.doNotCorrect];
  return isDivisible ? [words.doRemove(count), words.doKeep] : [words.doApprove, words.doReject];
}

function sentencesOf({ language }: PageContext, { hold, items, isDivisible }: HoldView, choice: Choice): string[] {
  const words = HOLDS[language];
  const { decision, chosen, isPart } = choice;
  const count = chosen.length;
  if (hold.kind === 'corrections')
    return [decision === 'rejected' ? words.willNotCorrect(count) : words.willCorrect(count)];
  if (!isDivisible) {
    if (decision === 'rejected') return [words.willRefuse(hold.target)];
    return [hold.kind === 'people' ? words.willGoOnPeople : words.willGoOn(count, hold.target)];
  }
  if (decision === 'rejected') return [words.willKeep(count, hold.target)];
  return [
    words.willRemove(count, hold.target),
    ...(isPart && count < items.length ? [words.restStays(items.length - count)] : []),
    words.undo,
  ];
}
