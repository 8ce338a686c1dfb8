import { Apart } from '../../http/apart.ts';
import { answerTooLarge } from '../../http/transport.ts';
import { message } from '../../messages/message.ts';
import { errors } from './errors.ts';
import { DEEPEST_ELEMENT, LARGE_XML_LENGTH, MOST_ELEMENTS } from './limits.ts';

/** Element with a resolved namespace: `{DAV:}href`. `text` is the text directly in the element, including CDATA. */
export interface XmlElement {
  name: string;
  text: string;
  /** By name as written, including prefixes. */
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
}

export const DAV = '{DAV:}';
export const CALDAV = '{urn:ietf:params:xml:ns:caldav}';

/** Namespaces of each request body. */
export const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"';

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
  const tree = new TreeBuilder();
  let at = document.startsWith('\uFEFF') ? 1 : 0;
  while (at < document.length) {
    const next = document.indexOf('<', at);
    if (next !== at) tree.text(decodeEntities(withLineFeeds(document.slice(at, next < 0 ? undefined : next)), tree));
    if (next < 0) break;
    at = readMarkup(document, next, tree);
  }
  return tree.end();
}

/** @returns the end of the markup that starts at a `<` */
function readMarkup(document: string, at: number, tree: TreeBuilder): number {
  if (document.startsWith('<!--', at)) return after(document, '-->', at + 4);
  if (document.startsWith('<?', at)) return after(document, '?>', at + 2);
  if (document.startsWith('<![CDATA[', at)) {
    const end = after(document, ']]>', at + 9);
    tree.text(withLineFeeds(document.slice(at + 9, end - 3)));
    return end;
  }
  if (document.startsWith('</', at)) {
    const end = after(document, '>', at + 2);
    tree.endElement(document.slice(at + 2, end - 1).trimEnd());
    return end;
  }
  return readOpening(document, at + 1, tree);
}

function after(document: string, delimiter: string, from: number): number {
  const at = document.indexOf(delimiter, from);
  if (at < 0) throw errors.make('bad-xml');
  return at + delimiter.length;
}

