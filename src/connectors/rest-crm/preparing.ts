import type { CrmResource } from './description.ts';
import { errors } from './errors.ts';
import { isObject, valueAt } from './json-paths.ts';
import { KEY_OF_NOTHING } from './limits.ts';
import { search } from './lookup.ts';
import { rulesTold } from './rules.ts';
import type { Scope } from './scope.ts';

/**
 * Looks whether the target can be written: the properties are there, as far as the CRM lists them, and a search for a key that
 * nobody has finds nothing. A CRM that ignores a filter would show all of its objects instead.
 * @returns which objects of which CRM these are
 * @throws MirrorError `settings`: `crm-property-missing`, `key-filter-ignored`
 */
export async function prepareTarget(scope: Scope): Promise<string> {
  await checkProperties(scope);
  const found = await search(scope, scope.resource, [KEY_OF_NOTHING]);
  if (found.length > 0) throw errors.make('key-filter-ignored');
  return `${scope.baseUrl} ${scope.resource.create.call.path}`;
}

/** Every property that the CRM lists is there; what they take comes to the rules. */
async function checkProperties(scope: Scope): Promise<void> {
  const { fields, keyField, stampField } = scope.resource;
  if (fields === undefined) return;
  const described = await listFields(scope, fields);
  const byName = new Map(described);
  const fieldOf = (name: string) => (listedName(scope, fields, name) === name ? byName.get(name) : undefined);
  for (const [name, rule] of rulesTold(scope, fields, fieldOf)) scope.rules.set(name, rule);
  const listed = new Set(namesIn(described, fields));
  for (const name of listed) scope.known.add(name);
  const wanted = [
    keyField,
    ...(stampField === undefined ? [] : [stampField]),
    ...scope.properties.map(({ name }) => name),
  ];
  const missing = wanted.filter((name) => !listed.has(listedName(scope, fields, name)));
  if (missing.length > 0) throw errors.make('crm-property-missing', { names: missing });
}

/** How a CRM lists its properties. */
export type Fields = NonNullable<CrmResource['fields']>;

/** The name under which the CRM lists a property. */
export function listedName({ description }: Scope, { depth }: Fields, name: string): string {
  const isNested = description.names === 'nested' && depth === 'first-name';
  return isNested ? (name.split('.')[0] ?? name) : name;
}

/** The CRM's own list of properties, each with its name. */
export async function listFields({ client, signal }: Scope, fields: Fields): Promise<[string, unknown][]> {
  const { body } = await client.send('rest-crm.fields', fields.call, {}, signal);
  const described = valueAt(body, fields.at);
  return fields.name === undefined && isObject(described)
    ? Object.entries(described)
    : listedIn(described, fields.name);
}

/** Names of values: those that are listed, and those that a type gives them beside, such as `assignedUserId` of the link `assignedUser`. */
function namesIn(entries: [string, unknown][], { type, endings }: Fields): string[] {
  return entries.flatMap(([listed, one]) => {
    const kind = type === undefined ? '' : String(valueAt(one, type));
    const behind = Object.hasOwn(endings, kind) ? endings[kind]! : [];
    return [listed, ...behind.map((ending) => `${listed}${ending}`)];
  });
}

function listedIn(described: unknown, name: string | undefined): [string, unknown][] {
  if (!Array.isArray(described)) throw errors.make('unexpected-answer', { names: ['fields'] });
  return described.map((one) => [String(name === undefined ? one : valueAt(one, name)), one]);
}
