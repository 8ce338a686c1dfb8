import { invalidRequest, notInSandbox } from './errors.ts';
import { canonicalPropertyId } from './extended-properties.ts';

/** A condition of `$filter`, taken apart. */
export type Filter =
  | { kind: 'and' | 'or'; terms: Filter[] }
  | { kind: 'compare'; path: string; operator: Operator; value: Literal }
  /** An extended property with this canonical id and value, or (null) any value. */
  | { kind: 'property'; id: string; value: string | null };

export type Operator = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';
export type Literal = string | number | boolean | null;

interface Token {
  text: string;
  /** The text of a quoted literal. */
  quoted: string | undefined;
}

/** A quoted string, a separator, or an unquoted token. Only a time contains colons. */
const TOKEN = /\s*(?:'((?:[^']|'')*)'|([(),:])|(\d{4}-\d{2}-\d{2}T[^\s'(),]*|[^\s'(),:]+))/y;
const OPERATORS: readonly string[] = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] satisfies Operator[];

/** Parses `$filter` (OData 4.01 part 2, 5.1.1), as far as the sandbox goes. Throws GraphError 400. */
export function parseFilter(text: string): Filter {
  const tokens = new Tokens(text);
  const filter = parseOr(tokens);
  tokens.expectEnd();
  return filter;
}

/**
 * The canonical ids in `$expand=singleValueExtendedProperties($filter=id eq '…' or id eq '…')`; empty without `$expand`.
 * Throws GraphError 400.
 */
export function parseExpand(expand: string | null): string[] {
  if (expand === null) {
    return [];
  }
  const inner = /^\s*singleValueExtendedProperties\(\s*\$filter\s*=\s*([\s\S]*)\)\s*$/i.exec(expand)?.[1];
  if (inner === undefined) {
    throw notInSandbox('$expand of anything but singleValueExtendedProperties with a $filter of ids');
  }
  return propertyIds(parseFilter(inner));
}

function propertyIds(filter: Filter): string[] {
  if (filter.kind === 'or') {
    return filter.terms.flatMap(propertyIds);
  }
  if (
    filter.kind === 'compare' &&
    filter.path === 'id' &&
    filter.operator === 'eq' &&
    typeof filter.value === 'string'
  ) {
    return [canonicalPropertyId(filter.value)];
  }
  throw invalidRequest('The expanded filter must consist of id eq.');
}

function parseOr(tokens: Tokens): Filter {
  return parseChain(tokens, 'or', (inner) => parseChain(inner, 'and', parseTerm));
}

function parseChain(tokens: Tokens, word: 'and' | 'or', parse: (tokens: Tokens) => Filter): Filter {
  const terms = [parse(tokens)];
  while (tokens.takeIf(word)) {
    terms.push(parse(tokens));
  }
  return terms.length === 1 ? terms[0]! : { kind: word, terms };
}

function parseTerm(tokens: Tokens): Filter {
  if (tokens.takeIf('(')) {
    const inner = parseOr(tokens);
    tokens.expect(')');
    return inner;
  }
  const path = tokens.take().text;
  if (/^singleValueExtendedProperties\/any$/i.test(path)) {
    return parseAny(tokens);
  }
  if (tokens.takeIf('(')) {
    throw notInSandbox('functions in $filter');
  }
  const { operator, value } = parseComparison(tokens);
  return { kind: 'compare', path, operator, value };
}

/** `(ep: ep/id eq '…' and ep/value eq '…')`. */
function parseAny(tokens: Tokens): Filter {
  tokens.expect('(');
  const variable = tokens.take().text;
  tokens.expect(':');
  const given = new Map<string, { operator: Operator; value: Literal }>();
  do {
    given.set(tokens.take().text, parseComparison(tokens));
  } while (tokens.takeIf('and'));
  tokens.expect(')');
  const id = given.get(`${variable}/id`);
  const value = given.get(`${variable}/value`);
  if (given.size !== 2 || id?.operator !== 'eq' || typeof id.value !== 'string' || !value) {
    throw invalidRequest('The lambda over extended properties must compare id and value.');
  }
  if (value.operator === 'ne' && value.value === null) {
    return { kind: 'property', id: canonicalPropertyId(id.value), value: null };
  }
  if (value.operator !== 'eq' || typeof value.value !== 'string') {
    throw notInSandbox('extended property filters other than eq');
  }
  return { kind: 'property', id: canonicalPropertyId(id.value), value: value.value };
}

function parseComparison(tokens: Tokens): { operator: Operator; value: Literal } {
  const operator = OPERATORS.indexOf(tokens.take().text.toLowerCase());
  if (operator < 0) {
    throw invalidRequest('Invalid filter clause.');
  }
  return { operator: OPERATORS[operator] as Operator, value: literalOf(tokens.take()) };
}

function literalOf({ text, quoted }: Token): Literal {
  if (quoted !== undefined) {
    return quoted;
  }
  const words: Record<string, Literal> = { true: true, false: false, null: null };
  if (Object.hasOwn(words, text)) {
    return words[text] ?? null;
  }
  if (/^-?\d+(?:\.\d+)?$/.test(text)) {
    return Number(text);
  }
  if (/^\d{4}-\d{2}-\d{2}/.test(text)) {
    return text;
  }
  throw invalidRequest('Invalid filter clause.');
}

class Tokens {
  readonly #tokens: Token[] = [];
  #position = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    const end = text.trimEnd().length;
    while (TOKEN.lastIndex < end) {
      const match = TOKEN.exec(text);
      if (!match) {
        throw invalidRequest('Invalid filter clause.');
      }
      this.#tokens.push({ text: match[2] ?? match[3] ?? '', quoted: match[1]?.replaceAll("''", "'") });
    }
  }

  take(): Token {
    const token = this.#tokens[this.#position];
    if (!token) {
      throw invalidRequest('Invalid filter clause.');
    }
    this.#position += 1;
    return token;
  }

  takeIf(text: string): boolean {
    const token = this.#tokens[this.#position];
    const isIt = token?.quoted === undefined && token?.text.toLowerCase() === text;
    this.#position += isIt ? 1 : 0;
    return isIt;
  }

  expect(text: string): void {
    if (!this.takeIf(text)) {
      throw invalidRequest('Invalid filter clause.');
    }
  }

  expectEnd(): void {
    if (this.#position < this.#tokens.length) {
      throw invalidRequest('Invalid filter clause.');
    }
  }
}
