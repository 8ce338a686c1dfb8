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

/** Longest expression: parsing takes time by the square of the length, a twentieth of a second for so much. */
export const LONGEST_EXPRESSION = 4_000;
/** Signs `%` in an expression, which name a parent as a rule: JSONata looks for each along the whole path. */
export const MOST_PARENTS = 20;

/** How many signs `%` an expression has. */
export function parentsIn(expression: string): number {
  return expression.split('%').length - 1;
}

/** Whether an expression keeps its limits: others are parsed nowhere. */
export function isModestExpression(expression: string): boolean {
  return expression.length <= LONGEST_EXPRESSION && parentsIn(expression) <= MOST_PARENTS;
}

/** An outline as it goes between threads, and into files. */
export interface PlainOutline extends Omit<ExpressionOutline, 'names' | 'texts'> {
  names: string[];
  texts: string[];
}

/** Has expressions outlined in a bounded thread. @returns in their order; null for what is none, or takes too long */
export type OutlineApart = (expressions: readonly string[]) => Promise<(PlainOutline | null)[]>;

/** Outlines that are kept: at one more the eldest goes. */
const MOST_OUTLINES = 20_000;
const outlines = new Map<string, ExpressionOutline | null>();

/** Expressions without an outline yet, in what is below a value of a file, each once. */
export function expressionsToOutline(value: unknown): string[] {
  const found = expressionsIn(value).filter((one) => isModestExpression(one) && !outlines.has(one));
  return [...new Set(found)];
}

/** What stands under the name `expression` in a value, at any depth. */
function expressionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === 'expression' && typeof part === 'string' ? [part.trim()] : expressionsIn(part),
  );
}

/** Expressions with their outlines, as far as they are known. */
export function cachedOutlines(expressions: readonly string[]): [expression: string, outline: PlainOutline | null][] {
  return expressions.flatMap((expression) => {
    const outline = outlines.get(expression);
    return outline === undefined ? [] : [[expression, plain(outline)]];
  });
}

/** Takes in what was outlined elsewhere or before. */
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
 * Outline of an expression; null when it is none, or beyond its limits. Whoever reads configurations has outlines made in a thread first
 * ({@link OutlineApart}); only one that is not known is made here.
 */
export function outlineExpression(expression: string): ExpressionOutline | null {
  if (!isModestExpression(expression)) return null;
  const cached = outlines.get(expression);
  if (cached !== undefined) return cached;
  const outline = parseOutline(expression);
  remember(expression, outline);
  return outline;
}

/** The work of the thread. */
export function plainOutline(expression: string): PlainOutline | null {
  return plain(parseOutline(expression));
}

/** What is wrong with an expression is not told, since it repeats parts of the text. */
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
