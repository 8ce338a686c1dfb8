import { AsyncLocalStorage } from 'node:async_hooks';
import { styleText } from 'node:util';

/** What answers are laid out for: a terminal of some width, a file, a pipe. */
export interface OutputOptions {
  /** Columns that a table may take; null: as many as it needs, and nothing is cut. */
  tableColumns: number | null;
  /** Columns at which sentences are broken. */
  textColumns: number;
  hasColours: boolean;
  /** IANA zone in which times are told; null: UTC, with a Z. */
  zone: string | null;
  /** Most rows of a list; null: as many as that list shows by itself. */
  mostRows: number | null;
}

/** Sentences that are longer than this are hard to read, however wide a terminal is. Our choice. */
const WIDEST_TEXT = 120;
/** Columns of a text that does not know where it goes, and of sentences in a pipe. */
export const PLAIN_COLUMNS = 100;

const PLAIN: OutputOptions = {
  tableColumns: PLAIN_COLUMNS,
  textColumns: PLAIN_COLUMNS,
  hasColours: false,
  zone: null,
  mostRows: null,
};

const papers = new AsyncLocalStorage<{ paper: OutputOptions; toldZone: boolean }>();

/** What is written on now. */
export function outputOptions(): OutputOptions {
  return papers.getStore()?.paper ?? PLAIN;
}

/** Does something with answers laid out for this; what is not named stays as it is around it. */
export function withOutputOptions<Result>(changed: Partial<OutputOptions>, work: () => Result): Result {
  return papers.run({ paper: { ...outputOptions(), ...changed }, toldZone: false }, work);
}

/**
 * An answer of one clinic, in its zone, which is named once below where the text tells a time.
 * @param zone null where the answer is of clinics of several zones: UTC
 */
export function inZone(zone: string | null, render: () => string): string {
  return withOutputOptions({ zone }, () => {
    const text = render();
    return zone !== null && papers.getStore()?.toldZone === true ? `${text}\n\nTimes: ${zone} (--utc: UTC)` : text;
  });
}

/** The zone in which a time is told just now, which the answer then names. */
export function zoneOfTimes(): string | null {
  const store = papers.getStore();
  if (store !== undefined) store.toldZone = true;
  return outputOptions().zone;
}

/** As much of a stream as answers go by. */
export type OutputStream = Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'hasColors'>>;

/** What a stream is: a terminal has its width, and colours unless NO_COLOR or its kind says no; in a pipe nothing is cut. */
export function outputOptionsOf(stream: OutputStream): Partial<OutputOptions> {
  const { isTTY = false, columns = 0 } = stream;
  if (!isTTY) return { tableColumns: null };
  const tableColumns = columns > 0 ? columns : PLAIN_COLUMNS;
  return { tableColumns, textColumns: Math.min(tableColumns, WIDEST_TEXT), hasColours: stream.hasColors?.() === true };
}

/** The first rows of a list. @param usual as many, where nobody asked for a number */
export function firstRows<Row>(rows: readonly Row[], usual: number): { shown: readonly Row[]; more: string[] } {
  const shown = rows.slice(0, outputOptions().mostRows ?? usual);
  const hidden = rows.length - shown.length;
  return { shown, more: hidden > 0 ? [`… and ${hidden} more (--all)`] : [] };
}

/** Words that say how something stands, by what they mean for whoever reads them. */
const TONES = {
  green: ['in-sync', 'in sync', 'connected', 'static', 'runs', 'yes', 'ok', 'well'],
  yellow: [
    'behind',
    'drifted',
    'first-sync',
    'first sync',
    'held',
    'incomplete',
    'not asked',
    'resting',
    'stale',
    'unconfirmed',
    'unknown',
    'waits by itself',
  ],
  red: ['failing', 'FAULT', 'needs-login', 'NEEDS YOU', 'no-tenant', 'PROBLEM', 'stopped', 'waits for you'],
} as const;

/** A word of state in its colour, where there are colours; others as they are. */
export function stateWord(word: string): string {
  if (!outputOptions().hasColours) return word;
  const [colour] =
    Object.entries(TONES).find(([, words]) => (words as readonly string[]).includes(word.trim().replace(/,.*/, ''))) ??
    [];
  // The stream was asked already: paper() knows it.
  return colour === undefined ? word : styleText(colour as keyof typeof TONES, word, { validateStream: false });
}
