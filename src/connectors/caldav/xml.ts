import { StringDecoder } from 'node:string_decoder';
import { answerTooLarge } from '../../http/transport.ts';
import { message } from '../../messages/message.ts';
import type { MirrorError } from '../../model/errors.ts';
import { atOnce, type Pieces } from '../../model/pieces.ts';
import { MOST_CHARACTERS } from '../icalendar.ts';
import { errors } from './errors.ts';
import {
  DECODED_AT_ONCE,
  DEEPEST_ELEMENT,
  ELEMENTS_AT_ONCE,
  LONGEST_PIECE,
  LONGEST_TAG,
  LOOKED_AHEAD,
  MOST_ELEMENTS,
  WORK_PER_CHARACTER,
} from './limits.ts';
import { CALDAV, DAV, NAMES, NO_NAMESPACE } from './xml-names.ts';

/**
 * Element with a resolved namespace: `{DAV:}href`. Only the names and namespaces in {@link NAMES} leave the parser; of any other name its
 * namespace is left, or `{}`. No name is therefore as long as a server wants.
 */
export interface XmlElement {
  name: string;
  /** Text directly in the element, including CDATA. */
  text: string;
  /** The only attribute in use. */
  attributes: { readonly name?: string };
  /** Children of an element with another name are left out. */
  children: XmlElement[];
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * Parses a document in one pass and checks only its form. A document type declaration is refused: DAV has none, and declared entities could
 * read files. Input that exceeds any plausible DAV response is refused before it uses memory.
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 */
export function parseXml(document: string): XmlElement {
  const tree = new TreeBuilder(document.length, null);
  atOnce(readInto(tree, [document]));
  return tree.end();
}

/** Body of a response, as received. */
export type Body = readonly Uint8Array[];

export function bytesIn(body: Body): number {
  return body.reduce((bytes, part) => bytes + part.length, 0);
}

/** Decodes a body in parts, since it takes a tenth of a second to join or decode 24 MiB. */
export function* decoded(body: Body): Generator<string, void> {
  const decoder = new StringDecoder();
  for (const part of body) {
    for (let at = 0; at < part.length; at += DECODED_AT_ONCE)
      yield decoder.write(part.subarray(at, at + DECODED_AT_ONCE));
  }
  yield decoder.end();
}

/** Only a section of the document is in memory as text, which continues behind the longest tag or piece. */
function* readInto(tree: TreeBuilder, document: Iterable<string>): Pieces<void> {
  const parts = document[Symbol.iterator]();
  let [section, at, isStart, isWhole, isInCdata] = ['', 0, true, false, false];
  for (;;) {
    if (tree.isDue()) yield;
    if (!isWhole && section.length - at < LOOKED_AHEAD) {
      const { value = '', done = false } = parts.next();
      [section, at, isWhole] = [section.slice(at) + value, 0, done];
      if (isStart && section.startsWith('\uFEFF')) at = 1;
      isStart &&= section === '';
      continue;
    }
    if (at >= section.length) break;
    const end = pieceEnd(section, at, isInCdata ? ']]>' : '<');
    if (end > at) {
      const piece = withLineFeeds(section.slice(at, end));
      tree.text(isInCdata ? piece : decodeEntities(piece, tree));
      at = end;
    } else if (isInCdata) [at, isInCdata] = [at + 3, false];
    else if (section.startsWith('<![CDATA[', at)) {
      tree.count();
      [at, isInCdata] = [at + 9, true];
    } else {
      at = readMarkup(section, at, tree);
      tree.addWork(at - end);
    }
  }
  if (isInCdata) throw errors.make('bad-xml');
}

/** Returns the end of a piece of text, which splits no reference and no line end. */
function pieceEnd(section: string, at: number, delimiter: string): number {
  const longest = at + LONGEST_PIECE;
  const end = section.slice(at, longest + delimiter.length).indexOf(delimiter);
  if (end >= 0) return at + end;
  if (section.length <= longest) return section.length;
  const reference = section.slice(longest - LONGEST_REFERENCE, longest).lastIndexOf('&');
  if (reference >= 0) return longest - LONGEST_REFERENCE + reference;
  return section[longest - 1] === '\r' ? longest - 1 : longest;
}

/** @returns the end of the markup that starts at a `<`, except CDATA */
function readMarkup(document: string, at: number, tree: TreeBuilder): number {
  if (document.startsWith('</', at)) {
    const end = after(document, '>', at + 2);
    tree.endElement(document.slice(at + 2, end - 1).trimEnd());
    return end;
  }
  tree.count();
  if (document.startsWith('<!--', at)) return after(document, '-->', at + 4);
  if (document.startsWith('<?', at)) return after(document, '?>', at + 2);
  return readOpening(document, at + 1, tree);
}

function after(document: string, delimiter: string, from: number): number {
  const at = document.slice(from, from + LONGEST_TAG).indexOf(delimiter);
  if (at < 0) throw unended(document, from);
  return from + at + delimiter.length;
}

function unended(document: string, from: number): MirrorError {
  return document.length > from + LONGEST_TAG ? answerTooLarge() : errors.make('bad-xml');
}

/** A name ends at white space or at the end of its tag. DAV's names are plain, and parsed names are compared with DAV's names. */
const NAME = /[^\s<>/=!?"'&]+/y;
const ATTRIBUTE = /\s+([^\s<>/=!?"'&]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;
const TAG_END = /\s*(\/?)>/y;
/** Tag without attributes, the most frequent form. */
const BARE_TAG = /([^\s<>/=!?"'&]+)\s*(\/?)>/y;

function readOpening(document: string, from: number, tree: TreeBuilder): number {
  const part = document.slice(from, from + LONGEST_TAG);
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(part);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  const bare = take(BARE_TAG);
  const tag = bare?.[1] ?? take(NAME)?.[0];
  let declared: Map<string, string> | null = null;
  let attributes: XmlElement['attributes'] = NO_ATTRIBUTES;
  for (let found = bare === null ? take(ATTRIBUTE) : null; found !== null; found = take(ATTRIBUTE)) {
    tree.count();
    const [, name = '', quoted, value = quoted ?? ''] = found;
    if (name === 'name') attributes = { name: decodeEntities(value, tree) };
    else if (/^xmlns(:|$)/.test(name)) {
      const namespace = `{${decodeEntities(value, tree)}}`;
      declared ??= new Map();
      declared.set(name.slice(6), NAMES.has(namespace) ? namespace : NO_NAMESPACE);
    } else countReferences(value, tree);
  }
  const end = bare?.[2] ?? take(TAG_END)?.[1];
  if (tag === undefined || end === undefined)
    throw part.includes('>') ? errors.make('bad-xml') : unended(document, from);
  tree.beginElement(tag, declared, attributes);
  if (end === '/') tree.endElement(tag);
  return from + at;
}

/** Prefixes that an element and its ancestors declare. */
interface Namespaces {
  declared: ReadonlyMap<string, string>;
  outer: Namespaces | null;
  /** Names in use by tag. */
  names: Map<string, string>;
}

interface OpenElement {
  tag: string;
  namespaces: Namespaces | null;
  /** Null in an element with another name. */
  element: XmlElement | null;
}

const NO_ATTRIBUTES: XmlElement['attributes'] = {};
const NO_CHILDREN: XmlElement[] = [];
/** The element for all others of a namespace. */
const OTHERS: ReadonlyMap<string, XmlElement> = new Map(
  [...NAMES.keys()].map((name) => [name, { name, text: '', attributes: NO_ATTRIBUTES, children: NO_CHILDREN }]),
);

/** Builds the element tree during parsing. */
class TreeBuilder {
  readonly #open: OpenElement[] = [];
  readonly #length: number;
  /** Receives the responses of a 207, which then do not stay in the tree. */
  readonly #responses: ParsedResponse[] | null;
  #root: XmlElement | null = null;
  #count = 0;
  #work = 0;

  /** @param length characters of the document, or of a section that a text would keep in memory */
  constructor(length: number, responses: ParsedResponse[] | null) {
    this.#length = length;
    this.#responses = responses;
  }

  /** @throws MirrorError `answer-too-large` above the limit of elements, attributes and references */
  count(): void {
    this.#count += 1;
    this.#work += 1;
    if (this.#count > MOST_ELEMENTS)
      throw answerTooLarge(message('caldav.too-many-elements', { count: MOST_ELEMENTS }));
  }

  /** Adds the work of reading text. */
  addWork(characters: number): void {
    this.#work += characters * WORK_PER_CHARACTER;
  }

  /** Returns whether a piece of work is done, and starts the next. */
  isDue(): boolean {
    if (this.#work < ELEMENTS_AT_ONCE) return false;
    this.#work = 0;
    return true;
  }

  beginElement(tag: string, declared: ReadonlyMap<string, string> | null, attributes: XmlElement['attributes']): void {
    const parent = this.#open.at(-1);
    if (this.#open.length >= DEEPEST_ELEMENT) throw answerTooLarge();
    if (parent === undefined && this.#root !== null) throw errors.make('bad-xml');
    const outer = parent?.namespaces ?? null;
    const namespaces = declared === null ? outer : { declared, outer, names: new Map<string, string>() };
    this.#open.push({ tag, namespaces, element: this.#elementOf(parent, tag, namespaces, attributes) });
  }

  #elementOf(
    parent: OpenElement | undefined,
    tag: string,
    namespaces: Namespaces | null,
    attributes: XmlElement['attributes'],
  ): XmlElement | null {
    if (parent?.element === null) return null;
    const name = qualified(tag, namespaces);
    const other = OTHERS.get(name);
    if (other !== undefined) append(parent?.element, other);
    // The children of a root with any name are read.
    if (other !== undefined && parent !== undefined) return null;
    const element: XmlElement = { name, text: '', attributes, children: NO_CHILDREN };
    this.#root ??= element;
    return element;
  }

  text(text: string): void {
    this.addWork(text.length);
    const inner = this.#open.at(-1);
    if (inner === undefined && text.trim() !== '') throw errors.make('bad-xml');
    if (inner?.element != null && inner.element.text.length <= longestText(inner.element)) inner.element.text += text;
  }

  endElement(tag: string): void {
    const ended = this.#open.pop();
    if (ended?.tag !== tag) throw errors.make('bad-xml');
    const { element } = ended;
    if (element === null) return;
    element.text = withoutSection(element.text, this.#length);
    const isResponse = this.#open.length === 1 && element.name === `${DAV}response`;
    if (isResponse && this.#responses !== null) this.#responses.push(parseResponse(element));
    else append(this.#open.at(-1)?.element, element);
  }

  end(): XmlElement {
    if (this.#root === null || this.#open.length > 0) throw errors.make('bad-xml');
    return this.#root;
  }
}

/** Above this length the rest of a text is left out, since no user of the text accepts its length. */
function longestText({ name }: XmlElement): number {
  return name === `${CALDAV}calendar-data` ? MOST_CHARACTERS : LONGEST_PIECE;
}

function append(parent: XmlElement | null | undefined, element: XmlElement): void {
  if (parent == null) return;
  if (parent.children === NO_CHILDREN) parent.children = [element];
  else parent.children.push(element);
}

/** Longest text that V8 copies out of a document; a longer part of a text keeps the whole text in memory. */
const LONGEST_COPY = 12;

/** Copies a short text of a long section, so that a stored ETag does not keep the section in memory. */
function withoutSection(text: string, length: number): string {
  const isShare = text.length <= LONGEST_COPY || length <= LONGEST_PIECE || text.length * 4 > length;
  return isShare ? text : Buffer.from(text, 'utf16le').toString('utf16le');
}

function qualified(tag: string, namespaces: Namespaces | null): string {
  const cached = namespaces?.names.get(tag);
  if (cached !== undefined) return cached;
  const colon = tag.indexOf(':');
  const prefix = colon < 0 ? '' : tag.slice(0, colon);
  let around = namespaces;
  while (around !== null && !around.declared.has(prefix)) around = around.outer;
  const namespace = around?.declared.get(prefix) ?? NO_NAMESPACE;
  const name = NAMES.get(namespace)?.get(tag.slice(colon + 1));
  if (name !== undefined) namespaces?.names.set(tag, name);
  return name ?? namespace;
}

/** Converts line ends to XML's form (section 2.11). `replaceAll` would keep 32 bytes for each line end until the text is read. */
function withLineFeeds(text: string): string {
  return text.includes('\r') ? text.split('\r\n').join('\n').split('\r').join('\n') : text;
}

const REFERENCE = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi;
/** Length of `&#1114111;`. */
const LONGEST_REFERENCE = 10;

/** Each reference adds to the element limit. */
function countReferences(text: string, tree: TreeBuilder): void {
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) tree.count();
}

/** Decodes XML's five entities and character references once. */
function decodeEntities(text: string, tree: TreeBuilder): string {
  if (!text.includes('&')) return text;
  countReferences(text, tree);
  return text.replaceAll(REFERENCE, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES.get(name) ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0x10ffff ? whole : String.fromCodePoint(code);
  });
}

/** Escapes text for an element or a quoted attribute. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Returns the first child with this name. */
export function child(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((candidate) => candidate.name === name);
}

/** Returns all children with this name. */
export function childrenOf(element: XmlElement | undefined, name: string): XmlElement[] {
  return element?.children.filter((candidate) => candidate.name === name) ?? [];
}

/** Response within a 207: hrefs as written, the response's status, and the found properties. */
interface ParsedResponse {
  hrefs: string[];
  status: number | null;
  found: XmlElement[];
}

interface ParsedPart {
  /** Present in the last part. */
  syncToken: string | null;
  responses: ParsedResponse[];
}

/**
 * Parses a 207 in parts, of which each takes about a millisecond. A part is not kept.
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 */
export function* multistatusOf(body: Body): Generator<ParsedPart, void> {
  const responses: ParsedResponse[] = [];
  const tree = new TreeBuilder(Math.min(bytesIn(body), DECODED_AT_ONCE), responses);
  for (const _ of readInto(tree, decoded(body))) yield { syncToken: null, responses: responses.splice(0) };
  yield { syncToken: child(tree.end(), `${DAV}sync-token`)?.text.trim() || null, responses };
}

/**
 * A response with a status may contain several hrefs.
 * @see RFC 4918 section 14.24
 */
function parseResponse(response: XmlElement): ParsedResponse {
  const found = new Map<string, XmlElement>();
  for (const propstat of childrenOf(response, `${DAV}propstat`)) {
    if (statusOf(propstat) !== 200) continue;
    for (const property of child(propstat, `${DAV}prop`)?.children ?? []) found.set(property.name, property);
  }
  return {
    hrefs: childrenOf(response, `${DAV}href`).map(({ text }) => text),
    status: statusOf(response),
    found: [...found.values()],
  };
}

/** Characters of a status line that are read. */
const LONGEST_STATUS = 200;
function statusOf(element: XmlElement): number | null {
  const line = child(element, `${DAV}status`)?.text.slice(0, LONGEST_STATUS) ?? '';
  return Number(/^\s*HTTP\/[\d.]+\s+(\d{3})/.exec(line)?.[1] ?? Number.NaN) || null;
}
