/** One piece of TypeScript source that isn't a comment or blank. */
export interface Token {
  readonly kind: 'word' | 'string' | 'template' | 'number' | 'regexp' | 'sign';
  /** As written; of a string, its content. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

export interface Import {
  /** As written: './x.ts', 'node:fs', 'bullmq'. */
  readonly specifier: string;
  readonly line: number;
}

const PATTERNS: readonly (readonly [Token['kind'] | 'skip', RegExp])[] = [
  ['skip', /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|^#![^\n]*/y],
  ['string', /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y],
  ['word', /[\p{ID_Start}$_#@][\p{ID_Continue}$\u200c\u200d]*/uy],
  ['number', /\.?\d[\w.]*/y],
  ['sign', /=>|\?\.(?!\d)|\.\.\.|[\s\S]/y],
];

const REGEXP = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;

/** Words after which an expression begins, so that a slash there begins a regular expression. */
const BEFORE_EXPRESSION = new Set(
  'return typeof instanceof in of new delete void throw case do else await yield extends default'.split(' '),
);

/** Splits TypeScript source into tokens: comments are gone, and what a string says isn't taken for code. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  /** For each template literal that is open: how deep the braces are inside its `${`. */
  const templateDepths: number[] = [];

  const take = (kind: Token['kind'] | 'skip', length: number) => {
    const text = source.slice(at, at + length);
    if (kind !== 'skip') tokens.push({ kind, text: kind === 'string' ? text.slice(1, -1) : text, line });
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) line += 1;
    at += length;
  };

  while (at < source.length) {
    const character = source[at];
    const depth = templateDepths.at(-1);
    if (character === '`' || (character === '}' && depth === 0)) {
      if (character === '}') templateDepths.pop();
      const length = templatePartLength(source, at);
      if (source.startsWith('${', at + length - 2)) templateDepths.push(0);
      take('template', length);
      continue;
    }
    if (depth !== undefined && character === '{') templateDepths[templateDepths.length - 1] = depth + 1;
    if (depth !== undefined && character === '}') templateDepths[templateDepths.length - 1] = depth - 1;
    const isComment = source.startsWith('//', at) || source.startsWith('/*', at);
    if (character === '/' && !isComment && expressionMayBegin(tokens.at(-1))) {
      const length = matchLength(REGEXP, source, at);
      if (length > 0) {
        take('regexp', length);
        continue;
      }
    }
    for (const [kind, pattern] of PATTERNS) {
      const length = matchLength(pattern, source, at);
      if (length === 0) continue;
      take(kind, length);
      break;
    }
  }
  return tokens;
}

/** Every module that the source names: imports (of types too), re-exports and `import()` of a constant. */
export function importsOf(tokens: readonly Token[]): Import[] {
  const imports: Import[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'string') continue;
    const before = (distance: number) => {
      const earlier = tokens[index - distance];
      return earlier?.kind === 'word' || earlier?.kind === 'sign' ? earlier.text : undefined;
    };
    const isFrom = before(1) === 'from' && before(2) !== '.';
    const isBare = before(1) === 'import' && before(2) !== '.';
    const isCall = before(1) === '(' && ['import', 'require'].includes(before(2) ?? '') && before(3) !== '.';
    if (isFrom || isBare || isCall) imports.push({ specifier: token.text, line: token.line });
  }
  return imports;
}

/** The lines on which the tokens follow each other as in `code` ("Date.now", "new Date()"). */
export function linesWith(tokens: readonly Token[], code: string): number[] {
  const wanted = tokensOf(code);
  return tokens
    .filter((_, index) => {
      const previous = tokens[index - 1];
      if (previous?.kind === 'sign' && (previous.text === '.' || previous.text === '?.')) return false;
      return wanted.every(({ kind, text }, offset) => {
        const token = tokens[index + offset];
        return token?.kind === kind && token.text === text;
      });
    })
    .map((token) => token.line);
}

/** The length of a template literal's part: from its ` or } to the next ${ or the closing `. */
function templatePartLength(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '`') return at + 1 - start;
    else if (source.startsWith('${', at)) return at + 2 - start;
  }
  return source.length - start;
}

function expressionMayBegin(previous: Token | undefined): boolean {
  if (previous === undefined) return true;
  if (previous.kind === 'word') return BEFORE_EXPRESSION.has(previous.text);
  if (previous.kind === 'template') return previous.text.endsWith('${');
  return previous.kind === 'sign' && ![')', ']', '}'].includes(previous.text);
}

function matchLength(pattern: RegExp, source: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0].length ?? 0;
}