/** A name ends at white space or at the end of its tag. DAV's names are plain, and parsed names are compared with DAV's names. */
const NAME = /[^\s<>/=!?"'&]+/y;
const ATTRIBUTE = /\s+([^\s<>/=!?"'&]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;
const TAG_END = /\s*(\/?)>/y;
/** Tag without attributes, the most frequent form. */
const BARE_TAG = /([^\s<>/=!?"'&]+)\s*(\/?)>/y;

function readOpening(document: string, from: number, tree: TreeBuilder): number {
  let at = from;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(document);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  const bare = take(BARE_TAG);
  const tag = bare?.[1] ?? take(NAME)?.[0];
  const attributes: [name: string, value: string][] = [];
  for (let found = bare === null ? take(ATTRIBUTE) : null; found !== null; found = take(ATTRIBUTE)) {
    tree.count();
    attributes.push([found[1] ?? '', decodeEntities(found[2] ?? found[3] ?? '', tree)]);
  }
  const end = bare?.[2] ?? take(TAG_END)?.[1];
  if (tag === undefined || end === undefined) throw errors.make('bad-xml');
  tree.beginElement(tag, attributes);
  if (end === '/') tree.endElement(tag);
  return at;
}

/** Prefixes that an element and its ancestors declare. */
interface Namespaces {
  declared: ReadonlyMap<string, string>;
  outer: Namespaces | null;
  /** Element names by tag: each name is stored once, however often it occurs. */
  names: Map<string, string>;
}

interface OpenElement {
  tag: string;
  namespaces: Namespaces | null;
  element: XmlElement;
}

const NO_ATTRIBUTES: XmlElement['attributes'] = {};
const NO_CHILDREN: XmlElement[] = [];
/** Longest namespace name, since each element's name contains its namespace. */
const LONGEST_NAMESPACE = 1_000;

/** Builds the element tree during parsing. */
class TreeBuilder {
  readonly #open: OpenElement[] = [];
  #root: XmlElement | null = null;
  #count = 0;

  /** @throws MirrorError `answer-too-large` above the limit of elements, attributes and references */
  count(): void {
    this.#count += 1;
    if (this.#count > MOST_ELEMENTS)
      throw answerTooLarge(message('caldav.too-many-elements', { count: MOST_ELEMENTS }));
  }

  beginElement(tag: string, attributes: readonly [name: string, value: string][]): void {
    this.count();
    const parent = this.#open.at(-1);
    if (this.#open.length >= DEEPEST_ELEMENT) throw answerTooLarge();
    if (parent === undefined && this.#root !== null) throw errors.make('bad-xml');
    const namespaces = withDeclared(attributes, parent?.namespaces ?? null);
    const element: XmlElement = {
      name: qualified(tag, namespaces),
      text: '',
      attributes: attributes.length === 0 ? NO_ATTRIBUTES : Object.fromEntries(attributes),
      children: NO_CHILDREN,
    };
    if (parent === undefined) this.#root = element;
    else if (parent.element.children === NO_CHILDREN) parent.element.children = [element];
    else parent.element.children.push(element);
    this.#open.push({ tag, namespaces, element });
  }

  text(text: string): void {
    const inner = this.#open.at(-1)?.element;
    if (inner !== undefined) inner.text += text;
    else if (text.trim() !== '') throw errors.make('bad-xml');
  }

  endElement(tag: string): void {
    if (this.#open.pop()?.tag !== tag) throw errors.make('bad-xml');
  }

  end(): XmlElement {
    if (this.#root === null || this.#open.length > 0) throw errors.make('bad-xml');
    return this.#root;
  }
}

function withDeclared(
  attributes: readonly [name: string, value: string][],
  outer: Namespaces | null,
): Namespaces | null {
  const declarations = attributes.filter(([name]) => /^xmlns(:|$)/.test(name));
  if (declarations.length === 0) return outer;
  if (declarations.some(([, uri]) => uri.length > LONGEST_NAMESPACE)) throw answerTooLarge();
  return { declared: new Map(declarations.map(([name, uri]) => [name.slice(6), uri])), outer, names: new Map() };
}

function qualified(tag: string, namespaces: Namespaces | null): string {
  const cached = namespaces?.names.get(tag);
  if (cached !== undefined) return cached;
  const name = nameOf(tag, namespaces);
  namespaces?.names.set(tag, name);
  return name;
}

function nameOf(tag: string, namespaces: Namespaces | null): string {
  const colon = tag.indexOf(':');
  const prefix = colon < 0 ? '' : tag.slice(0, colon);
  let around = namespaces;
  while (around !== null && !around.declared.has(prefix)) around = around.outer;
  return `{${around?.declared.get(prefix) ?? ''}}${tag.slice(colon + 1)}`;
}

/** Converts line ends to XML's form (section 2.11). */
function withLineFeeds(text: string): string {
  return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
}

const REFERENCE = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi;

/** Decodes XML's five entities and character references once. Each reference adds to the element limit. */
function decodeEntities(text: string, tree: TreeBuilder): string {
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) tree.count();
  if (!text.includes('&')) return text;
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
  /** Present in the first part. */
  syncToken: string | null;
  responses: ParsedResponse[];
}

/** Responses per part: processing a part of a list takes about a millisecond. */
const RESPONSES_AT_ONCE = 256;
/** Elements per part. */
const ELEMENTS_AT_ONCE = 2_000;

const threads = new Apart(new URL('./multistatus-entry.ts', import.meta.url));

/**
 * Parses a 207 in parts. Large responses are parsed in a thread with limits on time and memory.
 * @param host source of the response
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 */
export async function* multistatusOf(body: string, host: string): AsyncGenerator<ParsedPart, void> {
  if (body.length <= LARGE_XML_LENGTH) yield* partsOf(body);
  else for await (const part of threads.ask(body, host)) yield JSON.parse(String(part)) as ParsedPart;
}

/** Runs in the thread. Parts are sent as JSON, which the receiving thread parses several times faster than it copies objects. */
export function* partsInThread(body: string): Generator<string, void> {
  for (const part of partsOf(body)) yield JSON.stringify(part);
}

function* partsOf(body: string): Generator<ParsedPart, void> {
  const root = parseXml(body);
  let part: ParsedPart = { syncToken: child(root, `${DAV}sync-token`)?.text.trim() || null, responses: [] };
  let elements = 0;
  for (const response of childrenOf(root, `${DAV}response`)) {
    const parsed = parseResponse(response);
    part.responses.push(parsed);
    elements += parsed.hrefs.length + parsed.found.reduce((sum, property) => sum + sizeOf(property), 0);
    if (part.responses.length < RESPONSES_AT_ONCE && elements < ELEMENTS_AT_ONCE) continue;
    yield part;
    part = { syncToken: null, responses: [] };
    elements = 0;
  }
  yield part;
}

/**
 * A response with a status may contain several hrefs.
 * @see RFC 4918 section 14.24
 */
function parseResponse(response: XmlElement): ParsedResponse {
  const found = new Map<string, XmlElement>();
  for (const propstat of childrenOf(response, `${DAV}propstat`)) {
    if (statusOf(propstat) !== 200) continue;
    for (const property of child(propstat, `${DAV}prop`)?.children ?? []) found.set(property.name, trimmed(property));
  }
  return {
    hrefs: childrenOf(response, `${DAV}href`).map(({ text }) => text),
    status: statusOf(response),
    found: [...found.values()],
  };
}

/** Keeps only the attribute in use; transfer of other attributes would be wasted work. */
function trimmed({ name, text, attributes, children }: XmlElement): XmlElement {
  const retained: XmlElement['attributes'] = attributes.name === undefined ? {} : { name: attributes.name };
  return { name, text, attributes: retained, children: children.map(trimmed) };
}

function sizeOf({ children }: XmlElement): number {
  return children.reduce((sum, inner) => sum + sizeOf(inner), 1);
}

function statusOf(element: XmlElement): number | null {
  const match = /^\s*HTTP\/[\d.]+\s+(\d{3})/.exec(child(element, `${DAV}status`)?.text ?? '');
  return match === null ? null : Number(match[1]);
}
