import type { PropertyRule } from '../fitting.ts';
import { type Choices, chooseAll, type ListOption } from '../options.ts';
import type { CrmResource } from './description.ts';
import { errors } from './errors.ts';
import type { Scope } from './from-model.ts';
import { KEY_OF_NOTHING } from './limits.ts';
import { search } from './lookup.ts';
import { isObject, valueAt } from './templates.ts';

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
function listedName({ description }: Scope, { depth }: Fields, name: string): string {
  const isNested = description.names === 'nested' && depth === 'first-name';
  return isNested ? (name.split('.')[0] ?? name) : name;
}

/** The CRM's own list of properties, each with its name. */
async function listFields({ client, signal }: Scope, fields: Fields): Promise<[string, unknown][]> {
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

/** Whether the mapping names words that may stand in lists of the CRM, and the description says where those are. */
export function hasChoices({ resource, properties }: Scope): boolean {
  return resource.fields?.options !== undefined && properties.some(({ words = [] }) => words.length > 0);
}

/**
 * What the words of the mapping stand for in the CRM's lists: pipelines, stages and every other one may be named as people see them. A property
 * without a list takes what it is given.
 * @throws MirrorError `settings`, code `option-missing`, that lists the names there are
 */
export async function readChoices(scope: Scope): Promise<Map<string, Choices>> {
  const { fields } = scope.resource;
  if (fields === undefined) return new Map();
  const listed = new Map(await listFields(scope, fields));
  return await chooseAll(
    scope.properties,
    ({ name }) => optionsOf(listed.get(listedName(scope, fields, name)), fields.options),
    (name) => name,
    (names) => errors.make('option-missing', { names }),
  );
}

type Options = NonNullable<Scope['resource']['fields']>['options'];

function optionsOf(field: unknown, options: Options): ListOption[] {
  const list = options === undefined ? undefined : valueAt(field, options.at);
  if (options === undefined || !Array.isArray(list)) return [];
  const textAt = (one: unknown, path: string) => {
    const text = valueAt(one, path);
    return typeof text === 'string' && text !== '' ? text : null;
  };
  return list.flatMap((one): ListOption[] => {
    const value = textAt(one, options.value);
    return value === null ? [] : [{ value, label: textAt(one, options.label) ?? value }];
  });
}

/** What properties take by the description alone. */
export function rulesDescribed(resource: CrmResource | undefined): Map<string, PropertyRule> {
  return new Map(Object.entries(resource?.limits ?? {}));
}

/**
 * What the CRM tells of the mapped properties with its fields, and the description of others.
 * @param fieldOf what the CRM lists of a property itself; undefined for a part of a field, of which it tells nothing
 */
function rulesTold(
  { properties, resource: { limits } }: Pick<Scope, 'properties' | 'resource'>,
  fields: NonNullable<CrmResource['fields']>,
  fieldOf: (name: string) => unknown,
): [string, PropertyRule][] {
  return properties.flatMap(({ name }): [string, PropertyRule][] => {
    const field = fieldOf(name);
    if (field === undefined) return [];
    const at = (path: string | undefined) => (path === undefined ? undefined : valueAt(field, path));
    const longest = at(fields.longest);
    const type = String(at(fields.type) ?? '');
    const told = {
      longest: typeof longest === 'number' && longest > 0 ? longest : undefined,
      form: Object.hasOwn(fields.forms, type) ? fields.forms[type] : undefined,
      required: at(fields.required) === true,
    };
    return [[name, { ...told, ...limits[name] }]];
  });
}
