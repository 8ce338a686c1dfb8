import { createRequire } from 'node:module';
import type jsonata from 'jsonata';

/** Loads a package at first use, because many installations never need the package. */
const load = createRequire(import.meta.url);

/** Names and texts in a JSONata expression, found by parsing. */
export interface ExpressionOutline {
  /** All field names at any depth: `address` and `city` of `address.city`. */
  names: ReadonlySet<string>;
  /** String literals, which a function can use as field names. */
  texts: ReadonlySet<string>;
  /** Used functions of {@link REFUSED_FUNCTIONS}. */
  refused: readonly string[];
  /** The expression uses the record, or a part, as a whole, so its fields are unknown. */
  isOpen: boolean;
}

/**
 * JSONata functions that mappings must not use. The first four return a new value each time, so every cycle would write every object.
 * `eval` would run code in the clinic's data (docs.jsonata.org, function library).
 */
export const REFUSED_FUNCTIONS: readonly string[] = ['now', 'millis', 'random', 'shuffle', 'eval'];

/** Longest expression: parse time grows with the square of the length, to a twentieth of a second here. */
export const LONGEST_EXPRESSION = 4_000;
/** Maximum number of `%` signs, which usually name a parent: JSONata resolves each along the whole path. */
export const MOST_PARENTS = 20;

/** Counts the `%` signs in an expression. */
export function parentsIn(expression: string): number {
  return expression.split('%').length - 1;
}

/** Decides whether an expression is within the limits; others are never parsed. */
export function isModestExpression(expression: string): boolean {
  return expression.length <= LONGEST_EXPRESSION && parentsIn(expression) <= MOST_PARENTS;
}

/** An outline for transfer between threads and for files. */
export interface PlainOutline extends Omit<ExpressionOutline, 'names' | 'texts'> {
  names: string[];
  texts: string[];
}

/** Outlines expressions in a bounded thread. @returns outlines in order; null for invalid or slow expressions */
export type OutlineApart = (expressions: readonly string[]) => Promise<(PlainOutline | null)[]>;

/** Maximum number of cached outlines; one more removes the oldest. */
const MOST_OUTLINES = 20_000;
const outlines = new Map<string, ExpressionOutline | null>();

/** Returns the distinct expressions without a cached outline in a value of a file. */
export function expressionsToOutline(value: unknown): string[] {
  const found = expressionsIn(value).filter((one) => isModestExpression(one) && !outlines.has(one));
  return [...new Set(found)];
}

/** Returns all values named `expression` at any depth. */
function expressionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === 'expression' && typeof part === 'string' ? [part.trim()] : expressionsIn(part),
  );
}

/** Returns the cached outlines of expressions. */
export function cachedOutlines(expressions: readonly string[]): [expression: string, outline: PlainOutline | null][] {
  return expressions.flatMap((expression) => {
    const outline = outlines.get(expression);
    return outline === undefined ? [] : [[expression, plain(outline)]];
  });
}

/** Adds outlines to the cache. */
export function rememberOutlines(cached: Iterable<readonly [expression: string, outline: PlainOutline | null]>): void {
  for (const [expression, outline] of cached) {
    if (!outlines.has(expression)) remember(expression, outline === null ? null : withSets(outline));
  }
}

function remember(expression: string, outline: ExpressionOutline | null): void {
  const [eldest] = outlines.keys();
  if (outlines.size >= MOST_OUTLINES && eldest !== undefined) outlines.delete(eldest);
  outlines.set(expression, outline);
}

function plain(outline: ExpressionOutline | null): PlainOutline | null {
  return outline === null ? null : { ...outline, names: [...outline.names], texts: [...outline.texts] };
}

function withSets({ names, texts, ...rest }: PlainOutline): ExpressionOutline {
  return { ...rest, names: new Set(names), texts: new Set(texts) };
}

/**
 * Returns the outline of an expression; null if invalid or above the limits. Outlines usually come from a thread ({@link OutlineApart});
 * only an uncached one is made here.
 */
export function outlineExpression(expression: string): ExpressionOutline | null {
  if (!isModestExpression(expression)) return null;
  const cached = outlines.get(expression);
  if (cached !== undefined) return cached;
  const outline = parseOutline(expression);
  remember(expression, outline);
  return outline;
}

/** Runs in the thread. */
export function plainOutline(expression: string): PlainOutline | null {
  return plain(parseOutline(expression));
}

/** The parse error is not reported, because it repeats parts of the text. */
function parseOutline(expression: string): ExpressionOutline | null {
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

/** Checks relevant node types by `type`, and visits all others recursively. */
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

/** `$` is the current value, `$$` the whole record. */
function isContext(value: unknown): boolean {
  return value === '' || value === '$';
}

function isContextStep(step: unknown): boolean {
  if (typeof step !== 'object' || step === null) return false;
  const { type, value }: { type?: unknown; value?: unknown } = step;
  return type === 'variable' && isContext(value);
}
