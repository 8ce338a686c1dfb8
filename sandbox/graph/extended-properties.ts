import { z } from 'zod';
import { invalidProperty } from './errors.ts';

/** Single-value extended properties as a client sends them, with an event or a calendar. */
export const extendedProperties = z.array(z.strictObject({ id: z.string(), value: z.string() }));

/** By canonical id. Throws GraphError 400 when an id is malformed. */
export function toProperties(given: z.infer<typeof extendedProperties>): Map<string, string> {
  return new Map(given.map(({ id, value }) => [canonicalPropertyId(id), value]));
}

/** `{type} {guid} Name {name}`, `{type} {guid} Id {number}` or `{type} {tag}` (resources/extended-properties-overview). */
const NAMED = /^(\w+) \{?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}? (name|id) (\S.*)$/i;
const TAGGED = /^(\w+) (0x[0-9a-f]{1,4})$/i;
const TYPES = ['String', 'Integer', 'Boolean', 'Double', 'Float', 'Long', 'Short', 'Currency', 'CLSID', 'SystemTime'];

/**
 * Returns the id under which a single-value property is stored and answered: canonical type name, guid in braces and lower case, name
 * unchanged because names are case-sensitive.
 * @throws GraphError 400 if the id is malformed
 */
export function canonicalPropertyId(id: string): string {
  const [, type = '', guid = '', kind = '', name = ''] = NAMED.exec(id) ?? [];
  if (guid !== '') {
    const isId = kind.toLowerCase() === 'id';
    return `${typeOf(type)} {${guid.toLowerCase()}} ${isId ? 'Id' : 'Name'} ${isId ? name.toLowerCase() : name}`;
  }
  const [, tagType = '', tag = ''] = TAGGED.exec(id) ?? [];
  if (tag === '') {
    throw invalidProperty('The id of an extended property is malformed.');
  }
  return `${typeOf(tagType)} ${tag.toLowerCase()}`;
}

function typeOf(type: string): string {
  const known = TYPES.find((each) => each.toLowerCase() === type.toLowerCase());
  if (known === undefined) {
    throw invalidProperty('The type of an extended property is unknown.');
  }
  return known;
}

/** Returns the form in which the server compares property values: case is ignored. */
export function comparableValue(value: string): string {
  return value.toLowerCase();
}
