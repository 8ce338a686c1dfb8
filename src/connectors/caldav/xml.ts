import { XMLParser } from 'fast-xml-parser';
import { errors } from './errors.ts';

/** An element with its namespace resolved: `{DAV:}href`. `text` is all text directly in it, CDATA included. */
export interface XmlElement {
  name: string;
  text: string;
  /** By name as written, prefixes included. */
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
}

export const DAV = '{DAV:}';
export const CALDAV = '{urn:ietf:params:xml:ns:caldav}';

/** Namespaces of every request body. */
export const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"';

/** Entities are decoded here and not by the parser: the five of XML and character references, nothing declared. */
const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  cdataPropName: '#cdata',
});

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads a document. A document type declaration is refused: DAV has none, and entities declared in one could reach files.
 * @throws MirrorError `contract`, code `bad-xml`
 */
export function parseXml(document: string): XmlElement {
  if (/<!DOCTYPE/i.test(document)) throw errors.make('bad-xml');
  let nodes: unknown;
  try {
    nodes = parser.parse(document.replace(/^\uFEFF/, ''), true);
  } catch (error) {
    throw errors.make('bad-xml', { cause: error });
  }
  const [root] = elementsOf(nodes, new Map());
  if (root === undefined) throw errors.make('bad-xml');
  return root;
}

type Namespaces = ReadonlyMap<string, string>;

/** The parser's ordered form: each node is an object of one tag with its children, and `:@` with the attributes. */
function elementsOf(nodes: unknown, outer: Namespaces): XmlElement[] {
  const elements: XmlElement[] = [];
  for (const [tag, children, attributes] of nodesOf(nodes)) {
    if (tag.startsWith('#')) continue;
    const namespaces = declared(attributes, outer);
    elements.push({
      name: qualified(tag, namespaces),
      text: textOf(children),
      attributes: plainAttributes(attributes),
      children: elementsOf(children, namespaces),
    });
  }
  return elements;
}

function textOf(nodes: unknown): string {
  let text = '';
  for (const [tag, content] of nodesOf(nodes)) {
    if (tag === '#text') text += decodeEntities(String(content));
    if (tag === '#cdata') for (const [, raw] of nodesOf(content)) text += String(raw);
  }
  return text;
}

function* nodesOf(nodes: unknown): Generator<[tag: string, content: unknown, attributes: unknown]> {
  if (!Array.isArray(nodes)) return;
  for (const node of nodes as Record<string, unknown>[]) {
    const tag = Object.keys(node).find((key) => key !== ':@');
    if (tag !== undefined) yield [tag, node[tag], node[':@']];
  }
}

function plainAttributes(attributes: unknown): Record<string, string> {
  const entries = Object.entries(attributes ?? {});
  return Object.fromEntries(entries.map(([name, value]) => [name, decodeEntities(String(value))]));
}

function declared(attributes: unknown, outer: Namespaces): Namespaces {
  const declarations = Object.entries(plainAttributes(attributes)).filter(([name]) => /^xmlns(:|$)/.test(name));
  if (declarations.length === 0) return outer;
  return new Map([...outer, ...declarations.map(([name, uri]) => [name.slice(6), uri] as const)]);
}

function qualified(tag: string, namespaces: Namespaces): string {
  const colon = tag.indexOf(':');
  const prefix = colon < 0 ? '' : tag.slice(0, colon);
  return `{${namespaces.get(prefix) ?? ''}}${tag.slice(colon + 1)}`;
}

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0x10ffff ? whole : String.fromCodePoint(code);
  });
}

/** Text for use within an element or a quoted attribute. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The first child of that name. */
export function child(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((candidate) => candidate.name === name);
}

/** All children of that name. */
export function childrenOf(element: XmlElement | undefined, name: string): XmlElement[] {
  return element?.children.filter((candidate) => candidate.name === name) ?? [];
}
