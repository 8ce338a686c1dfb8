import type { Language } from '../messages/message.ts';
import type { Instant } from '../model/time.ts';

/** The words of a view in every language: the same keys in each, which the compiler and a test compare. */
export type Texts<Words> = Readonly<Record<Language, Words>>;

/** How a text is marked: `quiet` is less important, `act` needs an operator, `wait` is retried, `hold` waits for a decision. */
type Tone = 'quiet' | 'strong' | 'act' | 'wait' | 'hold';

/** A part of a sentence. Each printer writes times, commands and links in its own way; null and false print nothing. */
export type Inline = string | number | null | false | Span | readonly Inline[];

export type Span =
  | { is: 'time'; at: Instant; hasAge: boolean }
  | { is: 'range'; startAt: Instant; endAt: Instant }
  | { is: 'code'; text: string }
  | { is: 'command'; text: string }
  | { is: 'link'; address: string; content: Inline }
  | { is: 'tone'; tone: Tone; content: Inline }
  | { is: 'lines'; lines: readonly Inline[]; folded: { id: string; summary: string } | null };

/** A row of a table. `address`: the page of the row's subject. `id`: identifies the row whatever its position. */
interface DocumentRow {
  cells: readonly Inline[];
  address?: string;
  id?: string;
}

/** A table. Columns of numbers are set to the right, and a column without any value is left out. */
export interface DocumentTable {
  is: 'table';
  caption: string;
  headings: readonly string[];
  rows: readonly DocumentRow[];
  /** Rows that each printer shows, unless the reader asks for more. */
  most: { page: number; terminal: number };
  /** What stands below when a page leaves rows out. */
  more: (rows: number) => Inline;
}

/** A step of a process: done, waiting, stopped, or with nothing to do. */
export interface DocumentStep {
  name: string;
  state: 'done' | 'waits' | 'stopped' | 'none';
  at: Instant | null;
  lines: readonly Inline[];
}

/** A part of a view. */
export type Block =
  | { is: 'paragraph'; content: Inline }
  | { is: 'empty'; text: string }
  | { is: 'facts'; facts: readonly (readonly [name: string, value: Inline])[] }
  | { is: 'section'; id: string; heading: string; sideText: string | null; blocks: readonly Block[] }
  | { is: 'steps'; label: string; steps: readonly DocumentStep[] }
  | DocumentTable;

/** A view under its title. */
export interface Document {
  title: string;
  blocks: readonly Block[];
}

/** A moment. */
export function time(at: Instant): Span;
export function time(at: Instant | null): Span | null;
export function time(at: Instant | null): Span | null {
  return at === null ? null : { is: 'time', at, hasAge: false };
}

/** A moment, on pages with how long ago it was. */
export function timeAndAge(at: Instant): Span {
  return { is: 'time', at, hasAge: true };
}

/** An id or a code. */
export function code(text: string): Span {
  return { is: 'code', text };
}

/** A command to be copied. */
export function command(text: string): Span {
  return { is: 'command', text };
}

/** A link; a terminal shows its content. */
export function link(address: string, content: Inline): Span {
  return { is: 'link', address, content };
}

/** A text with a mark. */
export function toned(tone: Tone, content: Inline): Span {
  return { is: 'tone', tone, content };
}

/** A paragraph. */
export function paragraph(...content: Inline[]): Block {
  return { is: 'paragraph', content };
}

/** Parts that are there, with a separator between them. */
export function joined(parts: readonly Inline[], separator: string): Inline {
  return parts
    .filter((part) => part !== null && part !== false)
    .flatMap((part, at) => (at === 0 ? [part] : [separator, part]));
}

/** URL of a clinic's page, or of one below it. @param path begins with `/` or `?` */
export function clinicAddress(tenant: string, path = ''): string {
  return `/tenants/${encodeURIComponent(tenant)}${path}`;
}

/** URL of the page that explains an appointment. */
export function explainAddress(tenant: string, appointment: string): string {
  return clinicAddress(tenant, `/explain?id=${encodeURIComponent(appointment)}`);
}

/** URL of the page of a hold. */
export function holdAddress(tenant: string, hold: string): string {
  return clinicAddress(tenant, `/holds/${encodeURIComponent(hold)}`);
}
