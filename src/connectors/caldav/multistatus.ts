import { type Body, child, childrenInParts, childrenOf, type XmlElement } from '../xml.ts';
import { DAV, VOCABULARY } from './xml-names.ts';

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
  for (const { elements, root } of childrenInParts(body, `${DAV}response`, VOCABULARY)) {
    const syncToken = child(root ?? undefined, `${DAV}sync-token`)?.text.trim() || null;
    yield { syncToken, responses: elements.map(parseResponse) };
  }
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
