import { z } from 'zod';
import { type PresetName, withTheirs } from '../event-content.ts';
import type { ObjectContent } from './from-model.ts';

/** What users added to an object: text of the description, lines of iCalendar, and names of presets that they changed. */
const additionsSchema = z.strictObject({ description: z.string(), lines: z.string(), presets: z.array(z.string()) });

/** Parts of an object that users may have added to. */
type WithAdditions = Pick<ObjectContent, 'sequence' | 'userText' | 'descriptionParts' | 'presets'>;

/** Returns what users added to an object as a text for another object; undefined for nothing. */
export function additionsTextOf({
  userText,
  descriptionParts: { theirs },
  presets,
}: WithAdditions): string | undefined {
  if (theirs === '' && userText === '') return;
  return JSON.stringify({ description: theirs, lines: userText, presets: [...presets.theirs] });
}

/**
 * Adds the additions of another object to an object that is about to be written. What its own users set stays.
 * @param text as {@link additionsTextOf} returned it; undefined for nothing
 */
export function withAdditionsOf(object: WithAdditions, text: string | undefined): WithAdditions {
  if (text === undefined) return object;
  const { description, lines, presets } = additionsSchema.parse(JSON.parse(text));
  const theirs = new Set([...object.presets.theirs, ...(presets as PresetName[])]);
  return {
    ...object,
    userText: withLines(object.userText, lines),
    descriptionParts: withTheirs(object.descriptionParts, description),
    presets: { ...object.presets, theirs },
  };
}

/** Properties and components that an event may have more than once (RFC 5545 section 3.6.1, RFC 7986 section 4). */
const MULTIPLE = new Set([
  ...['ATTACH', 'ATTENDEE', 'CATEGORIES', 'COMMENT', 'CONFERENCE', 'CONTACT', 'IMAGE', 'RELATED-TO', 'RESOURCES'],
  'BEGIN:VALARM',
]);

/** Adds properties and components, each once, and no second value of a property that an event has once. */
function withLines(own: string, added: string): string {
  const [present, others] = [elementsOf(own), elementsOf(added)];
  const [texts, names] = [new Set(present), new Set(present.map(nameOf))];
  const missing = others.filter(
    (element) => !texts.has(element) && (MULTIPLE.has(nameOf(element)) || !names.has(nameOf(element))),
  );
  return [...present, ...missing].join('\r\n');
}

/** Returns the properties, with their folded lines, and the components of a text. */
function elementsOf(text: string): string[] {
  const elements: string[] = [];
  let open: string | null = null;
  for (const line of text === '' ? [] : text.split(/\r?\n/)) {
    const isContinued = open !== null || /^[\t ]/.test(line);
    if (isContinued && elements.length > 0) elements.push(`${elements.pop()}\r\n${line}`);
    else elements.push(line);
    if (open === null && line.startsWith('BEGIN:')) open = line.slice('BEGIN:'.length);
    else if (open !== null && line === `END:${open}`) open = null;
  }
  return elements;
}

function nameOf(element: string): string {
  return element.startsWith('BEGIN:')
    ? (element.split('\r\n')[0] ?? '')
    : (/^[^:;]*/.exec(element)?.[0] ?? '').toUpperCase();
}
