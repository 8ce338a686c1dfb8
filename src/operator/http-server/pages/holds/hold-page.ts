import type { FastifyInstance, FastifyReply } from 'fastify';
import { asMirrorError, MirrorError } from '../../../../core/model/errors.ts';
import { type Html, html } from '../../../../core/model/html.ts';
import { SECOND_MS } from '../../../../core/model/time.ts';
import { decideHold } from '../../../../features/holds/decide.ts';
import { type HoldView, secondPersonAbove, viewHold } from '../../../../features/holds/hold-view.ts';
import { listHolds } from '../../../../features/holds/holds.ts';
import { SIGN_IN_AGAIN } from '../../../control/recording.ts';
import type { HeldItem } from '../../../control/target-objects.ts';
import { holdAddress } from '../../../documents/document.ts';
import { formOf } from '../../browser-request.ts';
import type { OperatorServices } from '../../operators.ts';
import { actingOf, contextOf, type PageContext, type PageVisit, reasonField } from '../context.ts';
import { sendPage } from '../layout.ts';
import { csrfField, failureNotice, hiddenFields, linkButton, notice, section, unfolding } from '../parts.ts';
import { HOLDS } from '../texts/holds.ts';
import { decisionResult } from './decision-result.ts';
import { chosenIn, itemLine, renderHold, renderHolds } from './render-hold.ts';

/** One list is fetched from the clinic for a hold. */
const READ_MS = 40 * SECOND_MS;

/** A form can contain thousands of ids. */
const FORM_BYTES = 256 * 1_024;

interface HoldRoute {
  Params: { tenant: string; hold: string };
}

/** Adds the pages for holds: the list, one hold, and its decision in two steps, of which the first is a preview. */
export function addHoldPages(app: FastifyInstance, services: OperatorServices): void {
  const { installation } = services;
  app.get<{ Params: { tenant: string } }>(
    '/tenants/:tenant/holds',
    { config: { level: 'viewer' } },
    async (request, reply) => {
      const { tenant } = request.params;
      const context = contextOf(request, services, tenant);
      const main = renderHolds(context, await listHolds(installation, tenant));
      return sendPage(reply, context, { title: HOLDS[context.language].title, main, isLive: true });
    },
  );
  const slow = { handlerTimeout: READ_MS + 5 * SECOND_MS };
  app.get<HoldRoute>(
    '/tenants/:tenant/holds/:hold',
    { config: { level: 'viewer' }, ...slow },
    async (request, reply) => {
      const { tenant, hold } = request.params;
      const view = await viewHold(installation, tenant, hold, AbortSignal.timeout(READ_MS));
      const result = await decisionResult(contextOf(request, services, tenant), services, view.hold);
      return sendHold({ request, reply, services }, view, { result });
    },
  );
  app.post<HoldRoute>(
    '/tenants/:tenant/holds/:hold',
    { config: { level: 'operator' }, bodyLimit: FORM_BYTES, ...slow },
    async (request, reply) => {
      const { tenant, hold } = request.params;
      const view = await viewHold(installation, tenant, hold, AbortSignal.timeout(READ_MS));
      const choice = choiceOf(formOf(request), view);
      const { nothingChosen, changed } = HOLDS[contextOf(request, services, tenant).language];
      if (choice.seen !== view.hold.seen)
        return sendHold({ request, reply, services }, view, { refusal: notice(changed) });
      if (choice.chosen.length === 0)
        return sendHold({ request, reply, services }, view, { refusal: notice(nothingChosen) });
      return choice.isDecided
        ? decide({ request, reply, services }, view, choice)
        : sendDecision({ request, reply, services }, view, choice);
    },
  );
}

/** Reads the chosen records and decision from a form. An unknown choice selects nothing. */
function choiceOf(form: URLSearchParams, view: HoldView): Choice & { isDecided: boolean; seen: string | null } {
  const choice = form.get('choice');
  const isPart = choice === 'selected';
  const isWhole = choice === 'keep' || choice === 'all';
  const selected = isPart && view.isDivisible ? chosenIn(form, view.items, view.zone) : [];
  return {
    decision: choice === 'keep' ? 'rejected' : 'approved',
    chosen: isWhole ? view.items : selected,
    isPart,
    seen: form.get('seen'),
    isDecided: form.get('step') === 'decide',
  };
}

/** @param feedback reason against a decision, or the result of an earlier decision */
function sendHold(
  { request, reply, services }: PageVisit,
  view: HoldView,
  { refusal = null, result = null }: { refusal?: Html | null; result?: Html | null },
): FastifyReply {
  const context = contextOf(request, services, view.hold.tenant);
  const words = HOLDS[context.language];
  const main = html`${refusal}${result}${renderHold(context, view)}`;
  // A live update would discard the current selection.
  const page = { title: words.titleOf(view.items.length), main, isLive: view.hold.state !== 'open' };
  return sendPage(reply, context, page, refusal === null ? 200 : 409);
}

