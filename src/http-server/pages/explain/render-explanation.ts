import type { WayWrite } from '../../../control/appointment-way.ts';
import type { Explanation, TargetExplanation } from '../../../control/explain.ts';
import { type Html, type HtmlPart, html } from '../../../model/html.ts';
import { shellWord } from '../../../model/shell-words.ts';
import type { Instant } from '../../../model/time.ts';
import type { PageContext } from '../context.ts';
import { holdAddress } from '../holds/address.ts';
import { fieldNames } from '../names.ts';
import { clinicAddress } from '../navigation.ts';
import { copyable, section } from '../parts.ts';
import { COMPARISONS, DECISIONS, EXPLAIN, HOLD_NAMES } from '../texts/explain.ts';

/** The box that leads to an appointment's way. @param id what stands in it */
export function searchForm({ language }: PageContext, tenant: string, id: string): Html {
  const words = EXPLAIN[language];
  return html`<form class="search" role="search" action="${clinicAddress(tenant, '/explain')}"><input type="search" name="id" value="${id}" aria-label="${words.search}" placeholder="${words.search}" required><button class="button main">${words.find}</button></form>`;
}

/** One appointment's way into each target: five steps, each with when and by which evidence. */
export function renderExplanation(context: PageContext, explanation: Explanation): Html {
  const { tenant, appointment, targets } = explanation;
  const words = EXPLAIN[context.language];
  const json = clinicAddress(tenant, `/explain.json?id=${encodeURIComponent(appointment)}`);
  const command = `clinic-mirror explain ${shellWord(tenant)} ${shellWord(appointment)}`;
  return html`${searchForm(context, tenant, appointment)}${targets.map((target) => renderTarget(context, explanation, target))}<p class="buttons">${copyable(context, command)}<a href="${json}">${words.asJson}</a></p>`;
}

/** How far a step came: done, waits, or there is nothing to do. */
type StepState = 'done' | 'waits' | 'stopped' | 'none';

interface Step {
  name: string;
  state: StepState;
  at: Instant | null;
  lines: readonly HtmlPart[];
}

function renderTarget(context: PageContext, explanation: Explanation, target: TargetExplanation): Html {
  const steps = [
    readStep(context, explanation),
    rulesStep(context, explanation, target),
    comparedStep(context, explanation, target),
    writtenStep(context, target),
    readBackStep(context, target),
  ];
  const items = steps.map(({ name, state, at, lines }) => {
    const when = at === null ? null : context.times.both(at);
    const told = lines.filter((line) => line !== null && line !== '').map((line) => html`<p>${line}</p>`);
    return html`<li class="${state}"><p class="name">${name} ${when}</p>${told}</li>`;
  });
  const label = EXPLAIN[context.language].steps;
  const list = html`<ol class="way" aria-label="${label}: ${target.target}">${items}</ol>`;
  return section(
    `target-${target.target}`,
    `${target.target}`,
    list,
    html`<span class="quiet">${target.connector}</span>`,
  );
}

function readStep({ language, times }: PageContext, { source, askedAt, lastCycle }: Explanation): Step {
  const words = EXPLAIN[language];
  const cycle =
    lastCycle === null
      ? words.noCycle
      : html`${words.lastCycle} <code>${lastCycle.run}</code> ${times.both(lastCycle.startedAt)}${lastCycle.error === null ? null : html`: ${words.cycleFailed(lastCycle.error)}`}`;
  const step = { name: words.read, at: askedAt };
  switch (source.state) {
    case 'there': {
      const { status, agenda, startAt, updatedAt } = source;
      const changed = updatedAt === null ? null : html`${words.changedAt} ${times.both(updatedAt)}`;
      return {
        ...step,
        state: 'done',
        lines: [html`${words.there(status, agenda)} ${times.at(startAt)}`, changed, cycle],
      };
    }
    case 'absent':
      return { ...step, state: 'done', lines: [words.absent, cycle] };
    case 'unusable':
      return { ...step, state: 'stopped', lines: [words.unusable(source.code, source.field), cycle] };
    case 'unknown':
      return {
        ...step,
        state: 'stopped',
        lines: [html`${words.unknown}: ${source.message} <code>${source.code}</code>`, cycle],
      };
  }
}

