import type { Block, Document, DocumentStep, DocumentTable, Inline, Span } from '../documents/document.ts';
import { firstRows } from './output.ts';
import { renderTable, renderTime, wrap } from './table.ts';

const INDENT = '  ';

/** Prints a view with its title for a terminal. */
export function printTerminal({ title, blocks }: Document): string {
  return [wrap(title), ...blocks.map((block) => printBlock(block, ''))].join('\n\n');
}

/** Prints a sentence for a terminal, without line breaks. */
export function plainText(inline: Inline): string {
  if (inline === null || inline === false) return '';
  if (typeof inline !== 'object') return String(inline);
  if ('is' in inline) return spanText(inline);
  return inline.map(plainText).join('');
}

function spanText(span: Span): string {
  switch (span.is) {
    case 'time':
      return renderTime(span.at);
    case 'range':
      return [...new Set([renderTime(span.startAt), renderTime(span.endAt)])].join(' to ');
    case 'code':
    case 'command':
      return span.text;
    case 'lines':
      return '';
    default:
      return plainText(span.content);
  }
}

function printBlock(block: Block, indent: string): string {
  switch (block.is) {
    case 'paragraph':
      return sentence(block.content, indent);
    case 'empty':
      return wrap(block.text, indent);
    case 'facts':
      return block.facts.map(([name, value]) => sentence([name === '' ? '' : `${name}: `, value], indent)).join('\n');
    case 'steps':
      return block.steps.map((step) => printStep(step, indent)).join('\n');
    case 'table':
      return printTable(block, indent);
    case 'section': {
      const heading = block.sideText === null ? block.heading : `${block.heading} (${block.sideText})`;
      return [wrap(heading, indent), ...block.blocks.map((each) => printBlock(each, indent + INDENT))].join('\n');
    }
  }
}

/** Prints a command complete and on a separate line, so that the user can copy the command. */
function sentence(content: Inline, indent: string): string {
  const parts = [content].flat(3);
  const last = parts.at(-1);
  if (typeof last !== 'object' || last === null || !('is' in last) || last.is !== 'command')
    return wrap(plainText(content), indent);
  return `${wrap(plainText(parts.slice(0, -1)).trim(), indent)}\n${indent}${INDENT}${last.text}`;
}

function printStep({ name, at, lines }: DocumentStep, indent: string): string {
  const when = at === null ? '' : `, ${renderTime(at)}`;
  return [wrap(`${name}${when}`, indent), ...lines.flatMap((line) => lineTexts(line, indent + INDENT))].join('\n');
}

/** Prints a sentence, followed by its detail lines. */
function lineTexts(inline: Inline, indent: string): string[] {
  const text = plainText(inline);
  return [
    ...(text === '' ? [] : [wrap(text, indent)]),
    ...linesWithin(inline).map((line) => wrap(line, indent + INDENT)),
  ];
}

/** Returns the detail lines of a sentence or row. Folded lines are omitted. */
function linesWithin(inline: Inline): string[] {
  if (inline === null || typeof inline !== 'object') return [];
  if (!('is' in inline)) return inline.flatMap(linesWithin);
  return inline.is === 'lines' && inline.folded === null ? inline.lines.map(plainText) : [];
}

function printTable({ headings, rows, most }: DocumentTable, indent: string): string {
  const used = headings.flatMap((heading, at) =>
    rows.length === 0 || rows.some(({ cells }) => (cells[at] ?? null) !== null) ? [{ heading, at }] : [],
  );
  const columns = used.map(({ heading, at }) => ({
    heading,
    right: rows.some(({ cells }) => typeof cells[at] === 'number'),
    isState: rows.every(({ cells }) => isTone(cells[at] ?? null)),
  }));
  const { shown, more } = firstRows(rows, most.terminal);
  const texts = shown.map(({ cells }) => used.map(({ at }) => plainText(cells[at] ?? '–')));
  const [heading = '', rule = '', ...lines] = renderTable(columns, texts, indent).split('\n');
  const printed = lines.flatMap((line, at) => {
    const below = shown[at]?.cells.flatMap((cell) => linesWithin(cell)) ?? [];
    return [line, ...below.map((text) => wrap(text, `${indent}${INDENT}${INDENT}`))];
  });
  return [heading, rule, ...printed, ...more.map((text) => indent + text)].join('\n');
}

function isTone(cell: Inline): boolean {
  return typeof cell === 'object' && cell !== null && 'is' in cell && cell.is === 'tone';
}
