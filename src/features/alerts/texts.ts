import { type Problem, tenantsOf } from '../../core/model/problems.ts';
import type { SyncHealth } from '../../core/model/schemas.ts';
import { SYNC_HEALTH_WORDS } from '../../core/model/sync-state.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { type Language, render, type Text } from '../../messages/message.ts';
import type { Digest } from './digest.ts';

/** Largest number of problems that a message lists. A webhook payload is limited to 20,000 bytes. */
const NAMED = 40;

type Words = typeof EN;

const EN = {
  begun: 'Action required:',
  again: 'Action still required:',
  over: 'Resolved:',
  others: (count: number) => `${count} other reported ${count === 1 ? 'problem is' : 'problems are'} unchanged.`,
  all: 'Full list:',
  isOver: 'resolved',
  problems: (count: number) => `${count} problems`,
  ofClinics: (count: number) => ` of ${count} ${count === 1 ? 'clinic' : 'clinics'}`,
  more: (count: number) => `and ${count} more`,
  since: (age: string) => `for ${age}`,
  lasted: (age: string) => `after ${age}`,
  minutes: (count: number) => `${count} min`,
  until: (age: string) => `in ${age}`,
  nextTry: (minutes: number) => `retrying, next try in ${minutes} min`,
  waiting: (count: number) => `${count} ${count === 1 ? 'pending change' : 'pending changes'}`,
  clinics: (count: number, ids: string) => `${count} ${count === 1 ? 'affected clinic' : 'affected clinics'} (${ids})`,
  stands: (syncHealth: SyncHealth) =>
    `the clinic: ${SYNC_HEALTH_WORDS.en[syncHealth.sync]}, ${SYNC_HEALTH_WORDS.en[syncHealth.health]}`,
  underAnHour: 'less than an hour',
  hours: (count: number) => `${count} ${count === 1 ? 'hour' : 'hours'}`,
  days: (count: number) => `${count} days`,
};

const WORDS = {
  en: EN,
  it: {
    begun: 'Intervento richiesto:',
    again: 'Intervento ancora richiesto:',
    over: 'Risolto:',
    others: (count) =>
      count === 1
        ? '1 altro problema già segnalato è invariato.'
        : `Altri ${count} problemi già segnalati sono invariati.`,
    all: 'Elenco completo:',
    isOver: 'risolto',
    problems: (count) => `${count} problemi`,
    ofClinics: (count) => ` in ${count} ${count === 1 ? 'clinica' : 'cliniche'}`,
    more: (count) => `e altri ${count}`,
    since: (age) => `da ${age}`,
    lasted: (age) => `dopo ${age}`,
    minutes: (count) => `${count} min`,
    until: (age) => `tra ${age}`,
    nextTry: (minutes) => `nuovi tentativi in corso, riprova tra ${minutes} min`,
    waiting: (count) => `${count} ${count === 1 ? 'modifica in coda' : 'modifiche in coda'}`,
    clinics: (count, ids) => `${count} ${count === 1 ? 'clinica interessata' : 'cliniche interessate'} (${ids})`,
    stands: (syncHealth) =>
      `la clinica: ${SYNC_HEALTH_WORDS.it[syncHealth.sync]}, ${SYNC_HEALTH_WORDS.it[syncHealth.health]}`,
    underAnHour: 'meno di un’ora',
    hours: (count) => `${count} ${count === 1 ? 'ora' : 'ore'}`,
    days: (count) => `${count} giorni`,
  },
} satisfies Record<Language, typeof EN>;

/** Returns subject and text of a digest, without patient data. */
export function textOf(digest: Digest, now: Instant, language: Language): { subject: string; text: string } {
  const { begun, again, over, others } = digest;
  const words: Words = WORDS[language];
  const say = (text: Text) => render(text, language);
  const context = { now, words, say };
  const open = [...begun, ...again];
  const subject = open.length === 0 ? `${words.isOver}: ${subjectOf(over, context)}` : subjectOf(open, context);
  const parts = [
    ...part(words.begun, begun, context),
    ...part(words.again, again, context),
    ...part(words.over, over, context, { isOver: true }),
  ];
  if (others > 0) parts.push(words.others(others));
  parts.push(`${words.all} clinic-mirror status --problems`);
  return { subject: `clinic-mirror: ${subject}`, text: `${parts.join('\n\n')}\n` };
}

