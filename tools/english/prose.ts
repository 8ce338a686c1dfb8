/** Finds the English that people read in the files of the project: documents, comments, and texts in source code. */
import { parseSync, visitorKeys } from 'oxc-parser';

/** The English of one file of one kind. */
export interface Prose {
  path: string;
  kind: 'document' | 'comment' | 'text';
  /** As many lines as the file has. Everything that is no English is blank. */
  text: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

/** A text with at least this many words is English for people; a shorter one can be a key or a name. */
const LEAST_WORDS = 3;
/** Nodes of TypeScript that hold values and not only types. */
const WITH_VALUES = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression']);
const DIRECTIVE = /^[\s*]*(biome-ignore|@ts-|eslint-|v8 ignore|Stryker)/;

/** The words that a document counts, without code, link targets and HTML. */
export function proseOfDocument(path: string, markdown: string): Prose {
  const blank = (match: string) => match.replaceAll(/[^\n]/g, ' ');
  const text = markdown
    .replaceAll(/^([ \t]*)```.*?^\1```/gms, blank)
    .replaceAll(/`[^`\n]*`/g, blank)
    .replaceAll(/(\]\()([^)]*)(\))/g, (_, open: string, to: string, close: string) => `${open}${blank(to)}${close}`)
    .replaceAll(/<[^>]+>/g, blank);
  return { path, kind: 'document', text };
}

/** The comments and the texts of a TypeScript file. @throws Error that names the file, if the file cannot be parsed */
export function proseOfSource(path: string, content: string): Prose[] {
  const { program, comments, errors } = parseSync(path, content);
  if (errors[0] !== undefined) throw new Error(`Cannot parse ${path}: ${errors[0].message}`);
  const inComments = comments.filter(({ value }) => !DIRECTIVE.test(value));
  const texts: { start: number; end: number }[] = [];
  collectTexts(program as unknown as Node, content, texts);
  // A template's own parts precede the strings inside its expressions.
  texts.sort((one, other) => one.start - other.start);
  return [
    { path, kind: 'comment', text: withoutCode(only(content, inComments)) },
    { path, kind: 'text', text: withoutCode(only(content, texts)) },
  ];
}

/** Comments by file type. */
const COMMENTS: readonly [file: RegExp, comment: RegExp][] = [
  [/\.lua$/, /--.*$/gm],
  [/\.css$/, /\/\*[\s\S]*?\*\//g],
  [/./, /(?<=^|\s)#.*$/gm],
];
/** Fields of configuration files that people read, such as the summary of an alert rule. */
const TEXT_FIELDS = /(?<=^\s*(?:- )?"?(?:description|label|placeholder|summary|title)"?: ).*$/gm;

/** The comments and the texts of a script, a style sheet or a configuration file. */
export function proseOfOther(path: string, content: string): Prose[] {
  const [, comment] = COMMENTS.find(([file]) => file.test(path)) as (typeof COMMENTS)[number];
  const partsOf = (pattern: RegExp) =>
    [...content.matchAll(pattern)].map(({ index, 0: { length } }) => ({ start: index, end: index + length }));
  return [
    { path, kind: 'comment', text: withoutCode(only(content, path.endsWith('.json') ? [] : partsOf(comment))) },
    { path, kind: 'text', text: withoutCode(only(content, /\.(lua|css)$/.test(path) ? [] : partsOf(TEXT_FIELDS))) },
  ];
}

function withoutCode(text: string): string {
  return text
    .replaceAll(/`[^`\n]*`/g, (match) => ' '.repeat(match.length))
    .replaceAll(/\{@link [^}\n]*\}/g, (match) => ' '.repeat(match.length));
}

function only(content: string, parts: readonly { start: number; end: number }[]): string {
  let text = '';
  let at = 0;
  for (const { start, end } of parts) {
    text += content.slice(at, start).replaceAll(/[^\n]/g, ' ') + content.slice(start, end);
    at = end;
  }
  return text + content.slice(at).replaceAll(/[^\n]/g, ' ');
}

function collectTexts(node: Node, content: string, into: { start: number; end: number }[]): void {
  if (node.type === 'ImportDeclaration' || (node.type.startsWith('TS') && !WITH_VALUES.has(node.type))) return;
  if (node.type === 'TemplateElement' || (node.type === 'Literal' && typeof node.value === 'string')) {
    const text = content.slice(node.start, node.end);
    if ((text.match(/[A-Za-z]{2,}/g) ?? []).length >= LEAST_WORDS && /\s/.test(text)) into.push(node);
    return;
  }
  for (const key of visitorKeys[node.type] ?? []) {
    for (const child of [node[key]].flat())
      if (child !== null && child !== undefined) collectTexts(child as Node, content, into);
  }
}
