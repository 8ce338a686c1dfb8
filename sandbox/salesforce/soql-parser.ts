import { ApiError } from './errors.ts';
import type { FieldValue } from './fields.ts';
import { readInstant } from './values.ts';

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'LIKE' | 'IN' | 'NOT IN';

/** A WHERE clause. Values have the form in which fields store them. */
export type Condition =
  | { kind: 'compare'; field: string; comparison: Comparison; values: FieldValue[] }
  | { kind: 'and' | 'or'; parts: Condition[] }
  | { kind: 'not'; part: Condition };

/** A query in the subset of SOQL that the sandbox supports. A field name can include one parent: `Account.Name`. */
export interface Query {
  /** Empty for `COUNT()`. */
  fields: string[];
  object: string;
  where: Condition | undefined;
  orderBy: { field: string; isDescending: boolean; nullsLast: boolean }[];
  limit: number | undefined;
  offset: number;
}

const TOKEN = /\s*('(?:[^'\\]|\\.)*'|[A-Za-z_][\w.]*(?:\(\))?|[+-]?\d[\w:.+-]*|<=|>=|!=|<>|[=<>(),])/y;
const COMPARISONS = new Map<string, Comparison>(
  (['=', '!=', '<', '<=', '>', '>=', 'LIKE', 'IN'] as const).map((each) => [each, each]),
).set('<>', '!=');

/** Parses `SELECT … FROM … [WHERE …] [ORDER BY …] [LIMIT …] [OFFSET …]`. Throws ApiError 400 MALFORMED_QUERY. */
export function parseSoql(text: string): Query {
  return new Parser(tokensOf(text)).query();
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const pattern = new RegExp(TOKEN);
  const end = text.trimEnd().length;
  while (pattern.lastIndex < end) {
    const at = pattern.lastIndex;
    const token = pattern.exec(text)?.[1];
    if (token === undefined) {
      throw malformed(`unexpected token at position ${at}`);
    }
    tokens.push(token);
  }
  return tokens;
}

/** A recursive descent parser over the tokens. */
class Parser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  query(): Query {
    this.#expect('SELECT');
    const fields = this.#list(() => this.#name());
    this.#expect('FROM');
    const object = this.#name();
    const query: Query = {
      fields: fields.length === 1 && /^count\(\)$/i.test(fields[0]!) ? [] : fields,
      object,
      where: this.#takes('WHERE') ? this.#condition() : undefined,
      orderBy: this.#takes('ORDER') ? this.#order() : [],
      limit: this.#takes('LIMIT') ? this.#count() : undefined,
      offset: this.#takes('OFFSET') ? this.#count() : 0,
    };
    if (this.#at < this.#tokens.length) {
      throw malformed(`unexpected token: '${this.#tokens[this.#at]}'`);
    }
    return query;
  }

  /** Parses AND or OR. A mix of both without parentheses is refused, as by the vendor. */
  #condition(): Condition {
    const parts = [this.#term()];
    const joint = this.#is('AND') ? 'and' : 'or';
    while (this.#takes(joint.toUpperCase())) {
      parts.push(this.#term());
    }
    return parts.length === 1 ? parts[0]! : { kind: joint, parts };
  }

  #term(): Condition {
    if (this.#takes('NOT')) {
      return { kind: 'not', part: this.#term() };
    }
    if (this.#takes('(')) {
      const inner = this.#condition();
      this.#expect(')');
      return inner;
    }
    const field = this.#name();
    const isNegated = this.#takes('NOT');
    const comparison = COMPARISONS.get(this.#next().toUpperCase());
    if (!comparison || (isNegated && comparison !== 'IN')) {
      throw malformed('unexpected comparison');
    }
    if (comparison !== 'IN') {
      return { kind: 'compare', field, comparison, values: [this.#value()] };
    }
    this.#expect('(');
    const values = this.#list(() => this.#value());
    this.#expect(')');
    return { kind: 'compare', field, comparison: isNegated ? 'NOT IN' : 'IN', values };
  }

  #order(): Query['orderBy'] {
    this.#expect('BY');
    return this.#list(() => {
      const field = this.#name();
      const isDescending = this.#takes('DESC');
      if (!isDescending) {
        this.#takes('ASC');
      }
      let nullsLast = false;
      if (this.#takes('NULLS')) {
        nullsLast = this.#takes('LAST');
        if (!nullsLast) {
          this.#expect('FIRST');
        }
      }
      return { field, isDescending, nullsLast };
    });
  }

  #list<Item>(item: () => Item): Item[] {
    const items = [item()];
    while (this.#takes(',')) {
      items.push(item());
    }
    return items;
  }

  #value(): FieldValue {
    const token = this.#next();
    if (token.startsWith("'")) {
      return unescaped(token.slice(1, -1));
    }
    const word = token.toLowerCase();
    if (word === 'null') {
      return null;
    }
    if (word === 'true' || word === 'false') {
      return word === 'true';
    }
    if (/^[+-]?\d+(\.\d+)?$/.test(token)) {
      return Number(token);
    }
    const time = /^\d{4}-\d{2}-\d{2}$/.test(token) ? token : readInstant(token);
    if (time === undefined) {
      throw malformed(`unexpected token: '${token}'`);
    }
    return time;
  }

  #count(): number {
    const token = this.#next();
    if (!/^\d+$/.test(token)) {
      throw malformed(`unexpected token: '${token}'`);
    }
    return Number(token);
  }

  #name(): string {
    const token = this.#next();
    if (!/^[A-Za-z_]/.test(token)) {
      throw malformed(`unexpected token: '${token}'`);
    }
    return token;
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) {
      throw malformed('unexpected end of the query');
    }
    this.#at += 1;
    return token;
  }

  #is(word: string): boolean {
    return this.#tokens[this.#at]?.toUpperCase() === word;
  }

  #takes(word: string): boolean {
    const isHere = this.#is(word);
    this.#at += isHere ? 1 : 0;
    return isHere;
  }

  #expect(word: string): void {
    if (!this.#takes(word)) {
      throw malformed(`expecting '${word}'`);
    }
  }
}

/** Keeps the escapes of `%` and `_` for LIKE, where an escaped wildcard matches literally. */
function unescaped(text: string): string {
  const known: Record<string, string> = { n: '\n', r: '\r', t: '\t', '%': '\\%', _: '\\_' };
  return text.replace(/\\(.)/gs, (_all, character: string) => known[character] ?? character);
}

function malformed(message: string): ApiError {
  return new ApiError(400, 'MALFORMED_QUERY', message);
}
