import { pathSegment } from '../../core/model/path-segment.ts';
import type { Instant } from '../../core/model/time.ts';
import type { Language } from '../../messages/message.ts';

/** Words of a view in every language. The compiler and a test compare the keys of the languages. */
export type Texts<Words> = Readonly<Record<Language, Words>>;

/** Style of a text: `quiet` is less important, `act` requires an operator, `wait` is retried, `hold` waits for a decision. */
type Tone = 'quiet' | 'strong' | 'act' | 'wait' | 'hold';

/** A part of a sentence. Each printer formats times, commands and links. Null and false print nothing. */
export type Inline = string | number | null | false | Span | readonly Inline[];

export type Span =
  | { is: 'time'; at: Instant; hasAge: boolean }
  | { is: 'range'; startAt: Instant; endAt: Instant }
  | { is: 'code'; text: string }
  | { is: 'command'; text: string }
  | { is: 'link'; address: string; content: Inline }
  | { is: 'tone'; tone: Tone; content: Inline }
  | { is: 'lines'; lines: readonly Inline[]; folded: { id: string; summary: string } | null };

/**
 * A row of a table. `address`: page of the row's subject. `id`: identifies the row in any position. `group`: a page folds the rows of a
 * long table by group.
 */
interface DocumentRow {
  cells: readonly Inline[];
  address?: string;
  id?: string;
  group?: string;
}

/** A table. Number columns are right-aligned, and empty columns are omitted. */
export interface DocumentTable {
  is: 'table';
  caption: string;
  headings: readonly string[];
  rows: readonly DocumentRow[];
  /** Default number of rows of each printer. */
  most: { page: number; terminal: number };
  /** Text below the table if a page omits rows. */
  more: (rows: number) => Inline;
}

/** A step of a process: done, waiting, stopped, or not required. */
export interface DocumentStep {
  name: string;
  state: 'done' | 'waits' | 'stopped' | 'none';
  at: Instant | null;
  lines: readonly Inline[];
}

/** A part of a view with a heading. `folded`: a page folds the section and shows this text next to its heading. */
interface DocumentSection {
  is: 'section';
  id: string;
  heading: string;
  sideText: string | null;
  folded?: string;
  blocks: readonly Block[];
}

/** A part of a view. */
export type Block =
  | { is: 'paragraph'; content: Inline }
  | { is: 'empty'; text: string }
  | { is: 'facts'; facts: readonly (readonly [name: string, value: Inline])[] }
  | DocumentSection
  | { is: 'steps'; label: string; steps: readonly DocumentStep[] }
  | DocumentTable;

/** A view with a title. */
export interface Document {
  title: string;
  blocks: readonly Block[];
}

/** Formats an instant. */
export function time(at: Instant): Span;
export function time(at: Instant | null): Span | null;
export function time(at: Instant | null): Span | null {
  return at === null ? null : { is: 'time', at, hasAge: false };
}

/** Formats an instant; pages add the age. */
export function timeAndAge(at: Instant): Span {
  return { is: 'time', at, hasAge: true };
}

/** Formats an id or a code. */
export function code(text: string): Span {
  return { is: 'code', text };
}

/** Formats a command that the reader can copy. */
export function command(text: string): Span {
  return { is: 'command', text };
}

/** Formats a link; a terminal prints only the content. */
export function link(address: string, content: Inline): Span {
  return { is: 'link', address, content };
}

/** Formats a text with a tone. */
export function toned(tone: Tone, content: Inline): Span {
  return { is: 'tone', tone, content };
}

/** Makes a paragraph. */
export function paragraph(...content: Inline[]): Block {
  return { is: 'paragraph', content };
}

/** Joins the non-empty parts with a separator. */
export function joined(parts: readonly Inline[], separator: string): Inline {
  return parts
    .filter((part) => part !== null && part !== false)
    .flatMap((part, at) => (at === 0 ? [part] : [separator, part]));
}

/** Returns the URL path of a clinic's page or subpage. @param path begins with `/` or `?` */
export function clinicAddress(tenant: string, path = ''): string {
  return `/tenants/${pathSegment(tenant)}${path}`;
}

/** Returns the URL path of the page that explains an appointment. */
export function explainAddress(tenant: string, appointment: string): string {
  return clinicAddress(tenant, `/explain?id=${encodeURIComponent(appointment)}`);
}

/** Returns the URL path of a hold's page. */
export function holdAddress(tenant: string, hold: string): string {
  return clinicAddress(tenant, `/holds/${pathSegment(hold)}`);
}
