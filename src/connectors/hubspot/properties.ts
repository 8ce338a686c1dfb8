import type { MappedProperty, PropertyKind } from '../../model/items.ts';
import { isSuccess } from '../wire.ts';
import type { HubSpotClient } from './client.ts';
import { errors, namesIn } from './errors.ts';
import type { ObjectName } from './limits.ts';
import { type PropertyDefinition, pageSchema, propertiesSchema, propertySchema, recordSchema } from './schemas.ts';
import type { Scope } from './scope.ts';

type Sensitivity = 'non_sensitive' | 'sensitive' | 'highly_sensitive';
/** Definitions of properties, by name. */
export type Catalogue = ReadonlyMap<string, PropertyDefinition>;

/** Types of properties that can hold values of a kind and give them back (developers.hubspot.com, properties, types). */
const TYPES_FOR: Readonly<Record<PropertyKind, readonly string[]>> = {
  text: ['string', 'enumeration', 'phone_number'],
  number: ['number', 'string'],
  boolean: ['bool', 'enumeration', 'string'],
  date: ['date', 'datetime', 'string'],
  instant: ['datetime', 'string'],
};

/**
 * Sees that records can be written: our properties are there, made once where they are absent, and each property of the mapping
 * exists, may be written and can hold its kind.
 * @throws MirrorError `settings`: `crm-property-missing`, `property-read-only`, `property-unsuitable`, `property-not-made`;
 * `authorization`: `scope-missing`
 * @returns every property of the kind of record, by name
 */
export async function prepareProperties(client: HubSpotClient, scope: Scope): Promise<Catalogue> {
  const { object, keyProperty, stampProperty, properties } = scope;
  const catalogue = await readCatalogue(client, scope, object);
  await ensureOwn(client, scope, object, catalogue, [keyProperty, stampProperty]);
  // What belongs to a contact finds it by the key: the property must be there even before the first contact is.
  if (object !== 'contacts') {
    await ensureOwn(client, scope, 'contacts', await readCatalogue(client, scope, 'contacts'), [keyProperty]);
  }
  const own = properties.filter(({ name }) => name === keyProperty || name === stampProperty);
  if (own.length > 0) throw unsuitable(object, namesOf(own), 'free for a mapping: it is our own');
  const sensitive = properties.filter(({ name }) => !catalogue.has(name));
  const all = sensitive.length === 0 ? catalogue : await withSensitive(client, scope, catalogue);
  checkMapping(scope, all);
  if (sensitive.length > 0) await checkSensitive(client, scope, namesOf(sensitive));
  return all;
}

function checkMapping({ object, properties }: Scope, catalogue: Catalogue): void {
  const missing = properties.filter(({ name }) => !catalogue.has(name));
  if (missing.length > 0) throw errors.make('crm-property-missing', { names: namesIn(object, namesOf(missing)) });
  const readOnly = properties.filter(({ name }) => catalogue.get(name)?.modificationMetadata?.readOnlyValue);
  if (readOnly.length > 0) throw errors.make('property-read-only', { names: namesIn(object, namesOf(readOnly)) });
  for (const kind of Object.keys(TYPES_FOR) as PropertyKind[]) {
    const wrong = properties.filter(({ name, kind: each }) => each === kind && !canHold(catalogue.get(name)!, kind));
    if (wrong.length > 0) throw unsuitable(object, namesOf(wrong), `of a type that holds a ${kind}`);
  }
}

/** Lists to choose from can hold a boolean when they offer true and false. */
function canHold({ type, options }: PropertyDefinition, kind: PropertyKind): boolean {
  if (!TYPES_FOR[kind].includes(type)) return false;
  if (kind !== 'boolean' || type !== 'enumeration') return true;
  return ['true', 'false'].every((value) => options.some((option) => option.value === value));
}

async function readCatalogue(
  client: HubSpotClient,
  { paths }: Scope,
  object: ObjectName,
  sensitivity: Sensitivity = 'non_sensitive',
): Promise<Map<string, PropertyDefinition>> {
  const query = sensitivity === 'non_sensitive' ? '' : `?dataSensitivity=${sensitivity}`;
  const path = `${paths.properties(object)}${query}`;
  const answer = await client.send({ label: 'hubspot.properties.list', method: 'GET', path });
  // Accounts without sensitive data, and logins without its permission, may be refused the list: then they have none.
  if (query !== '' && (answer.status === 400 || answer.status === 403)) return new Map();
  if (!isSuccess(answer)) throw client.errorOf(answer);
  const list = propertiesSchema.safeParse(answer.body);
  if (!list.success) throw errors.make('unexpected-answer');
  const definitions = list.data.results.flatMap((one) => propertySchema.safeParse(one).data ?? []);
  return new Map(definitions.map((one) => [one.name, one]));
}

