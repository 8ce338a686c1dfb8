import type { SourceView } from '../../core/model/schemas.ts';
import { type Instant, upcoming } from '../../core/model/time.ts';
import { type Language, render } from '../../messages/message.ts';
import { DECISIONS, type Explanation, type TargetExplanation } from '../control/record-schemas.ts';
import { type Block, code, holdAddress, type Inline, link, paragraph, time, timeAndAge, toned } from './document.ts';
import { fieldNames } from './names.ts';
import { COMPARISONS, EXPLAIN } from './texts/explain.ts';

/** Answers in one sentence for each target that an appointment concerns, and counts the other targets in one line. */
export function answerOf(explanation: Explanation, language: Language): Block[] {
  const { source, targets, doctor } = explanation;
  const words = EXPLAIN[language];
  const concerned = targets.filter(({ isConcerned }) => isConcerned);
  const others = targets.length - concerned.length;
  const rest = source.state === 'there' ? words.othersOfDoctors(others) : words.othersWithoutData(others);
  const answers = concerned.map((target) => paragraph(...targetAnswer(explanation, target, language)));
  if (concerned.length === 0) answers.push(paragraph(noTarget(source, doctor, language)));
  return [
    ...answers,
    ...(others === 0 || (concerned.length === 0 && source.state === 'absent') ? [] : [paragraph(toned('quiet', rest))]),
  ];
}

function noTarget(source: SourceView, doctor: string | null, language: Language): Inline {
  const words = EXPLAIN[language];
  if (source.state === 'absent') return words.nobodyKnows;
  if (source.state === 'there')
    return [words.noTargetOf(doctor ?? source.agenda), ' ', sourceText(source, language, doctor), '.'];
  return [words.nothingStored, ' ', sourceText(source, language), '.'];
}

/** Says whether the event is in the target and since when, why, and what happens next, from stored evidence only. */
function targetAnswer(explanation: Explanation, target: TargetExplanation, language: Language): Inline[] {
  const { decision, link: written, pending, byHand } = target;
  const words = EXPLAIN[language];
  const isThere = written !== null && byHand?.done !== 'removed';
  const isReason = !UNDECIDED.has(decision.code) && decision.shown === isThere;
  const because = isReason ? `, ${words.because} ${reasonOf(decision, language)}` : null;
  const isUnwritten = written === null && (decision.shown || pending?.want === 'present');
  const preposition = isThere ? words.inTarget : isUnwritten ? words.notYetIn : words.notIn;
  const details = detailsOf(explanation, target, language, isReason);
  return [
    toned('strong', [preposition, ' ', target.name]),
    isThere ? sinceOf(target, language) : null,
    because,
    ...details.flatMap((detail) => ['; ', detail]),
    '.',
  ];
}

/** The time of the last write is the begin only if no run changed the object. */
function sinceOf({ way: { written } }: TargetExplanation, language: Language): Inline {
  const words = EXPLAIN[language];
  if (written.at === null) return null;
  return [written.changes.length === 0 ? ` ${words.since} ` : `, ${words.lastWritten} `, timeAndAge(written.at)];
}

function detailsOf(
  { tenant, askedAt }: Explanation,
  target: TargetExplanation,
  language: Language,
  isReasonShown: boolean,
): Inline[] {
  const { decision, link: written, pending, byHand, holds, withheld, way, failure } = target;
  const words = EXPLAIN[language];
  const block = blockOf(target, language);
  const { found } = way.compared;
  const isUpToDate = found === 'same' || (found === 'none' && !decision.shown);
  const hold = holds.find(({ state }) => state === 'open');
  const isAhead = found === 'newer' || found === 'none';
  const isNext = isAhead && decision.shown && block === null && withheld === undefined;
  const details: Inline[] = [
    isReasonShown || decision.shown ? null : reasonOf(decision, language),
    byHandText(target, language),
    hold === undefined ? null : link(holdAddress(tenant, hold.id), words.held),
    pending === null ? null : pendingLine(pending, { askedAt, block, words }),
    pending !== null || isUpToDate ? null : COMPARISONS[language][found],
    withheld === undefined
      ? null
      : words[withheld.change === 'update' ? 'notUpdatedBy' : 'notRemovedBy'](withheld.policy),
    isNext ? words.comparesAgain : null,
    failure === null || pending !== null ? null : words.stands(failure),
    written !== null && way.readBack.covers === true && way.readBack.at !== null && byHand === null
      ? [words.readBackAt, ' ', timeAndAge(way.readBack.at)]
      : null,
  ];
  return details.filter((detail) => detail !== null);
}

/** Returns the clinic's state of an appointment. @param doctor name of the agenda; null shows its id */
export function sourceText(source: SourceView, language: Language, doctor: string | null = null): Inline {
  const words = EXPLAIN[language];
  switch (source.state) {
    case 'there':
      return [words.there(source.status, doctor ?? source.agenda), ' ', time(source.startAt)];
    case 'absent':
      return words.absent;
    case 'unusable':
      return words.unusable(source.code, source.field);
    case 'unknown':
      return [words.unknown, ': ', source.message, ' ', code(source.code)];
  }
}

/** Reasons for which the rules of the target were not applied. */
export const UNDECIDED: ReadonlySet<TargetExplanation['decision']['code']> = new Set([
  'tenant-paused',
  'target-paused',
  'unread',
]);

/** Returns the reason of a decision. The English reason comes from the verdict, which has more details than the code. */
export function reasonOf({ code: rule, because }: TargetExplanation['decision'], language: Language): string {
  return language === 'en' ? because : render(DECISIONS[rule], language);
}

/** Returns why nothing is written for the appointment at present; null if its changes are written. */
export function blockOf({ decision, failure, holds }: TargetExplanation, language: Language): string | null {
  const words = EXPLAIN[language];
  if (decision.code === 'tenant-paused' || decision.code === 'target-paused') return words.paused;
  if (failure !== null) return words.stands(failure);
  return holds.some(({ state }) => state === 'open') ? words.held : null;
}

/** Describes a manual change, and what happens to it unless nothing is written at present; null without one. */
export function byHandText(target: TargetExplanation, language: Language): string | null {
  if (target.byHand === null) return null;
  const { done, fields, policy } = target.byHand;
  const words = EXPLAIN[language];
  const what = done === 'removed' ? words.byHandRemoved : words.byHandEdited(fieldNames(fields, language));
  const isSure = policy !== 'repair' || blockOf(target, language) === null;
  return isSure ? `${what}: ${words[policy]}` : what;
}

/** Describes a waiting change: the direction, the reason and the next attempt. @param options.block why nothing is written at present */
export function pendingLine(
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
