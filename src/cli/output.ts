import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { styleText } from 'node:util';
import type * as CliProgress from 'cli-progress';
import { type Command, InvalidArgumentError } from 'commander';
import type { Installation } from '../control/installation.ts';
import { render, type Text } from '../messages/message.ts';
import type { Progress } from '../model/tasks.ts';
import { toJson } from '../operations/schemas.ts';

/** What answers are laid out for: a terminal of some width, a file, a pipe. */
interface OutputOptions {
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

const papers = new AsyncLocalStorage<{ options: OutputOptions; hasNamedZone: boolean }>();

/** What is written on now. */
export function outputOptions(): OutputOptions {
  return papers.getStore()?.options ?? PLAIN;
}

/** Does something with answers laid out for this; what is not named stays as it is around it. */
export function withOutputOptions<Result>(changed: Partial<OutputOptions>, work: () => Result): Result {
  return papers.run({ options: { ...outputOptions(), ...changed }, hasNamedZone: false }, work);
}

/**
 * An answer of one clinic, in its zone, which is named once below where the text tells a time.
 * @param zone null where the answer is of clinics of several zones: UTC
 */
export function inZone(zone: string | null, render: () => string): string {
  return withOutputOptions({ zone }, () => {
    const text = render();
    return zone !== null && papers.getStore()?.hasNamedZone === true ? `${text}\n\nTimes: ${zone} (--utc: UTC)` : text;
  });
}

/** The zone in which a time is told just now, which the answer then names. */
export function zoneOfTimes(): string | null {
  const store = papers.getStore();
  if (store !== undefined) store.hasNamedZone = true;
  return outputOptions().zone;
}

/** As much of a stream as answers go by. */
type OutputStream = Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'hasColors'>>;

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
  green: ['in-sync', 'in sync', 'connected', 'static', 'ok'],
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

/** How an answer is wanted: the options of its command. */
export interface Asked {
  json?: boolean;
  /** Most rows of each list, where lists may be long; whoever reads JSON gets all. */
  limit?: number;
  all?: boolean;
}

/**
 * Prints an answer.
 * @param value what is told as JSON
 * @param render the same as text
 * @param zone in which the text tells times; null or absent: UTC
 */
export type Print = (asked: Asked, value: object, render: () => string, zone?: string | null) => void;

/** Prints by these. @param isUtc whether all times are wanted in UTC */
export function printer(out: (text: string) => void, isUtc: () => boolean): Print {
  return ({ json = false, limit, all = false }, value, render, zone = null) => {
    if (json) return out(toJson(value));
    const mostRows = all || limit === 0 ? Number.POSITIVE_INFINITY : (limit ?? null);
    const text = withOutputOptions({ mostRows }, () => inZone(isUtc() ? null : zone, render));
    if (text !== '') out(text);
  };
}

/** The zone of a clinic; that of all, where none is named and they share one; else null. */
export function zoneOf({ outlines }: Pick<Installation, 'outlines'>, tenant?: string): string | null {
  if (tenant !== undefined) return outlines.get(tenant)?.zone ?? null;
  const zones = new Set([...outlines.values()].map(({ zone }) => zone));
  return zones.size === 1 ? ([...zones][0] ?? null) : null;
}

/** Lets a person say how many rows of a list are shown. */
export function paged(command: Command, about = 'most rows of each list'): Command {
  return command.option('--limit <count>', about, wholeNumber).option('--all', 'every row of each list');
}

/** A number among the arguments. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('write a whole number');
}

/** Loads a package when it is first needed: most commands never show a bar. */
const load = createRequire(import.meta.url);

/** Where text goes: a terminal, or what takes its place. */
export type Terminal = NodeJS.WritableStream & OutputStream;

/** Progress on standard error: a bar in a terminal, one line a step elsewhere. */
export function createProgress(stream: Terminal): Progress & { end(): void } {
  return stream.isTTY ? barProgress(stream) : lineProgress(stream);
}

function barProgress(stream: Terminal): Progress & { end(): void } {
  const { Presets, SingleBar } = load('cli-progress') as typeof CliProgress;
  const bar = new SingleBar(
    { stream, format: '{step} {bar} {value}/{total}', hideCursor: true, clearOnComplete: true },
    Presets.shades_grey,
  );
  let running = false;
  const show = (text: Text, done = 0, total = 0) => {
    const step = render(text);
    if (!running) bar.start(total, done, { step });
    running = true;
    bar.setTotal(Math.max(total, done));
    bar.update(done, { step });
  };
  return Object.assign(show, { end: () => bar.stop() });
}

function lineProgress(stream: Terminal): Progress & { end(): void } {
  let last = '';
  const show = (text: Text) => {
    const step = render(text);
    if (step !== last) stream.write(`${step} …\n`);
    last = step;
  };
  return Object.assign(show, { end: () => {} });
}
