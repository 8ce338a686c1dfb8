import { message } from '../../messages/message.ts';
import { MirrorError } from '../../model/errors.ts';
import type {
  ExpressionInput,
  ExpressionOutcome,
  ExpressionRule,
  ExpressionThread,
  ThreadAnswer,
} from './expressions.ts';

/**
 * Evaluates every rule for every input.
 * @returns for each input the outcomes of the rules, in their order
 * @throws MirrorError `expressions-unavailable` if threads do not start. No one must act; the daemon retries.
 */
export type EvaluateExpressions = (
  rules: readonly ExpressionRule[],
  inputs: readonly ExpressionInput[],
  signal: AbortSignal,
) => Promise<ExpressionOutcome[][]>;

/** Limits of expressions. */
export interface ExpressionLimits {
  /** Processor time for one expression and record. The daemon detects an excess up to {@link TICK_MS} late. */
  processorMs: number;
  /** Elapsed time, for a thread that gets no processor time or waits without end. */
  elapsedMs: number;
  /** After this number of slow records, the evaluation skips the expression for the remaining records. */
  slowRecords: number;
}

/** Simple expressions take 0.1 ms. */
export const EXPRESSION_LIMITS: ExpressionLimits = { processorMs: 50, elapsedMs: 5_000, slowRecords: 20 };

/** Interval for checks of a silent thread. */
const TICK_MS = 20;
/** Maximum time for loading and compiling, on a host under load. */
const START_MS = 30_000;
/** Records in one request to a thread. */
const RECORDS_AT_ONCE = 500;

/**
 * Evaluates in threads, one at a time. A slow expression ends its thread and fails for that record with `expression-too-slow`; the next
 * thread continues after that record.
 */
export function createEvaluator(
  startThread: () => ExpressionThread,
  limits: ExpressionLimits = EXPRESSION_LIMITS,
): EvaluateExpressions {
  return async (rules, inputs, signal) => {
    const run: Run = { rules, limits, signal, startThread, thread: null, slow: 0 };
    const outcomes: ExpressionOutcome[] = [];
    try {
      for (let record = 0; record < inputs.length && rules.length > 0; record += RECORDS_AT_ONCE) {
        outcomes.push(...(await evaluateSome(run, inputs.slice(record, record + RECORDS_AT_ONCE))));
      }
    } finally {
      await run.thread?.end();
    }
    return inputs.map((_, record) => outcomes.slice(record * rules.length, (record + 1) * rules.length));
  };
}

interface Run {
  rules: readonly ExpressionRule[];
  limits: ExpressionLimits;
  signal: AbortSignal;
  startThread(): ExpressionThread;
  thread: ExpressionThread | null;
  slow: number;
}

async function evaluateSome(run: Run, inputs: readonly ExpressionInput[]): Promise<ExpressionOutcome[]> {
  const outcomes: ExpressionOutcome[] = [];
  const wanted = inputs.length * run.rules.length;
  while (outcomes.length < wanted) {
    run.signal.throwIfAborted();
    if (run.slow >= run.limits.slowRecords) {
      outcomes.push({ code: 'expression-too-slow' });
      continue;
    }
    run.thread ??= run.startThread();
    run.thread.ask({ rules: run.rules, inputs, from: outcomes.length });
    await becomesReady(run.thread);
    const code = await listen(run, run.thread, outcomes, wanted);
    if (code === null) continue;
    outcomes.push({ code });
    run.slow += 1;
    await run.thread.end();
    run.thread = null;
  }
  return outcomes;
}

async function becomesReady(thread: ExpressionThread): Promise<void> {
  if ((await thread.next(START_MS)) === 'ready') return;
  throw new MirrorError(message('expressions-unavailable'), {
    actor: 'remote',
    code: 'expressions-unavailable',
    retry: 'later',
    remedy: message('expressions-unavailable.remedy'),
  });
}

/** Receives outcomes until all are complete (null), or the next outcome exceeds a limit. */
async function listen(
  run: Run,
  thread: ExpressionThread,
  outcomes: ExpressionOutcome[],
  wanted: number,
): Promise<'expression-too-slow' | 'expression-failed' | null> {
  while (outcomes.length < wanted) {
    run.signal.throwIfAborted();
    const answer = await nextWithin(thread, run.limits);
    if (answer === 'silent') return 'expression-too-slow';
    // The thread exceeded its memory limit.
    if (answer === 'ended' || answer === 'ready') return 'expression-failed';
    outcomes.push(answer);
  }
  return null;
}

/** Returns the next answer within the thread's processor time; `silent` after that time. */
async function nextWithin(
  thread: ExpressionThread,
  { processorMs, elapsedMs }: ExpressionLimits,
): Promise<ThreadAnswer | 'silent' | 'ended'> {
  let usedBefore: number | null = null;
  for (let waitedMs = 0; waitedMs < elapsedMs; waitedMs += TICK_MS) {
    const answer = await thread.next(TICK_MS);
    if (answer !== 'silent') return answer;
    const used = await thread.processorMs();
    usedBefore ??= used;
    if (used !== null && usedBefore !== null && used - usedBefore >= processorMs) return thread.next(0);
  }
  return 'silent';
}