function sendDecision(
  { request, reply, services }: PageVisit,
  view: HoldView,
  choice: Choice,
  failure: MirrorError | null = null,
): FastifyReply {
  const context = contextOf(request, services, view.hold.tenant);
  const words = HOLDS[context.language];
  const asked = {
    reason: reasonField(context, services, choice.decision === 'approved' ? 'approve' : 'reject'),
    secondAbove: secondPersonAbove(actingOf(request, services), view.hold.tenant),
  };
  const isRequested = failure?.code === 'second-person-needed';
  const feedback =
    failure === null ? null : isRequested ? notice(words.noted) : failureNotice(context, words.refused, failure);
  const main = html`${feedback}${isRequested ? null : renderDecision(context, view, choice, asked)}`;
  const status = failure === null || isRequested ? 200 : 409;
  return sendPage(reply, context, { title: words.titleOf(view.items.length), main }, status);
}

async function decide(visit: PageVisit, view: HoldView, choice: Choice): Promise<FastifyReply> {
  const { request, reply, services } = visit;
  const { hold } = view;
  const { decision, chosen, isPart } = choice;
  const acting = actingOf(request, services);
  const only = isPart ? new Set(chosen.map(({ record }) => record)) : null;
  try {
    const decided = await decideHold(
      acting,
      services.installation,
      { tenant: hold.tenant, hold: hold.id, decision },
      { seen: hold.seen, only },
    );
    return reply.redirect(holdAddress(hold.tenant, decided.hold.id), 303);
  } catch (error) {
    if (!(error instanceof MirrorError) || error.code === SIGN_IN_AGAIN) throw error;
    const failure = asMirrorError(error);
    // The page must be rebuilt if the hold changed since it was displayed.
    if (failure.actor !== 'guard' && !failure.code.startsWith('reason-')) {
      const context = contextOf(request, services, hold.tenant);
      const refusal = failureNotice(context, HOLDS[context.language].refused, failure);
      return sendHold(visit, view, { refusal });
    }
    return sendDecision(visit, view, choice, failure);
  }
}

/** A visitor's decision on records of a hold. */
interface Choice {
  decision: 'approved' | 'rejected';
  chosen: readonly HeldItem[];
  /** Not all records are chosen. */
  isPart: boolean;
}

/**
 * Renders the confirmation: the effects, the required inputs, and the button.
 * @param asked.secondAbove more records than this require a second approver; null without such a rule
 */
function renderDecision(
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
  const feedback = sentences.filter((each) => each !== null).map((each) => html`<p>${each}</p>`);
  const fields = { step: 'decide', seen: hold.seen, choice: isApproval ? (isPart ? 'selected' : 'all') : 'keep' };
  // Each record singly, because a day can contain more records meanwhile.
  const items = isPart ? chosen.map(({ record }) => hiddenFields({ item: record })) : null;
  const [approval, rejection] = buttonsOf(context, view, chosen.length);
  const text = isApproval ? approval : rejection;
  const address = holdAddress(hold.tenant, hold.id);
  const form = html`<form method="post" action="${address}" class="stack">${csrfField(context.visitor)}${hiddenFields(fields)}${items}${asked.reason}<div class="buttons"><button class="button ${isApproval ? 'danger' : 'main'}">${text}</button>${linkButton(address, words.back, 'plain')}</div></form>`;
  const list = html`<ul class="boxes">${chosen.map((item) => html`<li>${item.startAt === null ? null : context.times.day(item.startAt)} ${itemLine(context, hold.tenant, item)}</li>`)}</ul>`;
  const unfolded = unfolding('chosen', html`${words.items} <span class="quiet">${chosen.length}</span>`, list);
  return section('what', words.willHappen, html`<div class="stack">${feedback}${unfolded}${form}</div>`);
}

function buttonsOf({ language }: PageContext, { hold, isDivisible }: HoldView, count: number): [string, string] {
  const words = HOLDS[language];
  if (hold.kind === 'corrections') return [words.doCorrect(count), words.doNotCorrect];
  return isDivisible ? [words.doRemove(count), words.doKeep] : [words.doApprove, words.doReject];
}

function sentencesOf(
  { language, targetName }: PageContext,
  { hold, items, isDivisible }: HoldView,
  choice: Choice,
): string[] {
  const words = HOLDS[language];
  const { decision, chosen, isPart } = choice;
  const count = chosen.length;
  const target = targetName(hold.tenant, hold.target);
  if (hold.kind === 'corrections')
    return [decision === 'rejected' ? words.willNotCorrect(count) : words.willCorrect(count)];
  if (!isDivisible) {
    if (decision === 'rejected') return [words.willRefuse(target)];
    return [hold.kind === 'people' ? words.willGoOnPeople : words.willGoOn(count, target)];
  }
  if (decision === 'rejected') return [words.willKeep(count, target)];
  return [
    words.willRemove(count, target),
    ...(isPart && count < items.length ? [words.restStays(items.length - count)] : []),
    words.undo,
  ];
}
