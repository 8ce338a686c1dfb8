import { DECISIONS, type Explanation, type TargetExplanation, type WayWrite } from '../control/record-schemas.ts';
import { type Language, render } from '../messages/message.ts';
import type { SourceView } from '../model/schemas.ts';
import { type Instant, upcoming } from '../model/time.ts';
import {
  code,
  type Document,
  type DocumentStep,
  holdAddress,
  type Inline,
  joined,
  link,
  paragraph,
  time,
  timeAndAge,
  toned,
} from './document.ts';
import { fieldNames, HOLD_NAMES } from './names.ts';
import { COMPARISONS, EXPLAIN } from './texts/explain.ts';

/** Shows how an appointment reaches each target: five steps, each with time and evidence. */
export function explanationDocument(explanation: Explanation, language: Language): Document {
  const { appointment, targets } = explanation;
  const words = EXPLAIN[language];
  return {
    title: words.titleOf(appointment),
    blocks: [
      ...(isUnknown(explanation) ? [paragraph(words.nobodyKnows)] : []),
      ...targets.map((target) => ({
        is: 'section' as const,
        id: `target-${target.target}`,
        heading: target.target,
        sideText: target.connector,
        blocks: [
          {
            is: 'steps' as const,
            label: `${words.steps}: ${target.target}`,
            steps: stepsOf(explanation, target, language),
          },
        ],
      })),
    ],
  };
}

/** Returns whether the clinic lacks the appointment, and no target ever received it: the id is probably wrong. */
function isUnknown({ source, targets }: Explanation): boolean {
  if (source.state !== 'absent') return false;
  return targets.every(
    ({ link, pending, holds, way }) =>
      link === null && pending === null && holds.length === 0 && way.written.changes.length === 0,
  );
}

/** Returns the clinic's state of an appointment. */
export function sourceText(source: SourceView, language: Language): Inline {
  const words = EXPLAIN[language];
  switch (source.state) {
    case 'there':
      return [words.there(source.status, source.agenda), ' ', time(source.startAt)];
    case 'absent':
      return words.absent;
    case 'unusable':
      return words.unusable(source.code, source.field);
    case 'unknown':
      return [words.unknown, ': ', source.message, ' ', code(source.code)];
  }
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

function readStep({ source, askedAt, lastCycle }: Explanation, language: Language): DocumentStep {
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
    lines: [sourceText(source, language), updatedAt && [words.changedAt, ' ', timeAndAge(updatedAt)], cycle],
  };
}

/** Reasons for which the rules of the target were not applied. */
const UNDECIDED: ReadonlySet<TargetExplanation['decision']['code']> = new Set([
  'tenant-paused',
  'target-paused',
  'unread',
]);

function rulesStep({ askedAt }: Explanation, { decision }: TargetExplanation, language: Language): DocumentStep {
  const words = EXPLAIN[language];
  const { shown, code: rule, because } = decision;
  // The English reason comes from the verdict, which has more details than the code.
  const reason = language === 'en' ? because : render(DECISIONS[rule], language);
  const decided = shown ? words.shown : UNDECIDED.has(rule) ? words.undecided : words.notShown;
  const line = [toned('strong', decided), ': ', reason];
  return { name: words.rules, at: askedAt, state: shown ? 'done' : 'none', lines: [line] };
}

/** Returns why nothing is written for the appointment at present; null if its changes are written. */
function blockOf({ decision, failure, holds }: TargetExplanation, language: Language): string | null {
  const words = EXPLAIN[language];
  if (decision.code === 'tenant-paused' || decision.code === 'target-paused') return words.paused;
  if (failure !== null) return words.stands(failure);
  return holds.some(({ state }) => state === 'open') ? words.held : null;
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

function pendingLine(
  { want, reason, lastError, about, attempts, parked, dueAt }: NonNullable<TargetExplanation['pending']>,
  { askedAt, block, words }: { askedAt: Instant; block: string | null; words: (typeof EXPLAIN)['en'] },
): Inline {
  const isPresent = want === 'present';
  if (block !== null) return toned('wait', `${isPresent ? words.notWritten : words.notRemoved} (${reason}): ${block}`);
  const last = about === undefined ? lastError : `${lastError}, ${about}`;
  const why = last === null ? words.waits : parked ? words.parked(last) : words.fails(last, attempts);
  const nextAt = upcoming(dueAt, askedAt);
  const next = nextAt === null ? words.due : [words.nextRetry, ' ', timeAndAge(nextAt)];
  return toned('wait', [isPresent ? words.present : words.notPresent, ` (${reason}): ${why}, `, next]);
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
  const { byHand, link, way } = target;
  const { readBack } = way;
  const words = EXPLAIN[language];
  const step = { name: words.readBack, at: readBack.at };
  const marks = link?.unmarked === true ? [words.unmarked] : [];
  if (byHand !== null) {
    const { done, fields, policy } = byHand;
    const what = done === 'removed' ? words.byHandRemoved : words.byHandEdited(fieldNames(fields, language));
    const isRestored = policy !== 'repair' || blockOf(target, language) === null;
    return { ...step, state: 'stopped', lines: [isRestored ? `${what}: ${words[policy]}` : what, ...marks] };
  }
  if (readBack.covers === null) return { ...step, at: null, state: 'none', lines: [words.nothingToRead] };
  return {
    ...step,
    state: readBack.covers ? 'done' : 'waits',
    lines: [readBack.covers ? words.asWritten : words.notSince, ...marks],
  };
}
