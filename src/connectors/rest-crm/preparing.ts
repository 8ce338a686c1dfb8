import type { CrmResource } from './description.ts';
import { errors } from './errors.ts';
import { isObject, valueAt } from './json-paths.ts';
import { KEY_OF_NOTHING } from './limits.ts';
import { search } from './lookup.ts';
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

async function checkProperties(scope: Scope): Promise<void> {
  const { fields, keyField, stampField } = scope.resource;
  if (fields === undefined) return;
  const answer = await scope.client.send('rest-crm.fields', fields.call, {}, scope.signal);
  const listed = new Set(namesIn(valueAt(answer.body, fields.at), fields));
  for (const name of listed) scope.known.add(name);
  const isNested = scope.description.names === 'nested' && fields.depth === 'first-name';
  const listedName = (name: string) => (isNested ? (name.split('.')[0] ?? name) : name);
  const wanted = [
    keyField,
    ...(stampField === undefined ? [] : [stampField]),
    ...scope.properties.map(({ name }) => name),
  ];
  const missing = wanted.filter((name) => !listed.has(listedName(name)));
  if (missing.length > 0) throw errors.make('crm-property-missing', { names: missing });
}

type Fields = NonNullable<CrmResource['fields']>;

/** Names of values: those that are listed, and those that a type gives them beside, such as `assignedUserId` of the link `assignedUser`. */
function namesIn(described: unknown, { name, type, endings }: Fields): string[] {
  const entries = name === undefined && isObject(described) ? Object.entries(described) : listedIn(described, name);
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
