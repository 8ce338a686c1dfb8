import { XMLParser } from 'fast-xml-parser';

/** An element by its local name; the two namespaces in use have no name in common. */
export interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
  text: string;
  children: Element[];
}

const parser = new XMLParser({
  preserveOrder: true,
  removeNSPrefix: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  ignoreDeclaration: true,
  htmlEntities: true,
});

/** The root element of a document; undefined when it is none. */
export function readXml(document: string): Element | undefined {
  try {
    return toElements(parser.parse(document, true))[0];
  } catch {
    return undefined;
  }
}

function toElements(nodes: unknown): Element[] {
  if (!Array.isArray(nodes)) return [];
  return (nodes as Record<string, unknown>[]).flatMap((node) => {
    const name = Object.keys(node).find((key) => key !== ':@' && key !== '#text');
    if (name === undefined) return [];
    const content = node[name];
    const texts = Array.isArray(content) ? content.map((one: Record<string, unknown>) => one['#text'] ?? '') : [];
    const attributes = (node[':@'] ?? {}) as Record<string, string>;
    return [{ name, attributes, text: texts.join('').trim(), children: toElements(content) }];
  });
}

/** The first child of that name. */
export function child(element: Element | undefined, name: string): Element | undefined {
  return element?.children.find((one) => one.name === name);
}

/** All children of that name. */
export function childrenOf(element: Element | undefined, name: string): Element[] {
  return element?.children.filter((one) => one.name === name) ?? [];
}

/** Text for use within an element. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
