import { type Code, type Message, message, type Text } from '../../messages/message.ts';
import { needsPerson, type Problem, SERVER_AWAY } from '../../model/problems.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../../model/time.ts';

/** What is remembered of a problem: times and counts. Its text is made when it is told. */
interface Open {
  /** When it was first seen. */
  seenAt: Instant;
  /** When it was first not seen any more; null while it is. */
  goneAt: Instant | null;
  /** How often it was told. */
  sent: number;
}

/** What a way of telling remembers. */
export interface AlertMemory {
  /** By {@link idOf}: ids and a code. */
  open: Readonly<Record<string, Open>>;
  lastSentAt: Instant | null;
}

/** What is told in one message. */
export interface Digest {
  /** Told for the first time. */
  begun: Problem[];
  /** Told before, and still so. */
  again: Problem[];
  /** Told before, and over. */
  over: Problem[];
  /** Told before, still so, and not repeated now. */
  others: number;
}

/** The memory before the first look. */
export const NOTHING_REPORTED: AlertMemory = { open: {}, lastSentAt: null };

/** What comes and goes within this time is told by nobody, and ends nothing. */
const STABLE_AFTER_MS = 4 * MINUTE_MS;
/** What passes by itself is told when it has not after this. */
const TOO_LONG_MS = DAY_MS;
/** From when it was first seen: on days 1, 3, 7 and 14. After that whoever was told four times knows. */
const REPORT_AFTER_MS = [0, 2 * DAY_MS, 6 * DAY_MS, 13 * DAY_MS];
/** Least time between two messages, so that an outage of many clinics is one of them. */
const APART_MS = HOUR_MS;

/**
 * What is to be told after a look, if anything. Pure.
 * @returns what is remembered once it was `told`, and as long as it could not be; the same where nothing is to be told
 */
export function nextDigest(
  { open, lastSentAt }: AlertMemory,
  problems: readonly Problem[],
  now: Instant,
  outageAfterMs: number,
): { digest: Digest | null; sent: AlertMemory; untold: AlertMemory } {
  const there = new Map(problems.map((problem) => [idOf(problem), problem]));
  const seen = withSeen(open, there, now);
  const isOver = ({ goneAt }: Open) => goneAt !== null && now - goneAt >= STABLE_AFTER_MS;
  // Nobody was told of what was over before its time.
  const still = Object.fromEntries(Object.entries(seen).filter(([, one]) => !isOver(one) || one.sent > 0));
  const due = [...there].flatMap(([id, problem]) => {
    const one = still[id];
    return one !== undefined && stepsUntil(one, problem, now, outageAfterMs) > one.sent ? [{ id, one, problem }] : [];
  });
  const reportedOver = Object.entries(still).flatMap(([id, one]) => (isOver(one) ? [overOf(id)] : []));
  // That a server is away, or back, waits for no other message.
  const isUrgent = [...due.map(({ problem }) => problem), ...reportedOver].some(isOutage);
  const isTooSoon = !isUrgent && lastSentAt !== null && now >= lastSentAt && now - lastSentAt < APART_MS;
  const untold = { open: still, lastSentAt };
  if (isTooSoon || due.length + reportedOver.length === 0) return { digest: null, sent: untold, untold };
  const reportedNow = new Map(due.map(({ id, one, problem }) => [id, stepsUntil(one, problem, now, outageAfterMs)]));
  const rest = Object.entries(still).flatMap(([id, one]): [string, Open][] => {
    if (isOver(one)) return [];
    return [[id, { ...one, sent: reportedNow.get(id) ?? one.sent }]];
  });
  const dueWhere = (isMeant: (one: Open) => boolean) =>
    due.flatMap(({ one, problem }) => (isMeant(one) ? [problem] : []));
  return {
    digest: {
      begun: dueWhere(({ sent }) => sent === 0),
      again: dueWhere(({ sent }) => sent > 0),
      over: reportedOver,
      others: rest.filter(([id, one]) => one.sent > 0 && one.goneAt === null && !reportedNow.has(id)).length,
    },
    sent: { open: Object.fromEntries(rest), lastSentAt: now },
    untold,
  };
}

function withSeen(open: AlertMemory['open'], there: ReadonlyMap<string, Problem>, now: Instant): Record<string, Open> {
  const seen: Record<string, Open> = {};
  for (const [id, one] of Object.entries(open))
    seen[id] = { ...one, goneAt: there.has(id) ? null : (one.goneAt ?? now) };
  for (const id of there.keys()) seen[id] ??= { seenAt: now, goneAt: null, sent: 0 };
  return seen;
}

/** What is the same matter however its figures change. */
function idOf({ tenant, texts, code }: Problem): string {
  return JSON.stringify([tenant, texts.subject, code]);
}

/** A remembered problem that is over. */
function overOf(id: string): Problem {
  const [tenant, subject, code] = JSON.parse(id) as [string | null, Text, string];
  return overProblem(tenant, subject, code);
}

/** Whether it is one server for all who wait for it. */
function isOutage({ code }: Problem): boolean {
  return code === SERVER_AWAY;
}

/** How often it should have been told by now. */
function stepsUntil({ seenAt }: Open, problem: Problem, now: Instant, outageAfterMs: number): number {
  const { health, sinceAt } = problem;
  const fromAt = isOutage(problem)
    ? (sinceAt ?? seenAt) + outageAfterMs
    : seenAt + (health === 'action-required' ? STABLE_AFTER_MS : TOO_LONG_MS);
  return REPORT_AFTER_MS.filter((afterMs) => now >= fromAt + afterMs).length;
}

/** Codes whose sentence says what was the matter whatever it was about. Of others the sentence says only that it passed. */
const CONSTANT = [
  ...(['login-ended', 'not-connected', 'tenant-not-allowed', 'account-unconfirmed', 'login-refused-once'] as const),
  ...(['login-ending', 'login-resting', 'rate-limited', 'client-rate-limited', 'file-refused', 'redis-late'] as const),
  ...(['configuration-superseded', 'stale', 'backlog-growing', 'certificate-ending', 'secret-ending'] as const),
  'no-cycles',
] as const satisfies readonly Code[];

const PASSED = message('problem-over');
const SENTENCES: ReadonlyMap<string, Message> = new Map([
  ...CONSTANT.map((code) => [code, message(code)] as const),
  [SERVER_AWAY, message('server-back')],
]);

/** A problem that has passed. Its text is made of its code: none is kept. */
function overProblem(tenant: string | null, subject: Text, code: string): Problem {
  return needsPerson({ tenant, subject, code, sentence: SENTENCES.get(code) ?? PASSED, next: null });
}
