import { compileExpression, type ExpressionInput, type ExpressionOutcome, type ExpressionRule } from './expressions.ts';

/** What a thread is asked: every rule over every input, record by record, from a place in that count on. */
export interface ThreadRequest {
  rules: readonly ExpressionRule[];
  inputs: readonly ExpressionInput[];
  /** Record × number of rules + rule. */
  from: number;
}

/** `ready` once the rules are compiled; then one outcome for each place asked for, in order. */
export type ThreadAnswer = 'ready' | ExpressionOutcome;

/** A thread as it is seen from outside. It may be ended at any moment, whatever it is doing. */
export interface ExpressionThread {
  ask(request: ThreadRequest): void;
  /** The next answer; `silent` when none came in time, `ended` when the thread is gone. */
  next(withinMs: number): Promise<ThreadAnswer | 'silent' | 'ended'>;
  /** Processor time that the thread has used since its start, in milliseconds; null when it can't be told. */
  processorMs(): Promise<number | null>;
  end(): Promise<void>;
}

/** What goes on inside the thread for one request. */
export async function answerRequest(
  { rules, inputs, from }: ThreadRequest,
  answer: (answer: ThreadAnswer) => void,
): Promise<void> {
  const compiled = rules.map(compileExpression);
  answer('ready');
  for (let position = from; position < inputs.length * rules.length; position += 1) {
    const input = inputs[Math.floor(position / rules.length)] ?? {};
    const work = compiled[position % rules.length];
    if (work !== undefined) answer(await work(input));
  }
}
