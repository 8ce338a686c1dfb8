import { Apart } from '../../http/apart.ts';
import { LARGE_XML_LENGTH } from './limits.ts';
import { child, childrenOf, DAV, parseXml, type XmlElement } from './xml.ts';

/** A response of a 207: hrefs as written, its own status, and the properties that were found. */
export interface ParsedResponse {
  hrefs: string[];
  status: number | null;
  found: XmlElement[];
}

/** Part of a 207. */
export interface ParsedPart {
  /** In the first part. */
  syncToken: string | null;
  responses: ParsedResponse[];
}

/** Responses of one part: those of a listing take a millisecond to take over. */
const RESPONSES_AT_ONCE = 256;
/** Elements of one part. */
const ELEMENTS_AT_ONCE = 2_000;

const threads = new Apart(new URL('./multistatus-entry.ts', import.meta.url));

/**
 * What a 207 tells, part by part. A large one is parsed in a thread, with limits of time and memory.
 * @param host that it came from
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 */
export async function* multistatusOf(body: string, host: string): AsyncGenerator<ParsedPart, void> {
  if (body.length <= LARGE_XML_LENGTH) yield* partsOf(body);
  else for await (const part of threads.ask(body, host)) yield JSON.parse(String(part)) as ParsedPart;
}

/** The work of the thread: parts as JSON, which the receiving thread reads several times as fast as it takes over objects. */
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
 * A response with a status may name several hrefs.
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

/** With the one attribute that anything is read from: others would be taken over for nothing. */
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
