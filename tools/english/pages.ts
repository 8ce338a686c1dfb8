/** The shape of a page: what it begins with, what it shows, and how much of it is in tables. */
import { wordsOf } from './density.ts';
import { proseOfDocument } from './prose.ts';

/** The shape of one page, or the sum of several pages. */
export interface PageShape {
  words: number;
  /** Words in cells of tables, without the lines between head and body. */
  wordsInTables: number;
  /** Fenced blocks: commands, output and files. */
  examples: number;
  pictures: number;
  /** *you*, *your* and their forms. */
  you: number;
  pages: number;
  pagesWithTable: number;
  /** Pages whose first fenced block is before their first table. */
  pagesWithExampleFirst: number;
  /** Pages with more words in tables than {@link MOST_IN_TABLES}. */
  pagesFullOfTables: number;
  /** Sentences that have a sentence before them. */
  pairs: number;
  /** Sentences that begin with the same word as the sentence before them. */
  samePairs: number;
}

/** A page for users may have so many percent of its words in tables. */
const MOST_IN_TABLES = 25;
/** Pages that `npm run generate` writes completely. Their shape is the shape of the program. */
const GENERATED = new Set(['docs/clinic-api.md', 'docs/commands.md']);
/** Parts of a page that `npm run generate` writes. */
const GENERATED_PART = /<!-- reference: [a-z-]+ -->\n[\s\S]*?<!-- end -->/g;
const FENCE = /^\s*```/;
const TABLE = /^\s*\|/;
const OWN_BLOCK = /^\s*(?:[-*]|\d+\.)\s+|^\s*#+\s/;
/** The end of a sentence; a period in a number, a path or an abbreviation has no space and capital letter behind it. */
const BETWEEN_SENTENCES = /(?<=[.!?:])["*)]*\s+(?=["*[(]*(?:`|[A-Z]))/;
const READER = /^(?:you|your|yours|yourself)(?:['’]\w+)?$/;
const OPENING_ABOUT_ITSELF = /^This (?:page|reference|tour)\b/i;

/** Tells whether a path is a page for users that people write. */
export function isUserPage(path: string): boolean {
  return (path === 'README.md' || /^docs\/.+\.md$/.test(path)) && !GENERATED.has(path);
}

/** Measures the shape of one page without its generated parts. */
export function shapeOfPage(path: string, markdown: string): PageShape {
  const written = markdown.replaceAll(GENERATED_PART, '');
  const prose = proseOfDocument(path, written).text;
  const words = wordsOf(prose);
  const wordsInTables = wordsOf(linesOf(prose, TABLE)).length;
  const lines = written.split('\n');
  const [fence, table] = [lines.findIndex((line) => FENCE.test(line)), tableLine(lines)];
  const firstWords = sentencesOf(written).map((sentence) => wordsOf(sentence)[0] ?? sentence);
  return {
    words: words.length,
    wordsInTables,
    examples: lines.filter((line) => FENCE.test(line)).length / 2,
    pictures: (written.match(/!\[|<img\b/g) ?? []).length,
    you: words.filter((word) => READER.test(word)).length,
    pages: 1,
    pagesWithTable: table < 0 ? 0 : 1,
    pagesWithExampleFirst: table >= 0 && fence >= 0 && fence < table ? 1 : 0,
    pagesFullOfTables: percent(wordsInTables, words.length) > MOST_IN_TABLES ? 1 : 0,
    pairs: Math.max(firstWords.length - 1, 0),
    samePairs: firstWords.filter((word, index) => index > 0 && word === firstWords[index - 1]).length,
  };
}

/** Adds the shapes of several pages. */
export function sumOfShapes(shapes: readonly PageShape[]): PageShape {
  const sum = shapeOfPage('', '');
  for (const key of Object.keys(sum) as (keyof PageShape)[]) {
    sum[key] = shapes.reduce((total, shape) => total + shape[key], 0);
  }
  return sum;
}

/** Returns a fault if the first paragraph of a page is about the page and not about its reader; otherwise null. */
export function openingFault(path: string, markdown: string): string | null {
  const [opening] = OPENING_ABOUT_ITSELF.exec(firstParagraph(markdown)) ?? [];
  return opening === undefined
    ? null
    : `${path}: begins with "${opening}": begin with what the reader gets or does, and address the reader as "you"`;
}

/** Returns the line of the report for one page, or for the sum of several pages. */
export function lineOfShape(name: string, shape: PageShape): string {
  const perThousand = (count: number) => (shape.words === 0 ? 0 : (1_000 * count) / shape.words).toFixed(1).padStart(4);
  return [
    `${name.padEnd(34)} words ${String(shape.words).padStart(6)}`,
    `tables ${percent(shape.wordsInTables, shape.words).toFixed(0).padStart(2)} %`,
    `examples ${perThousand(shape.examples)}`,
    `pictures ${shape.pictures}`,
    `you ${perThousand(shape.you)}`,
    `same beginning ${percent(shape.samePairs, shape.pairs).toFixed(0).padStart(2)} %`,
    shape.pages === 1 ? exampleFirst(shape) : ofAllPages(shape),
  ].join('  ');
}

function exampleFirst({ pagesWithTable, pagesWithExampleFirst }: PageShape): string {
  if (pagesWithTable === 0) return 'no table';
  return pagesWithExampleFirst === 1 ? 'example first' : 'table first';
}

function ofAllPages({ pages, pagesWithTable, pagesWithExampleFirst, pagesFullOfTables }: PageShape): string {
  const first = `example first ${pagesWithExampleFirst} of ${pagesWithTable} with a table`;
  return `${first}  above ${MOST_IN_TABLES} % tables ${pagesFullOfTables} of ${pages}`;
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
}

function linesOf(text: string, kind: RegExp): string {
  return text
    .split('\n')
    .filter((line) => kind.test(line))
    .join('\n');
}

/** Returns the index of the first line of a table outside fenced blocks; -1 without a table. */
function tableLine(lines: readonly string[]): number {
  let isFenced = false;
  return lines.findIndex((line) => {
    if (FENCE.test(line)) isFenced = !isFenced;
    return !isFenced && TABLE.test(line);
  });
}

/** Returns paragraphs and list items in one line each, without headings, tables, pictures and fenced blocks. */
function blocksOf(markdown: string): string[] {
  const prose = markdown.replaceAll(/^([ \t]*)```.*?^\1```/gms, '').replaceAll(/<!--[\s\S]*?-->/g, '');
  const blocks: string[] = [];
  let isContinued = false;
  for (const line of prose.split('\n')) {
    const isText = line.trim() !== '' && !TABLE.test(line) && !/^\s*(?:#|!\[)/.test(line);
    const text = line.replace(OWN_BLOCK, '').trim();
    if (isText && isContinued && !OWN_BLOCK.test(line)) blocks.push(`${blocks.pop()} ${text}`);
    else if (isText) blocks.push(text);
    isContinued = isText;
  }
  return blocks;
}

function firstParagraph(markdown: string): string {
  return blocksOf(markdown)[0] ?? '';
}

function sentencesOf(markdown: string): string[] {
  return blocksOf(markdown).flatMap((block) => block.split(BETWEEN_SENTENCES));
}
