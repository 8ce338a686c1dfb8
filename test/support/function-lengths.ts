import { stripTypeScriptTypes } from 'node:module';
import { type Token, tokensOf } from './source-scanner.ts';

/** A function with a body in braces. */
export interface FunctionLength {
  /** Its own, or that of the variable or property that holds it; else "anonymous". */
  readonly name: string;
  /** Where it begins, from 1. */
  readonly line: number;
  /** From its name, or its first parameter, to its closing brace. */
  readonly lineCount: number;
  /** Whether tests are declared in it: then it is a list of tests, as long as there are cases. */
  readonly isSuite: boolean;
}

/** Words before a parenthesis and a block that make no function of it. */
const CONTROL = new Set(['if', 'for', 'await', 'while', 'switch', 'catch', 'with']);

/** What declares a test, or a group of them. */
const DECLARES = new Set(['test', 'it', 'describe']);

/** Every function of TypeScript source, also those inside of others. */
export function functionsOf(source: string): FunctionLength[] {
  // Types go and lines stay, so that what stands between a parameter list and a brace makes a function.
  const tokens = tokensOf(stripTypeScriptTypes(source));
  const functions: FunctionLength[] = [];
  /** For each bracket that is open: where it opened, and what function its block is the body of. */
  const open: { at: number; head: Pick<FunctionLength, 'name' | 'line'> | null }[] = [];
  /** Where the bracket opened that closes there. */
  const openings = new Map<number, number>();
  for (const [at, token] of tokens.entries()) {
    if (opens(token)) open.push({ at, head: token.text === '{' ? headBefore(tokens, at, openings) : null });
    if (!closes(token)) continue;
    const opened = open.pop();
    if (opened === undefined) continue;
    openings.set(at, opened.at);
    if (opened.head !== null) {
      const { line } = opened.head;
      functions.push({
        ...opened.head,
        lineCount: token.line - line + 1,
        isSuite: declaresTests(tokens, opened.at, at),
      });
    }
    // `${…}` closes one part of a template and may open the next.
    if (token.kind === 'template' && token.text.endsWith('${')) open.push({ at, head: null });
  }
  return functions;
}

function declaresTests(tokens: readonly Token[], from: number, to: number): boolean {
  return tokens.slice(from, to).some(({ kind, text }, index, body) => {
    const isCalled = ['(', '.'].includes(body[index + 1]?.text ?? '');
    return kind === 'word' && DECLARES.has(text) && isCalled && body[index - 1]?.text !== '.';
  });
}

function headBefore(tokens: readonly Token[], brace: number, openings: ReadonlyMap<number, number>) {
  const isArrow = tokens[brace - 1]?.text === '=>';
  const last = isArrow ? brace - 2 : brace - 1;
  const isList = tokens[last]?.text === ')';
  if (!isArrow && !isList) return null;
  const first = isList ? (openings.get(last) ?? last) : last;
  const before = tokens[first - 1];
  if (!isArrow) {
    const isNamed = before?.kind === 'word' && before.text !== 'function';
    if (isNamed && CONTROL.has(before.text)) return null;
    return { name: isNamed ? before.text : 'anonymous', line: (before ?? tokens[first])?.line ?? 0 };
  }
  const equals = before?.text === 'async' ? first - 2 : first - 1;
  const isHeld = ['=', ':'].includes(tokens[equals]?.text ?? '') && tokens[equals - 1]?.kind === 'word';
  return { name: (isHeld && tokens[equals - 1]?.text) || 'anonymous', line: tokens[first]?.line ?? 0 };
}

function opens({ kind, text }: Token): boolean {
  return (kind === 'sign' && '({['.includes(text)) || (kind === 'template' && /^`[\s\S]*\$\{$/.test(text));
}

function closes({ kind, text }: Token): boolean {
  return (kind === 'sign' && ')}]'.includes(text)) || (kind === 'template' && text.startsWith('}'));
}
