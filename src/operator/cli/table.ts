import { toZonedIso } from '../../core/model/time.ts';
import { shown } from '../../messages/shown.ts';
import { outputOptions, stateWord, zoneOfTimes } from './output.ts';

/** Heading of the instant up to which data is in sync. */
export const IN_SYNC_AS_OF = 'in sync as of';

/** A column. Number columns are right-aligned; state columns are never cut. */
interface Column {
  heading: string;
  right?: boolean;
  isState?: boolean;
}

/**
 * Arranges rows in columns with two spaces between them, and right-aligns numbers. If the table is too wide, the widest text column is cut
 * with `…`, except state words.
 */
export function renderTable(
  headings: readonly (string | Column)[],
  values: readonly (readonly (string | number)[])[],
  indent = '',
): string {
  const columns = headings.map((heading, index) => ({
    right: values.some((row) => typeof row[index] === 'number'),
    ...(typeof heading === 'string' ? { heading } : heading),
  }));
  const rows = values.map((row) => row.map(String));
  const widths = columns.map(({ heading }, index) =>
    Math.max(heading.length, ...rows.map((row) => (row[index] ?? '').length)),
  );
  const { tableColumns } = outputOptions();
  if (tableColumns !== null) narrow(columns, widths, tableColumns - indent.length);
  const line = (cells: readonly string[]) =>
    indent +
    cells
      .map((cell, index) => {
        const { right = false, isState = false } = columns[index] ?? {};
        const padded = pad(printable(cell), widths[index] ?? 0, right);
        const word = padded.trimEnd();
        return isState ? stateWord(word) + padded.slice(word.length) : padded;
      })
      .join('  ')
      .trimEnd();
  const rule = indent + widths.map((width) => '─'.repeat(width)).join('  ');
  return [line(columns.map(({ heading }) => heading)), rule, ...rows.map(line)].join('\n');
}

function narrow(columns: readonly Column[], widths: number[], room: number): void {
  const isCut = ({ right = false, isState = false }: Column) => !right && !isState;
  let excess = widths.reduce((sum, width) => sum + width, 0) + 2 * (widths.length - 1) - room;
  while (excess > 0) {
    const widest = widths.reduce(
      (best, width, index) => (isCut(columns[index] as Column) && width > (widths[best] ?? 0) ? index : best),
      columns.findIndex(isCut),
    );
    const cut = Math.min(excess, Math.max(1, Math.floor((widths[widest] ?? 0) / 4)));
    if ((widths[widest] ?? 0) - cut < 6) return;
    widths[widest] = (widths[widest] ?? 0) - cut;
    excess -= cut;
  }
}

function pad(text: string, width: number, right: boolean): string {
  const cut = text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;
  return right ? cut.padStart(width) : cut.padEnd(width);
}

/** Wraps a text at spaces to the output width. A word longer than a line is cut. */
export function wrap(text: string, indent = ''): string {
  const room = Math.max(outputOptions().textColumns - indent.length, 20);
  const lines: string[] = [];
  let line = '';
  for (const word of printable(text)
    .split(' ')
    .flatMap((each) => (outputOptions().tableColumns === null ? [each] : pieces(each, room)))) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(indent + line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, indent + line].join('\n');
}

function pieces(word: string, length: number): string[] {
  if (word.length <= length) return [word];
  return [word.slice(0, length), ...pieces(word.slice(length), length)];
}

/** Returns an external text as part of a line. */
function printable(text: string): string {
  return shown(text).replaceAll(/[\t\n]/g, ' ');
}

/** Formats a time: `2026-11-20 15:05:09` in the output zone, `2026-11-20 14:05:09Z` in UTC, or a dash. */
export function renderTime(at: number | null): string {
  if (at === null) return '–';
  const zone = zoneOfTimes();
  const iso = zone === null ? new Date(at).toISOString() : toZonedIso(zone, at);
  return `${iso.slice(0, 19).replace('T', ' ')}${zone === null ? 'Z' : ''}`;
}

/** Formats the time of the next retry. A retry that is due has no time: a next retry in the past would be untrue. */
export function renderNextRetry(at: number | null, now: number): string {
  return at === null || at <= now ? 'retry due now' : `next retry ${renderTime(at)}`;
}

/** Formats an age in one unit: `12 s`, `5 min`, `3 h`, `2 d`. */
export function renderAge(at: number | null, now: number): string {
  if (at === null) return 'never';
  const seconds = Math.max(0, Math.round((now - at) / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
