import type { Language } from '../../messages/message.ts';
import type { Explanation, TargetExplanation, WayWrite } from '../control/record-schemas.ts';
import {
  code,
  type Document,
  type DocumentStep,
  holdAddress,
  type Inline,
  joined,
  link,
  time,
  timeAndAge,
  toned,
} from './document.ts';
import { answerOf, blockOf, byHandText, pendingLine, reasonOf, sourceText, UNDECIDED } from './explain-answer.ts';
import { fieldNames, HOLD_NAMES } from './names.ts';
import { COMPARISONS, EXPLAIN } from './texts/explain.ts';

/** Answers why an appointment is or is not in its targets, then shows five steps for each of them, each with time and evidence. */
export function explanationDocument(explanation: Explanation, language: Language): Document {
  const { appointment, targets } = explanation;
  const words = EXPLAIN[language];
  const concerned = targets.filter(({ isConcerned }) => isConcerned);
  return {
    title: words.titleOf(appointment),
    blocks: [
      ...answerOf(explanation, language),
      ...concerned.map((target) => ({
        is: 'section' as const,
        id: `target-${target.target}`,
        heading: target.name,
        sideText: target.target,
        blocks: [
          {
            is: 'steps' as const,
            label: `${words.steps}: ${target.name}`,
            steps: stepsOf(explanation, target, language),
          },
        ],
      })),
    ],
  };
}

function stepsOf(explanation: Explanation, target: TargetExplanation, language: Language): DocumentStep[] {
  return [
    readStep(explanation, language),
    rulesStep(explanation, target, language),
    comparedStep(explanation, target, language),
    writtenStep(explanation, target, language),
    readBackStep(target, language),
  ];
}

function readStep({ source, doctor, askedAt, lastCycle }: Explanation, language: Language): DocumentStep {
  const words = EXPLAIN[language];
  const cycle =
    lastCycle === null
      ? words.noCycle
      : [
          words.lastCycle,
          ' ',
          code(lastCycle.run),
          ' ',
          timeAndAge(lastCycle.startedAt),
          lastCycle.error !== null && `: ${words.cycleFailed(lastCycle.error)}`,
        ];
  const updatedAt = source.state === 'there' ? source.updatedAt : null;
  return {
    name: words.read,
    at: askedAt,
    state: source.state === 'there' || source.state === 'absent' ? 'done' : 'stopped',
    lines: [sourceText(source, language, doctor), updatedAt && [words.changedAt, ' ', timeAndAge(updatedAt)], cycle],
  };
}

function rulesStep({ askedAt }: Explanation, { decision }: TargetExplanation, language: Language): DocumentStep {
  const words = EXPLAIN[language];
  const { shown } = decision;
  const decided = shown ? words.shown : UNDECIDED.has(decision.code) ? words.undecided : words.notShown;
  const line = [toned('strong', decided), ': ', reasonOf(decision, language)];
  return { name: words.rules, at: askedAt, state: shown ? 'done' : 'none', lines: [line] };
}

function comparedStep({ tenant }: Explanation, target: TargetExplanation, language: Language): DocumentStep {
  const { way, holds, decision, withheld } = target;
  const { compared } = way;
  const words = EXPLAIN[language];
  const held = holds.map(({ id, kind, state }) => [
    `${words.held}: `,
    link(holdAddress(tenant, id), HOLD_NAMES[language][kind]),
    ` (${id}, ${state})`,
  ]);
  const isInSync = compared.found === 'same' || compared.found === 'none';
  const isHeld = holds.some(({ state }) => state === 'open');
  return {
    name: words.compared,
    at: compared.at,
    state: isHeld ? 'stopped' : compared.at === null || !isInSync ? 'waits' : 'done',
    lines: [
      compared.at === null ? words.never : COMPARISONS[language][compared.found],
      compared.fields.length > 0 && words.fields(fieldNames(compared.fields, language)),
      withheld?.change === 'update' && words.notUpdatedBy(withheld.policy),
      withheld?.change === 'delete' && words.notRemovedBy(withheld.policy),
      compared.found === 'newer' &&
        withheld === undefined &&
        decision.shown &&
        blockOf(target, language) === null &&
        words.nextCycle,
      ...held,
    ],
  };
}

function writtenStep({ askedAt }: Explanation, target: TargetExplanation, language: Language): DocumentStep {
  const { link: written, pending, failure, way } = target;
  const words = EXPLAIN[language];
  const { at, version, revision, changes } = way.written;
  const lines: Inline[] = [];
  if (written === null) lines.push(words.nothingWritten);
  else {
    if (at === null) lines.push(words.writtenUnknown);
    lines.push([words.starting, ' ', time(written.startAt), `, ${words.named} `, code(written.remoteId)]);
    const tags = [version && `${words.version} ${version}`, revision !== null && `${words.revision} ${revision}`];
    lines.push(joined(tags, ', '));
  }
  if (pending !== null) lines.push(pendingLine(pending, { askedAt, block: blockOf(target, language), words }));
  if (failure !== null) lines.push(toned('act', words.stands(failure)));
  if (changes.length > 0) lines.push(historyOf(changes, language));
  const state = failure !== null ? 'stopped' : pending !== null ? 'waits' : written === null ? 'none' : 'done';
  return { name: words.written, at, state, lines };
}

function historyOf(changes: readonly WayWrite[], language: Language): Inline {
  const words = EXPLAIN[language];
  const lines = changes.map(({ at, effect, reason, run }) => [
    timeAndAge(at),
    ` ${words[effect]} (${reason}), ${words.run} `,
    code(run),
  ]);
  return [`${words.history}:`, { is: 'lines', lines, folded: null }];
}

function readBackStep(target: TargetExplanation, language: Language): DocumentStep {
  const { link, way } = target;
  const { readBack } = way;
  const words = EXPLAIN[language];
  const step = { name: words.readBack, at: readBack.at };
  const marks = link?.unmarked === true ? [words.unmarked] : [];
  const changed = byHandText(target, language);
  if (changed !== null) return { ...step, state: 'stopped', lines: [changed, ...marks] };
  if (readBack.covers === null) return { ...step, at: null, state: 'none', lines: [words.nothingToRead] };
  return {
    ...step,
    state: readBack.covers ? 'done' : 'waits',
    lines: [readBack.covers ? words.asWritten : words.notSince, ...marks],
  };
}
