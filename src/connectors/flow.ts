import { asMirrorError, MirrorError } from '../model/errors.ts';
import type { Operation, Outcome } from '../model/operations.ts';
import type { WireAnswer, WireCall } from './wire.ts';

/**
 * What one operation does, step by step: it gives a call, is given the answer, and so on to its result. Many flows go
 * forward together, so that the calls of one round share a batch and no batch holds two calls of one flow.
 */
export type Flow<Result> = Generator<WireCall, Result, WireAnswer>;

/** How a flow ended. */
export type FlowEnd<Result> = { result: Result } | { error: MirrorError };

/** Sends calls together; gives their answers in the calls' order, null where the answer lacks a part. */
export type SendCalls = (calls: readonly WireCall[]) => Promise<(WireAnswer | null)[]>;

/**
 * One outcome per operation, from the ends of their flows.
 * @param isTargetWide whether an error concerns every operation of the target
 * @throws MirrorError when one and the same failure met all of them: nothing can be said of any
 */
export function toOutcomes(
  operations: readonly Operation[],
  ends: readonly FlowEnd<Outcome>[],
  isTargetWide: (error: MirrorError) => boolean,
): Outcome[] {
  const errors = ends.flatMap((end) => ('error' in end ? [end.error] : []));
  const [first] = errors;
  if (first !== undefined && errors.length === operations.length && isOfAll(first, errors, isTargetWide)) throw first;
  return operations.map(({ recordId }, index) => {
    const end = ends[index]!;
    return 'error' in end ? { recordId, result: 'failed', error: end.error } : end.result;
  });
}

/**
 * The same target-wide code: each was told the same. The same error object: the request of all failed; of one operation alone it
 * may also be the operation that was refused, which says nothing against the target.
 */
function isOfAll(
  first: MirrorError,
  errors: readonly MirrorError[],
  isTargetWide: (error: MirrorError) => boolean,
): boolean {
  if (isTargetWide(first)) return errors.every(({ code }) => code === first.code);
  const isRequest = errors.length > 1 || first.actor === 'remote' || first.actor === 'authorization';
  return isRequest && errors.every((error) => error === first);
}

interface Waiting<Result> {
  index: number;
  flow: Flow<Result>;
  call: WireCall;
}

/** Runs flows to their ends. Never throws: what `send` throws ends every flow that was waiting for an answer. */
export async function runFlows<Result>(flows: readonly Flow<Result>[], send: SendCalls): Promise<FlowEnd<Result>[]> {
  const ends: FlowEnd<Result>[] = [];
  const advance = (index: number, flow: Flow<Result>, step: () => IteratorResult<WireCall, Result>) => {
    try {
      const { done, value } = step();
      if (done) ends[index] = { result: value };
      else waiting.push({ index, flow, call: value });
    } catch (error) {
      ends[index] = { error: asMirrorError(error) };
    }
  };
  const waiting: Waiting<Result>[] = [];
  flows.forEach((flow, index) => {
    advance(index, flow, () => flow.next());
  });
  while (waiting.length > 0) {
    for (const round of intoRounds(waiting.splice(0))) {
      const answers = await sendRound(round, send);
      for (const { index, flow, call } of round) {
        const answer = answers(call);
        advance(index, flow, () => (answer instanceof Error ? flow.throw(answer) : flow.next(answer)));
      }
    }
  }
  return ends;
}

/** Calls that must go alone go alone, after those that go together. */
function intoRounds<Result>(waiting: readonly Waiting<Result>[]): Waiting<Result>[][] {
  const together = waiting.filter(({ call }) => !call.alone);
  const alone = waiting.filter(({ call }) => call.alone).map((one) => [one]);
  return together.length > 0 ? [together, ...alone] : alone;
}

/** Sends a round, equal reads only once. */
async function sendRound<Result>(round: readonly Waiting<Result>[], send: SendCalls) {
  const calls = new Map<string | WireCall, WireCall>();
  const nameOf = (call: WireCall) => (call.method === 'GET' ? call.path : call);
  for (const { call } of round) calls.set(nameOf(call), call);
  const names = [...calls.keys()];
  let answers: (WireAnswer | null)[];
  try {
    answers = await send([...calls.values()]);
  } catch (error) {
    const failure = asMirrorError(error);
    return () => failure;
  }
  const byName = new Map(names.map((name, index) => [name, answers[index] ?? null]));
  return (call: WireCall) => byName.get(nameOf(call)) ?? answerMissing();
}

/** The batch's answer says nothing of a call; it may have been carried out. */
function answerMissing(): MirrorError {
  return new MirrorError('the answer to a batch lacks a part', {
    actor: 'remote',
    code: 'answer-missing',
    retry: 'later',
    ambiguous: true,
  });
}
