import type { Problem } from '../model/problems.ts';
import { HOUR_MS, type Instant } from '../model/time.ts';
import type { Digest } from './digest.ts';

/** Problems that a message names; more are counted: a webhook takes 20,000 bytes, and a person reads less. */
const NAMED = 40;

/** Subject and text of a digest, for a person. Nothing in them comes from a patient. */
export function textOf(digest: Digest, now: Instant): { subject: string; text: string } {
  const { begun, again, over, others } = digest;
  const open = [...begun, ...again];
  const subject = open.length === 0 ? `over: ${subjectOf(over)}` : subjectOf(open);
  const parts = [
    ...part('This needs a hand:', begun, now),
    ...part('This still needs a hand:', again, now),
    ...part('This is over:', over, now, { isOver: true }),
  ];
  if (others > 0)
    parts.push(`${others} more that you were told of before ${others === 1 ? 'is' : 'are'} as they were.`);
  parts.push('All of it, as it is now: clinic-mirror status --problems');
  return { subject: `clinic-mirror: ${subject}`, text: `${parts.join('\n\n')}\n` };
}

/** A digest for a program: `problems` as `status --json` has them. */
export function payloadOf(digest: Digest, now: Instant) {
  const { begun, again, over, others } = digest;
  const some = (problems: readonly Problem[]) => ({ count: problems.length, problems: problems.slice(0, NAMED / 2) });
  return {
    type: 'alerts.digest',
    timestamp: new Date(now).toISOString(),
    data: { begun: some(begun), again: some(again), over: some(over), others },
  };
}

function subjectOf(problems: readonly Problem[]): string {
  const tenants = new Set(problems.map(({ tenant }) => tenant).filter((tenant) => tenant !== null));
  const [first] = problems;
  if (problems.length === 1 && first !== undefined) return `${whoOf(first)}: ${first.code}`;
  const where = tenants.size === 0 ? '' : ` of ${tenants.size} ${tenants.size === 1 ? 'clinic' : 'clinics'}`;
  return `${problems.length} problems${where}`;
}

function part(heading: string, problems: readonly Problem[], now: Instant, { isOver = false } = {}): string[] {
  if (problems.length === 0) return [];
  const lines = problems.slice(0, NAMED).map((problem) => lineOf(problem, now, isOver));
  if (problems.length > NAMED) lines.push(`and ${problems.length - NAMED} more`);
  return [[heading, ...lines].join('\n\n')];
}

function lineOf(problem: Problem, now: Instant, isOver: boolean): string {
  const { code, sentence, sinceAt, breaksAt, waiting, next } = problem;
  const more = [
    ...(sinceAt === null || isOver ? [] : [`for ${ageOf(now - sinceAt)}`]),
    ...(breaksAt === null || breaksAt <= now || isOver ? [] : [`in ${ageOf(breaksAt - now)}`]),
    ...(waiting === 0 || isOver ? [] : [`${waiting} ${waiting === 1 ? 'change waits' : 'changes wait'}`]),
  ];
  const line = `${whoOf(problem)}: ${[`${sentence} (${code})`, ...more].join(', ')}`;
  return isOver || next === null ? line : `${line}\n  ${next}`;
}

function whoOf({ tenant, subject }: Problem): string {
  return tenant === null ? subject : `${tenant}, ${subject}`;
}

function ageOf(ms: number): string {
  const hours = Math.floor(ms / HOUR_MS);
  if (hours < 1) return 'less than an hour';
  if (hours < 48) return `${hours} ${hours === 1 ? 'hour' : 'hours'}`;
  return `${Math.floor(hours / 24)} days`;
}