/** Sensitive properties stand in lists of their own (developers.hubspot.com, sensitive data). */
async function withSensitive(client: HubSpotClient, scope: Scope, plain: Catalogue): Promise<Catalogue> {
  const all = new Map(plain);
  for (const sensitivity of ['sensitive', 'highly_sensitive'] as const) {
    const listed = await readCatalogue(client, scope, scope.object, sensitivity);
    for (const [name, definition] of listed) all.set(name, definition);
  }
  return all;
}

/**
 * Values of sensitive properties are left out of what a login without their permission reads, so any one record tells. Where there
 * is no record yet, the first write will tell.
 * @throws MirrorError `scope-missing`
 */
async function checkSensitive(
  client: HubSpotClient,
  { object, paths }: Scope,
  names: readonly string[],
): Promise<void> {
  const query = new URLSearchParams({ limit: '1', properties: names.join(',') });
  const path = `${paths.objects(object)}?${query}`;
  const page = pageSchema.safeParse(await client.demand({ label: 'hubspot.objects.list', method: 'GET', path }));
  const record = recordSchema.safeParse(page.data?.results[0]).data;
  if (record === undefined) return;
  const hidden = names.filter((name) => !Object.hasOwn(record.properties, name));
  if (hidden.length > 0) throw errors.make('scope-missing', { status: 403, names: namesIn(object, hidden) });
}

/** Our properties of a kind of record. Another worker may make the same at the same time: then ours is refused, and theirs is there. */
async function ensureOwn(
  client: HubSpotClient,
  scope: Scope,
  object: ObjectName,
  catalogue: Catalogue,
  names: readonly string[],
): Promise<void> {
  const absent = names.filter((name) => !catalogue.has(name));
  if (absent.length > 0) await ensureGroup(client, scope, object);
  for (const name of absent) await makeProperty(client, scope, object, name);
  const now = absent.length > 0 ? await readCatalogue(client, scope, object) : catalogue;
  for (const name of names) {
    const definition = now.get(name);
    if (definition === undefined)
      throw errors.make('property-not-made', { status: 409, names: namesIn(object, [name]) });
    const mustBeUnique = name === scope.keyProperty;
    if (definition.type !== 'string' || (mustBeUnique && !definition.hasUniqueValue)) {
      throw unsuitable(object, [name], mustBeUnique ? 'a text whose values are unique' : 'a text');
    }
  }
}

async function ensureGroup(client: HubSpotClient, { paths, propertyGroup }: Scope, object: ObjectName): Promise<void> {
  const path = `${paths.properties(object)}/groups`;
  const body = { name: propertyGroup, label: 'Clinic mirror' };
  const answer = await client.send({ label: 'hubspot.properties.group', method: 'POST', path, body });
  if (!isSuccess(answer) && answer.status !== 409) throw client.errorOf(answer);
}

async function makeProperty(client: HubSpotClient, scope: Scope, object: ObjectName, name: string): Promise<void> {
  const isKey = name === scope.keyProperty;
  const body = {
    name,
    label: isKey ? 'Clinic mirror: key' : 'Clinic mirror: stamp',
    description: 'Written and read by clinic-mirror. Do not change.',
    groupName: scope.propertyGroup,
    type: 'string',
    fieldType: 'text',
    hasUniqueValue: isKey,
    formField: false,
  };
  const path = scope.paths.properties(object);
  const answer = await client.send({ label: 'hubspot.properties.create', method: 'POST', path, body });
  if (isSuccess(answer) || answer.status === 409) return;
  throw answer.status === 400
    ? errors.make('property-not-made', { status: 400, names: namesIn(object, [name]) })
    : client.errorOf(answer);
}

function unsuitable(object: ObjectName, names: readonly string[], wanted: string) {
  return errors.make('property-unsuitable', { names: [`${namesIn(object, names).join(', ')} is not ${wanted}`] });
}

function namesOf(properties: readonly MappedProperty[]): string[] {
  return properties.map(({ name }) => name);
}