function rulesStep({ language }: PageContext, { askedAt }: Explanation, { decision }: TargetExplanation): Step {
  const words = EXPLAIN[language];
  const { shown, code, because } = decision;
  // English words come from the verb, which knows more than the code tells.
  const reason = language === 'en' ? because : DECISIONS[language][code];
  const line = html`<strong>${shown ? words.shown : words.notShown}</strong>: ${reason}`;
  return { name: words.rules, at: askedAt, state: shown ? 'done' : 'none', lines: [line] };
}

function comparedStep(
  { language }: PageContext,
  { tenant }: Explanation,
  { way: { compared }, holds }: TargetExplanation,
): Step {
  const words = EXPLAIN[language];
  const open = holds.filter(({ state }) => state === 'open');
  const held = open.map(
    ({ id, kind }) => html`${words.held}: <a href="${holdAddress(tenant, id)}">${HOLD_NAMES[language][kind]}</a>`,
  );
  const fields = compared.fields.length === 0 ? null : words.fields(fieldNames(compared.fields, language));
  const isSettled = compared.found === 'same' || compared.found === 'none';
  const state = open.length > 0 ? 'stopped' : compared.at === null || !isSettled ? 'waits' : 'done';
  const found = compared.at === null ? words.never : COMPARISONS[language][compared.found];
  return { name: words.compared, at: compared.at, state, lines: [found, fields, ...held] };
}

function writtenStep({ language, times }: PageContext, { link, pending, failure, way }: TargetExplanation): Step {
  const words = EXPLAIN[language];
  const { at, version, revision, changes } = way.written;
  const lines: HtmlPart[] = [];
  if (link === null) lines.push(words.nothingWritten);
  else {
    if (at === null) lines.push(words.writtenUnknown);
    lines.push(html`${words.starting} ${times.at(link.startAt)}, ${words.named} <code>${link.remoteId}</code>`);
    const tags = [
      version === null ? null : `${words.version} ${version}`,
      revision === null ? null : `${words.revision} ${revision}`,
    ];
    lines.push(tags.filter((tag) => tag !== null).join(', '));
  }
  if (pending !== null) {
    const { lastError, attempts, parked, dueAt } = pending;
    const why = lastError === null ? words.waits : parked ? words.parked : words.fails(lastError, attempts);
    lines.push(html`<span class="wait">${why} ${times.both(dueAt)}</span>`);
  }
  if (failure !== null) lines.push(html`<span class="act">${words.stands(failure)}</span>`);
  if (changes.length > 0) lines.push(historyOf({ language, times }, changes));
  const state = failure !== null ? 'stopped' : pending !== null ? 'waits' : link === null ? 'none' : 'done';
  return { name: words.written, at, state, lines };
}

function historyOf({ language, times }: Pick<PageContext, 'language' | 'times'>, changes: readonly WayWrite[]): Html {
  const words = EXPLAIN[language];
  const items = changes.map(({ at, effect, reason, run }) => {
    return html`<li>${times.both(at)} ${words[effect]} (${reason}), ${words.run} <code>${run}</code></li>`;
  });
  return html`${words.history}:<ul>${items}</ul>`;
}

function readBackStep({ language }: PageContext, { byHand, way: { readBack } }: TargetExplanation): Step {
  const words = EXPLAIN[language];
  const step = { name: words.readBack, at: readBack.at };
  if (byHand !== null) {
    const done =
      byHand.done === 'removed' ? words.byHandRemoved : words.byHandEdited(fieldNames(byHand.fields, language));
    return { ...step, state: 'stopped', lines: [done, words[byHand.policy]] };
  }
  if (readBack.covers === null) return { ...step, at: null, state: 'none', lines: [words.nothingToRead] };
  return {
    ...step,
    state: readBack.covers ? 'done' : 'waits',
    lines: [readBack.covers ? words.asWritten : words.notSince],
  };
}
