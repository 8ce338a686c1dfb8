import { needsPerson, type Problem, problemId, SERVER_AWAY } from '../../core/model/problems.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { type Code, type Message, message, type Text } from '../../messages/message.ts';

/** Stored state of a problem: times and number of reports. The text is generated for each message. */
interface Open {
  /** First time with the problem. */
  seenAt: Instant;
  /** Begin of the problem, if known. Absent in records of earlier releases. */
  sinceAt?: Instant;
  /** First time without the problem; null while the problem exists. */
  goneAt: Instant | null;
  /** Number of reports. */
  sent: number;
}

/** Stored state of an alert channel. */
export interface AlertMemory {
  /** By {@link idOf}: ids and a code. */
  open: Readonly<Record<string, Open>>;
  lastSentAt: Instant | null;
}

/** Content of one message. */
export interface Digest {
  /** New problems. */
  begun: Problem[];
  /** Repeated problems. */
  again: Problem[];
  /** Reported problems that ended. */
  over: Problem[];
  /** Number of open problems that this message does not repeat. */
  others: number;
}

/** State before the first check. */
export const NOTHING_REPORTED: AlertMemory = { open: {}, lastSentAt: null };

/** Shorter problems are not reported. */
const STABLE_AFTER_MS = 4 * MINUTE_MS;
/** Interval of checks while a reported problem is open: its end is confirmed by two checks, and reported within a minute. Project choice. */
export const CHECK_END_MS = 20 * SECOND_MS;
/** Shorter recoveries do not end a reported problem. Less than the interval, because timers vary. */
const OVER_AFTER_MS = CHECK_END_MS - 5 * SECOND_MS;
/** Duration after which a problem that may end without action is reported. */
const TOO_LONG_MS = DAY_MS;
/** Times of reports after the first occurrence: days 1, 3, 7 and 14. Four reports are enough. */
const REPORT_AFTER_MS = [0, 2 * DAY_MS, 6 * DAY_MS, 13 * DAY_MS];
/** Least time between two messages about problems that began or continue, so that an outage of many clinics makes a single message. */
const APART_MS = HOUR_MS;

/**
 * Returns the next message, if any. Pure.
 * @returns the state after a successful message (`told`), and after a failed message; equal without a message
 */
export function nextDigest(
  { open, lastSentAt }: AlertMemory,
  problems: readonly Problem[],
  now: Instant,
  outageAfterMs: number,
): { digest: Digest | null; sent: AlertMemory; untold: AlertMemory } {
  const there = new Map(problems.map((problem) => [problemId(problem), problem]));
  const seen = withSeen(open, there, now);
  const isOver = ({ goneAt, sent }: Open) =>
    goneAt !== null && now - goneAt >= (sent > 0 ? OVER_AFTER_MS : STABLE_AFTER_MS);
  // Problems that ended before a report are discarded.
  const still = Object.fromEntries(Object.entries(seen).filter(([, one]) => !isOver(one) || one.sent > 0));
  const ready = [...there].flatMap(([id, problem]) => {
    const one = still[id];
    return one !== undefined && stepsUntil(one, problem, now, outageAfterMs) > one.sent ? [{ id, one, problem }] : [];
  });
  const reportedOver = Object.entries(still).flatMap(([id, one]) => (isOver(one) ? [overOf(id, one)] : []));
  // Reports about an unreachable server are sent immediately. Ends never wait.
  const isUrgent = ready.some(({ problem }) => isOutage(problem));
  const isTooSoon = !isUrgent && lastSentAt !== null && now >= lastSentAt && now - lastSentAt < APART_MS;
  const due = isTooSoon ? [] : ready;
  const untold = { open: still, lastSentAt };
  if (due.length + reportedOver.length === 0) return { digest: null, sent: untold, untold };
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
    sent: { open: Object.fromEntries(rest), lastSentAt: due.length === 0 ? lastSentAt : now },
    untold,
  };
}

function withSeen(open: AlertMemory['open'], there: ReadonlyMap<string, Problem>, now: Instant): Record<string, Open> {
  const seen: Record<string, Open> = {};
  for (const [id, one] of Object.entries(open))
    seen[id] = { ...one, goneAt: there.has(id) ? null : (one.goneAt ?? now) };
  for (const [id, { sinceAt }] of there)
    seen[id] ??= { seenAt: now, sinceAt: Math.min(sinceAt ?? now, now), goneAt: null, sent: 0 };
  return seen;
}

/** Returns an ended problem from its stored id, with its begin. */
function overOf(id: string, { sinceAt, seenAt }: Open): Problem {
  const [tenant, subject, code] = JSON.parse(id) as [string | null, Text, string];
  return { ...overProblem(tenant, subject, code), sinceAt: sinceAt ?? seenAt };
}

/** Returns whether a reported problem is open, or its end is not confirmed yet. */
export function awaitsEnd({ open }: AlertMemory): boolean {
  return Object.values(open).some(({ sent }) => sent > 0);
}

/** Returns whether the problem is a shared unreachable server. */
function isOutage({ code }: Problem): boolean {
  return code === SERVER_AWAY;
}

/** Returns the number of reports due until now. */
function stepsUntil({ seenAt }: Open, problem: Problem, now: Instant, outageAfterMs: number): number {
  const { health, sinceAt } = problem;
  const fromAt = isOutage(problem)
    ? (sinceAt ?? seenAt) + outageAfterMs
    : seenAt + (health === 'action-required' ? STABLE_AFTER_MS : TOO_LONG_MS);
  return REPORT_AFTER_MS.filter((afterMs) => now >= fromAt + afterMs).length;
}

/** Codes whose sentence is valid for every subject. Other ended problems have a generic sentence. */
const CONSTANT = [
  ...(['login-ended', 'not-connected', 'tenant-not-allowed', 'account-unconfirmed', 'login-refused-once'] as const),
  ...(['login-ending', 'login-resting', 'rate-limited', 'client-rate-limited', 'file-refused', 'redis-late'] as const),
  ...(['configuration-superseded', 'read-failed', 'backlog-growing', 'certificate-ending', 'secret-ending'] as const),
  'no-cycles',
] as const satisfies readonly Code[];

const PASSED = message('problem-over');
const SENTENCES: ReadonlyMap<string, Message> = new Map([
  ...CONSTANT.map((code) => [code, message(code)] as const),
  [SERVER_AWAY, message('server-back')],
]);

/** Returns an ended problem. The text is generated from the code, because the text is not stored. */
function overProblem(tenant: string | null, subject: Text, code: string): Problem {
  return needsPerson({ tenant, subject, code, sentence: SENTENCES.get(code) ?? PASSED, next: null });
}