/** Returns a digest for a program, with `problems` as in `status --json`. */
export function payloadOf(digest: Digest, now: Instant) {
  const { begun, again, over, others } = digest;
  const some = (problems: readonly Problem[]) => ({
    count: problems.length,
    problems: problems
      .slice(0, NAMED / 2)
      .map(({ texts: _texts, ...one }) =>
        one.tenants === undefined
          ? one
          : { ...one, tenants: one.tenants.slice(0, NAMED), tenantCount: one.tenants.length },
      ),
  });
  return {
    type: 'alerts.digest',
    timestamp: new Date(now).toISOString(),
    data: { begun: some(begun), again: some(again), over: some(over), others },
  };
}

/** Parameters of a text. */
interface MessageContext {
  now: Instant;
  words: Words;
  /** Renders a sentence in the language of the text. */
  say(text: Text): string;
}

function subjectOf(problems: readonly Problem[], { words, say }: MessageContext): string {
  const tenants = new Set(problems.flatMap(tenantsOf));
  const [first] = problems;
  if (problems.length === 1 && first !== undefined) return `${whoOf(first, say)}: ${first.code}`;
  return `${words.problems(problems.length)}${tenants.size === 0 ? '' : words.ofClinics(tenants.size)}`;
}

function part(
  heading: string,
  problems: readonly Problem[],
  context: MessageContext,
  { isOver = false } = {},
): string[] {
  if (problems.length === 0) return [];
  const lines = problems.slice(0, NAMED).map((problem) => lineOf(problem, context, isOver));
  if (problems.length > NAMED) lines.push(context.words.more(problems.length - NAMED));
  return [[heading, ...lines].join('\n\n')];
}

function lineOf(problem: Problem, { now, words, say }: MessageContext, isOver: boolean): string {
  const { code, sinceAt, breaksAt, nextTryAt, waiting, syncHealth, tenants } = problem;
  const { sentence, next } = problem.texts;
  const more = [
    ...(sinceAt === null
      ? []
      : [isOver ? words.lasted(durationOf(now - sinceAt, words)) : words.since(ageOf(now - sinceAt, words))]),
    ...(breaksAt === null || breaksAt <= now || isOver ? [] : [words.until(ageOf(breaksAt - now, words))]),
    ...(nextTryAt === null || nextTryAt <= now || isOver ? [] : [words.nextTry(minutesOf(nextTryAt - now))]),
    ...(tenants === undefined || isOver ? [] : [words.clinics(tenants.length, idsOf(tenants, words))]),
    ...(waiting === 0 || isOver ? [] : [words.waiting(waiting)]),
    ...(syncHealth === null || isOver ? [] : [words.stands(syncHealth)]),
  ];
  const line = `${whoOf(problem, say)}: ${[`${say(sentence)} (${code})`, ...more].join(', ')}`;
  return isOver || next === null ? line : `${line}\n  ${say(next)}`;
}

/** Lists clinics, up to a limit. */
function idsOf(tenants: NonNullable<Problem['tenants']>, words: Words): string {
  const ids = tenants.slice(0, NAMED).map(({ tenant }) => tenant);
  return [...ids, ...(tenants.length > NAMED ? [words.more(tenants.length - NAMED)] : [])].join(', ');
}

function whoOf({ tenant, texts: { subject } }: Problem, say: MessageContext['say']): string {
  return tenant === null ? say(subject) : `${tenant}, ${say(subject)}`;
}

function minutesOf(ms: number): number {
  return Math.ceil(ms / MINUTE_MS);
}

function durationOf(ms: number, words: Words): string {
  return ms < HOUR_MS ? words.minutes(Math.max(1, minutesOf(ms))) : ageOf(ms, words);
}

function ageOf(ms: number, words: Words): string {
  const hours = Math.floor(ms / HOUR_MS);
  if (hours < 1) return words.underAnHour;
  return hours < 48 ? words.hours(hours) : words.days(Math.floor(hours / 24));
}
