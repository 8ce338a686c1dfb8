import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { styleText } from 'node:util';
import type * as CliProgress from 'cli-progress';
import { type Command, InvalidArgumentError } from 'commander';
import { toJson } from '../../core/model/schemas.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { render, type Text } from '../../messages/message.ts';
import { DISGUISES } from '../../messages/shown.ts';
import type { Installation } from '../control/installation.ts';

/** Layout of output for a terminal, a file or a pipe. */
interface OutputOptions {
  /** Largest width of a table; null: unlimited, without cuts. */
  tableColumns: number | null;
  /** Column at which sentences wrap. */
  textColumns: number;
  hasColours: boolean;
  /** IANA zone of printed times; null: UTC, with a Z. */
  zone: string | null;
  /** Most rows of a list; null: the default of the list. */
  mostRows: number | null;
}

/** Longer lines are hard to read, even in a wider terminal. Project choice. */
const WIDEST_TEXT = 120;
/** Width of sentences in a pipe, and of texts with unknown destination. */
export const PLAIN_COLUMNS = 100;

const PLAIN: OutputOptions = {
  tableColumns: PLAIN_COLUMNS,
  textColumns: PLAIN_COLUMNS,
  hasColours: false,
  zone: null,
  mostRows: null,
};

const papers = new AsyncLocalStorage<{ options: OutputOptions; hasNamedZone: boolean }>();

/** Returns the present layout. */
export function outputOptions(): OutputOptions {
  return papers.getStore()?.options ?? PLAIN;
}

/** Runs work with a changed layout. Options not in `changed` remain. */
export function withOutputOptions<Result>(changed: Partial<OutputOptions>, work: () => Result): Result {
  return papers.run({ options: { ...outputOptions(), ...changed }, hasNamedZone: false }, work);
}

/**
 * Renders an answer in the zone of a clinic. If the text contains a time, the zone is printed once below the text.
 * @param zone null for clinics in several zones: UTC
 */
export function inZone(zone: string | null, render: () => string): string {
  return withOutputOptions({ zone }, () => {
    const text = render();
    return zone !== null && papers.getStore()?.hasNamedZone === true ? `${text}\n\nTimes: ${zone} (--utc: UTC)` : text;
  });
}

/** Returns the zone for a time, and records that the answer must print the zone. */
export function zoneOfTimes(): string | null {
  const store = papers.getStore();
  if (store !== undefined) store.hasNamedZone = true;
  return outputOptions().zone;
}

/** Stream properties that determine the layout. */
type OutputStream = Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'hasColors'>>;

/**
 * Returns the layout for a stream. A terminal has a width, and colours unless NO_COLOR or the terminal type forbids colours. A pipe has no
 * width limit.
 */
export function outputOptionsOf(stream: OutputStream): Partial<OutputOptions> {
  const { isTTY = false, columns = 0 } = stream;
  if (!isTTY) return { tableColumns: null };
  const tableColumns = columns > 0 ? columns : PLAIN_COLUMNS;
  return { tableColumns, textColumns: Math.min(tableColumns, WIDEST_TEXT), hasColours: stream.hasColors?.() === true };
}

/** Returns the first rows of a list. @param usual default number of rows */
export function firstRows<Row>(rows: readonly Row[], usual: number): { shown: readonly Row[]; more: string[] } {
  const shown = rows.slice(0, outputOptions().mostRows ?? usual);
  const hidden = rows.length - shown.length;
  return { shown, more: hidden > 0 ? [`… and ${hidden} more (--all)`] : [] };
}

/** Colours of {@link stateWord}. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with a control character
const COLOUR = /^\u001B\[[\d;]{1,9}m/;

/**
 * Returns a text as a terminal prints it: characters that control the terminal or disguise the text become the escapes of JSON, which mean
 * the same characters in JSON output. Colours remain.
 */
export function printed(text: string): string {
  return text.replace(DISGUISES, (character, at: number) =>
    COLOUR.test(text.slice(at, at + 12)) ? character : escapeOf(character),
  );
}

function escapeOf(character: string): string {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('');
}

/** State words by colour. */
const TONES = {
  green: ['in-sync', 'in sync', 'connected', 'static', 'ok'],
  yellow: ['behind', 'on hold', 'not checked', 'RETRYING', 'retrying', 'unconfirmed', 'unknown'],
  red: ['ACTION REQUIRED', 'action required', 'failed', 'FAULT', 'needs-login', 'no-tenant', 'PROBLEM'],
} as const;

/** Colours a state word if the output has colours. Other words remain unchanged. */
export function stateWord(word: string): string {
  if (!outputOptions().hasColours) return word;
  const [colour] =
    Object.entries(TONES).find(([, words]) => (words as readonly string[]).includes(word.trim().replace(/,.*/, ''))) ??
    [];
  // outputOptions() already checked the stream.
  return colour === undefined ? word : styleText(colour as keyof typeof TONES, word, { validateStream: false });
}

/** Output options of a command. */
export interface Asked {
  json?: boolean;
  /** Most rows of each list. JSON output is always complete. */
  limit?: number;
  all?: boolean;
}

/**
 * Prints an answer.
 * @param value content of the JSON output
 * @param render returns the text output
 * @param zone of times in the text; null or absent: UTC
 */
export type Print = (asked: Asked, value: object, render: () => string, zone?: string | null) => void;

/** Returns the print function of the CLI. @param isUtc whether the user requested UTC times */
export function printer(out: (text: string) => void, isUtc: () => boolean): Print {
  return ({ json = false, limit, all = false }, value, render, zone = null) => {
    if (json) return out(toJson(value));
    const mostRows = all || limit === 0 ? Number.POSITIVE_INFINITY : (limit ?? null);
    const text = withOutputOptions({ mostRows }, () => inZone(isUtc() ? null : zone, render));
    if (text !== '') out(text);
  };
}

/** Returns the zone of a clinic. Without a tenant, returns the zone shared by all clinics, or null. */
export function zoneOf({ outlines }: Pick<Installation, 'outlines'>, tenant?: string): string | null {
  if (tenant !== undefined) return outlines.get(tenant)?.zone ?? null;
  const zones = new Set([...outlines.values()].map(({ zone }) => zone));
  return zones.size === 1 ? ([...zones][0] ?? null) : null;
}

/** Adds options for the number of rows. */
export function paged(command: Command, about = 'maximum number of records per list'): Command {
  return command.option('--limit <count>', about, wholeNumber).option('--all', 'show full lists');
}

/** Parses a number argument. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('use a whole number');
}

/** Loads a package on first use, because most commands never show a progress bar. */
const load = createRequire(import.meta.url);

/** A terminal or a replacement in tests. */
export type Terminal = NodeJS.WritableStream & OutputStream;

/** Shows progress on standard error: a bar in a terminal, otherwise one line per step. */
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
