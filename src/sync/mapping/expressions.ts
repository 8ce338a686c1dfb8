import { createRequire } from 'node:module';
import type jsonata from 'jsonata';
import type { PropertyValue } from '../../model/items.ts';
import type { SourceKind } from '../../settings/crm-schema.ts';

/** Loads a package when it is first needed: many installations never need this one. */
const load = createRequire(import.meta.url);

/** An expression of a mapping. */
export interface ExpressionRule {
  expression: string;
  kind: SourceKind;
}

/** What an expression is worked out over: the fields that it may see, as a tree; empty ones are absent. */
export type ExpressionInput = Readonly<Record<string, unknown>>;

/** What an expression gave for one record, or why it gave nothing. */
export type ExpressionOutcome = { value: PropertyValue } | { code: ExpressionFault };

/**
 * Why: `expression-too-slow`, longer than the limit; `expression-wrong-type`, a result that is not of the rule's kind;
 * `expression-failed`, an error of JSONata itself, such as a function that was given the wrong thing.
 */
type ExpressionFault = 'expression-too-slow' | 'expression-wrong-type' | 'expression-failed';

/** An expression that can be worked out for record after record. */
type CompiledExpression = (input: ExpressionInput) => Promise<ExpressionOutcome>;

/** Bounds of JSONata itself: lengths of lists, and nested calls. Time and memory are bounded from outside. */
const BOUNDS = { sequence: 10_000, stack: 500 };
/** Longer texts belong in no property: Salesforce's longest hold 131,072 characters, HubSpot's 65,536. */
const LONGEST_TEXT = 65_536;

/**
 * Prepares an expression. It reads its input and nothing else; it has JSONata's own functions alone.
 * @throws an error of JSONata's for what is no expression, which the checks of the configuration refuse
 */
export function compileExpression({ expression, kind }: ExpressionRule): CompiledExpression {
  const prepare = load('jsonata') as typeof jsonata;
  const compiled = prepare(expression, BOUNDS);
  return async (input) => {
    let result: unknown;
    try {
      result = await compiled.evaluate(input);
    } catch {
      // What JSONata says repeats values.
      return { code: 'expression-failed' };
    }
    const value = asKind(result, kind);
    return value === undefined ? { code: 'expression-wrong-type' } : { value };
  };
}

/** Whether what an expression gave is of a kind; undefined when not. Nothing, null and '' are empty whatever the kind. */
function asKind(result: unknown, kind: SourceKind): PropertyValue | undefined {
  if (result === undefined || result === null || result === '') return null;
  switch (kind) {
    case 'text':
      return typeof result === 'string' && result.length <= LONGEST_TEXT ? result : undefined;
    case 'number':
      return Number.isFinite(result) ? Number(result) : undefined;
    case 'boolean':
      return typeof result === 'boolean' ? result : undefined;
    case 'date':
      return isDate(result) ? result : undefined;
    case 'instant':
      return instantOf(result);
  }
}

function isDate(result: unknown): result is string {
  if (typeof result !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(result)) return false;
  const at = Date.parse(`${result}T00:00:00Z`);
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(result);
}

/** ISO 8601 with an offset, so that the instant is told whatever the machine's zone. */
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;

function instantOf(result: unknown): string | undefined {
  if (typeof result !== 'string' || !WITH_OFFSET.test(result)) return undefined;
  const at = Date.parse(result.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  return Number.isFinite(at) ? new Date(at).toISOString() : undefined;
}

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
