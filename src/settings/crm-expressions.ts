import { createRequire } from 'node:module';
import type jsonata from 'jsonata';

/** Loads a package when it is first needed: many installations never need this one. */
const load = createRequire(import.meta.url);

/** What a JSONata expression speaks of, as far as its text tells. */
export interface ExpressionOutline {
  /** Every field name in it, at any depth: `address` and `city` of `address.city`. */
  names: ReadonlySet<string>;
  /** Texts in it, which may name fields where a function looks them up. */
  texts: ReadonlySet<string>;
  /** Names of functions in it that {@link REFUSED_FUNCTIONS} holds. */
  refused: readonly string[];
  /** Takes the record, or a part of it, as a whole: what it reads can't be told. */
  isOpen: boolean;
}

/**
 * Functions of JSONata that no mapping may use. The first four give another value each time, so that every object would be
 * written with every cycle; `eval` would run what stands in the clinic's data (docs.jsonata.org, function library).
 */
export const REFUSED_FUNCTIONS: readonly string[] = ['now', 'millis', 'random', 'shuffle', 'eval'];

/** Outline of an expression; null when it is none. What is wrong with it is not told, since it repeats parts of the text. */
export function outlineExpression(expression: string): ExpressionOutline | null {
  const outline = { names: new Set<string>(), texts: new Set<string>(), refused: new Set<string>(), isOpen: false };
  try {
    const parse = load('jsonata') as typeof jsonata;
    walk(parse(expression).ast(), outline);
  } catch {
    return null;
  }
  return { ...outline, refused: [...outline.refused] };
}

interface Outline {
  names: Set<string>;
  texts: Set<string>;
  refused: Set<string>;
  isOpen: boolean;
}

/** The tree of JSONata has many shapes of nodes; those that matter here are told by `type`, the others are walked through. */
function walk(node: unknown, outline: Outline): void {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, outline);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const { type, value, steps }: { type?: unknown; value?: unknown; steps?: unknown } = node;
  if (type === 'name') outline.names.add(String(value));
  if (type === 'string') outline.texts.add(String(value));
  if (type === 'wildcard' || type === 'descendant' || type === 'parent') outline.isOpen = true;
  if (type === 'variable' && REFUSED_FUNCTIONS.includes(String(value))) outline.refused.add(String(value));
  if (type === 'variable' && isContext(value)) outline.isOpen = true;
  for (const [key, part] of Object.entries(node)) {
    const isNamed = key === 'steps' && Array.isArray(steps) && isContextStep(steps[0]) && steps[1]?.type === 'name';
    walk(isNamed ? steps.slice(1) : part, outline);
  }
}

/** `$` is what is looked at now, `$$` the whole record. */
function isContext(value: unknown): boolean {
  return value === '' || value === '$';
}

function isContextStep(step: unknown): boolean {
  if (typeof step !== 'object' || step === null) return false;
  const { type, value }: { type?: unknown; value?: unknown } = step;
  return type === 'variable' && isContext(value);
}
