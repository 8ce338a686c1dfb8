import { createRequire } from 'node:module';
import type jsonata from 'jsonata';
import type { PropertyValue } from '../../model/items.ts';
import type { SourceKind } from '../../settings/crm-schema.ts';

/** Loads the package on first use, because many installations never need it. */
const load = createRequire(import.meta.url);

/** An expression of a mapping. */
export interface ExpressionRule {
  expression: string;
  kind: SourceKind;
}

/** Fields available to an expression, as a tree without empty fields. */
export type ExpressionInput = Readonly<Record<string, unknown>>;

/** Result of an expression for one record, or the reason for a failure. */
export type ExpressionOutcome = { value: PropertyValue } | { code: ExpressionFault };

/**
 * `expression-too-slow`: over the time limit. `expression-wrong-type`: the result has another kind than the rule. `expression-failed`: an
 * error of JSONata, such as an invalid argument of a function.
 */
type ExpressionFault = 'expression-too-slow' | 'expression-wrong-type' | 'expression-failed';

/** A compiled expression for many records. */
type CompiledExpression = (input: ExpressionInput) => Promise<ExpressionOutcome>;

/** Limits of JSONata: list lengths and nested calls. The evaluator limits time and memory. */
const BOUNDS = { sequence: 10_000, stack: 500 };
/** Longest text of a property: HubSpot allows 65,536 characters, Salesforce 131,072. */
const LONGEST_TEXT = 65_536;

/**
 * Compiles an expression. It can read only its input and call only JSONata's own functions.
 * @throws an error of JSONata for invalid syntax, which validation of the configuration refuses
 */
export function compileExpression({ expression, kind }: ExpressionRule): CompiledExpression {
  const prepare = load('jsonata') as typeof jsonata;
  const compiled = prepare(expression, BOUNDS);
  return async (input) => {
    let result: unknown;
    try {
      result = await compiled.evaluate(input);
    } catch {
      // JSONata's error messages contain values of the record, so they are dropped.
      return { code: 'expression-failed' };
    }
    const value = asKind(result, kind);
    return value === undefined ? { code: 'expression-wrong-type' } : { value };
  };
}

/** Converts a result to a kind, or returns undefined for another kind. Undefined, null and '' are empty for every kind. */
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

/** ISO 8601 with an offset: the instant does not depend on the host's zone. */
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;

function instantOf(result: unknown): string | undefined {
  if (typeof result !== 'string' || !WITH_OFFSET.test(result)) return undefined;
  const at = Date.parse(result.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  return Number.isFinite(at) ? new Date(at).toISOString() : undefined;
}

/** Request to a thread: every rule for every input, record by record, from a start index. */
export interface ThreadRequest {
  rules: readonly ExpressionRule[];
  inputs: readonly ExpressionInput[];
  /** Record index × number of rules + rule index. */
  from: number;
}

/** `ready` after the rules are compiled; then one outcome per index, in order. */
export type ThreadAnswer = 'ready' | ExpressionOutcome;

/** Interface to a thread. The caller may end a thread at any time. */
export interface ExpressionThread {
  ask(request: ThreadRequest): void;
  /** Returns the next answer; `silent` on timeout, `ended` if the thread no longer exists. */
  next(withinMs: number): Promise<ThreadAnswer | 'silent' | 'ended'>;
  /** Processor time of the thread since its start, in milliseconds; null if unknown. */
  processorMs(): Promise<number | null>;
  end(): Promise<void>;
}

/** Processes one request inside the thread. */
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
