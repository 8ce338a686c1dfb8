import { StringDecoder } from 'node:string_decoder';
import { answerTooLarge } from '../core/http/transport.ts';
import type { MirrorError } from '../core/model/errors.ts';
import { atOnce, type Pieces } from '../core/model/pieces.ts';
import { message } from '../messages/message.ts';
import { shared } from './errors.ts';

/**
 * Elements, attributes and references (`&amp;`) in one response: a list of CalDAV has eight elements per event, and each calendar object of
 * a multiget has a few references.
 */
export const MOST_ELEMENTS = 500_000;
/** Depth of nested elements: DAV uses about twelve levels. */
export const DEEPEST_ELEMENT = 64;
/** Longest tag with its attributes: servers declare a few namespaces. */
export const LONGEST_TAG = 16 * 1_024;
/** Characters of text that are decoded without a break. */
export const LONGEST_PIECE = 32 * 1_024;
/** Bytes that are decoded without a break, which takes about a millisecond. */
export const DECODED_AT_ONCE = 256 * 1_024;
/** Elements, attributes and references that are parsed without a break, which takes about a millisecond. */
export const ELEMENTS_AT_ONCE = 2_000;
/** Characters of a document that are in memory behind the parser's position: more than the longest tag, and than a piece. */
const LOOKED_AHEAD = LONGEST_TAG + LONGEST_PIECE;
/** Work for a character of text, in elements. */
const WORK_PER_CHARACTER = ELEMENTS_AT_ONCE / LONGEST_PIECE;

/** Any other namespace. */
const NO_NAMESPACE = '{}';

/** The names that a reader compares. Only these leave the parser, so that no name is as long as a server wants. */
export interface XmlVocabulary {
  /** Full names by namespace and local name. */
  readonly names: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The element for all others of a namespace. */
  readonly others: ReadonlyMap<string, XmlElement>;
  /** Characters of text that an element may have, by name, if more than {@link LONGEST_PIECE}. The rest is left out. */
  readonly longTexts: ReadonlyMap<string, number>;
}

/** @param namespaces in braces, as in `{DAV:}` */
export function vocabularyOf(
  namespaces: readonly string[],
  localNames: readonly string[],
  longTexts: XmlVocabulary['longTexts'] = new Map(),
): XmlVocabulary {
  const all = [...namespaces, NO_NAMESPACE];
  return {
    names: new Map(all.map((space) => [space, new Map(localNames.map((local) => [local, `${space}${local}`]))])),
    others: new Map(all.map((name) => [name, { name, text: '', attributes: NO_ATTRIBUTES, children: NO_CHILDREN }])),
    longTexts,
  };
}

/**
 * Element with a resolved namespace: `{DAV:}href`. Of a name outside the vocabulary its namespace is left, or `{}`.
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

const NO_ATTRIBUTES: XmlElement['attributes'] = {};
const NO_CHILDREN: XmlElement[] = [];

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * Parses a document in one pass and checks only its form. A document type declaration is refused: no API has one, and declared entities could
 * read files. Input that exceeds any plausible response is refused before it uses memory.
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 */
export function parseXml(document: string, vocabulary: XmlVocabulary): XmlElement {
  const tree = new TreeBuilder(vocabulary, document.length, null);
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
  if (isInCdata) throw shared.make('bad-xml');
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
  return document.length > from + LONGEST_TAG ? answerTooLarge() : shared.make('bad-xml');
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
      declared.set(name.slice(6), tree.vocabulary.names.has(namespace) ? namespace : NO_NAMESPACE);
    } else countReferences(value, tree);
  }
  const end = bare?.[2] ?? take(TAG_END)?.[1];
  if (tag === undefined || end === undefined)
    throw part.includes('>') ? shared.make('bad-xml') : unended(document, from);
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

/** Builds the element tree during parsing. */
class TreeBuilder {
  readonly #open: OpenElement[] = [];
  readonly vocabulary: XmlVocabulary;
  readonly #length: number;
  readonly #taken: TakenElements | null;
  #root: XmlElement | null = null;
  #count = 0;
  #work = 0;

  /** @param length characters of the document, or of a section that a text would keep in memory */
  constructor(vocabulary: XmlVocabulary, length: number, taken: TakenElements | null) {
    this.vocabulary = vocabulary;
    this.#length = length;
    this.#taken = taken;
  }

  /** @throws MirrorError `answer-too-large` above the limit of elements, attributes and references */
  count(): void {
    this.#count += 1;
    this.#work += 1;
    if (this.#count > MOST_ELEMENTS)
      throw answerTooLarge(message('vendor.too-many-elements', { count: MOST_ELEMENTS }));
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
    if (parent === undefined && this.#root !== null) throw shared.make('bad-xml');
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
    const name = qualified(tag, namespaces, this.vocabulary);
    const other = this.vocabulary.others.get(name);
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
    if (inner === undefined && text.trim() !== '') throw shared.make('bad-xml');
    if (inner?.element == null) return;
    const longest = this.vocabulary.longTexts.get(inner.element.name) ?? LONGEST_PIECE;
    if (inner.element.text.length <= longest) inner.element.text += text;
  }

  endElement(tag: string): void {
    const ended = this.#open.pop();
    if (ended?.tag !== tag) throw shared.make('bad-xml');
    const { element } = ended;
    if (element === null) return;
    element.text = withoutSection(element.text, this.#length);
    if (this.#open.length === 1 && element.name === this.#taken?.name) this.#taken.elements.push(element);
    else append(this.#open.at(-1)?.element, element);
  }

  end(): XmlElement {
    if (this.#root === null || this.#open.length > 0) throw shared.make('bad-xml');
    return this.#root;
  }
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

function qualified(tag: string, namespaces: Namespaces | null, { names }: XmlVocabulary): string {
  const cached = namespaces?.names.get(tag);
  if (cached !== undefined) return cached;
  const colon = tag.indexOf(':');
  const prefix = colon < 0 ? '' : tag.slice(0, colon);
  let around = namespaces;
  while (around !== null && !around.declared.has(prefix)) around = around.outer;
  const namespace = around?.declared.get(prefix) ?? NO_NAMESPACE;
  const name = names.get(namespace)?.get(tag.slice(colon + 1));
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

/** Children of the root that do not stay in its tree. */
interface TakenElements {
  name: string;
  elements: XmlElement[];
}

/** Part of a document: the next of the wanted children, and the root with its other children in the last part. */
export interface XmlPart {
  elements: XmlElement[];
  root: XmlElement | null;
}

/**
 * Parses a body in parts, of which each takes about a millisecond, and hands out the children of the root with a name. A part is not kept.
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 */
export function* childrenInParts(body: Body, name: string, vocabulary: XmlVocabulary): Generator<XmlPart, void> {
  const taken: TakenElements = { name, elements: [] };
  const tree = new TreeBuilder(vocabulary, Math.min(bytesIn(body), DECODED_AT_ONCE), taken);
  for (const _ of readInto(tree, decoded(body))) yield { elements: taken.elements.splice(0), root: null };
  yield { elements: taken.elements, root: tree.end() };
}
