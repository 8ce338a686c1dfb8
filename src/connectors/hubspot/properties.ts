import { z } from 'zod';
import { message, type Text } from '../../messages/message.ts';
import type { MappedProperty, PropertyKind } from '../../model/items.ts';
import { parsedBy } from '../errors.ts';
import { type Choices, chooseAll, chooseOptions, type ListOption } from '../fitting.ts';
import { isSuccess } from '../wire.ts';
import { errors, namesIn, readRefusal } from './errors.ts';
import type { Scope } from './from-model.ts';
import { KEY_OF_NOTHING, TYPE_IDS } from './limits.ts';
import {
  batchSchema,
  type PropertyDefinition,
  pageSchema,
  pipelineSchema,
  propertiesSchema,
  propertySchema,
  recordSchema,
} from './schemas.ts';

type Sensitivity = 'non_sensitive' | 'sensitive' | 'highly_sensitive';
/** Definitions of properties, by name. */
export type Catalogue = ReadonlyMap<string, PropertyDefinition>;

/** What is known of a kind of record once it is prepared. */
interface Prepared {
  /** Every property that it has. */
  catalogue: Catalogue;
  /** Records can be named by our key. */
  hasUniqueKey: boolean;
}

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
 * @throws MirrorError `settings`: `crm-property-missing`, `property-read-only`, `property-unsuitable`, `property-not-made`,
 * `object-missing`; `authorization`: `scope-missing`
 */
export async function prepareProperties(scope: Scope): Promise<Prepared> {
  const { object, keyProperty, stampProperty } = scope;
  const catalogue = await readCatalogue(scope, object);
  const own = await ensureOwn(scope, object, catalogue, [keyProperty, stampProperty]);
  // What belongs to a contact finds it by the key: the property must be there even before the first contact is.
  if (object !== 'contacts') {
    await ensureOwn(scope, 'contacts', await readCatalogue(scope, 'contacts'), [keyProperty]);
  }
  const all = await checkMapped(scope, own);
  const isUnique = own.get(keyProperty)?.hasUniqueValue === true;
  return {
    catalogue: all,
    hasUniqueKey: isUnique && (mustHaveUniqueKey(object) || (await namesRecords(scope))),
  };
}

/** Checks every property of the mapping. @returns all properties, sensitive ones among them where they are needed */
async function checkMapped(scope: Scope, catalogue: Catalogue): Promise<Catalogue> {
  const { object, keyProperty, stampProperty, properties } = scope;
  const own = properties.filter(({ name }) => name === keyProperty || name === stampProperty);
  if (own.length > 0)
    throw unsuitable(object, namesOf(own), (properties) => message('hubspot.own-property', { properties }));
  const sensitive = properties.filter(({ name }) => !catalogue.has(name));
  const all = sensitive.length === 0 ? catalogue : await withSensitive(scope, catalogue);
  checkMapping(scope, all);
  if (sensitive.length > 0) await checkSensitive(scope, namesOf(sensitive));
  return all;
}

/**
 * Whether HubSpot is bound to hold the key unique. It documents unique properties of contacts, companies, deals, tickets and custom
 * objects; of meetings it says nothing, and a batch upsert by "unique property values" is among their calls all the same.
 * @see https://developers.hubspot.com/changelog/unique-properties-for-contacts
 * @see https://developers.hubspot.com/docs/api-reference/2026-03/crm/activities/meetings/batch/upsert-meetings
 */
function mustHaveUniqueKey(object: string): boolean {
  return object !== 'meetings';
}

/** Whether HubSpot finds records by a key that it says to be unique: asked with one that no record has. */
async function namesRecords({ client, object, paths, keyProperty }: Scope): Promise<boolean> {
  const path = `${paths.objects(object)}/batch/read`;
  const body = { inputs: [{ id: KEY_OF_NOTHING }], properties: [keyProperty], idProperty: keyProperty };
  const answer = await client.send({ label: 'hubspot.objects.read', method: 'POST', path, body });
  if (answer.status === 400 || readRefusal(answer.status, answer.body).isKeyUnusable) return false;
  if (!isSuccess(answer)) throw client.errorOf(answer);
  return true;
}

function checkMapping({ object, properties }: Scope, catalogue: Catalogue): void {
  const missing = properties.filter(({ name }) => !catalogue.has(name));
  if (missing.length > 0) throw errors.make('crm-property-missing', { names: namesIn(object, namesOf(missing)) });
  const readOnly = properties.filter(({ name }) => catalogue.get(name)?.modificationMetadata?.readOnlyValue);
  if (readOnly.length > 0) throw errors.make('property-read-only', { names: namesIn(object, namesOf(readOnly)) });
  for (const kind of Object.keys(TYPES_FOR) as PropertyKind[]) {
    const wrong = properties.filter(({ name, kind: each }) => each === kind && !canHold(catalogue.get(name)!, kind));
    if (wrong.length > 0)
      throw unsuitable(object, namesOf(wrong), (properties) => message('hubspot.wrong-type', { properties, kind }));
  }
}

/** Lists to choose from can hold a boolean when they offer true and false. */
function canHold({ type, options }: PropertyDefinition, kind: PropertyKind): boolean {
  if (!TYPES_FOR[kind].includes(type)) return false;
  if (kind !== 'boolean' || type !== 'enumeration') return true;
  return ['true', 'false'].every((value) => options.some((option) => option.value === value));
}

/** Every property of a kind of record. */
async function readCatalogue(
  { client, paths }: Scope,
  object: string,
  sensitivity: Sensitivity = 'non_sensitive',
): Promise<Map<string, PropertyDefinition>> {
  const query = sensitivity === 'non_sensitive' ? '' : `?dataSensitivity=${sensitivity}`;
  const path = `${paths.properties(object)}${query}`;
  const answer = await client.send({ label: 'hubspot.properties.list', method: 'GET', path });
  // Accounts without sensitive data, and logins without its permission, may be refused the list: then they have none.
  if (query !== '' && (answer.status === 400 || answer.status === 403)) return new Map();
  if (!(object in TYPE_IDS) && (answer.status === 400 || answer.status === 404)) {
    throw errors.make('object-missing', { status: answer.status, names: [object] });
  }
  if (!isSuccess(answer)) throw client.errorOf(answer);
  const list = parsedBy(errors, propertiesSchema, answer.body);
  const definitions = list.results.flatMap((one) => propertySchema.safeParse(one).data ?? []);
  return new Map(definitions.map((one) => [one.name, one]));
}

/** Sensitive properties stand in lists of their own (developers.hubspot.com, sensitive data). */
async function withSensitive(scope: Scope, plain: Catalogue): Promise<Catalogue> {
  const all = new Map(plain);
  for (const sensitivity of ['sensitive', 'highly_sensitive'] as const) {
    const listed = await readCatalogue(scope, scope.object, sensitivity);
    for (const [name, definition] of listed) all.set(name, definition);
  }
  return all;
}

/**
 * Values of sensitive properties are left out of what a login without their permission reads, so any one record tells. Where there
 * is no record yet, the first write will tell.
 * @throws MirrorError `scope-missing`
 */
async function checkSensitive({ client, object, paths }: Scope, names: readonly string[]): Promise<void> {
  const query = new URLSearchParams({ limit: '1', properties: names.join(',') });
  const path = `${paths.objects(object)}?${query}`;
  const page = pageSchema.safeParse(
    await client.demand(z.unknown(), { label: 'hubspot.objects.list', method: 'GET', path }),
  );
  const record = recordSchema.safeParse(page.data?.results[0]).data;
  if (record === undefined) return;
  const hidden = names.filter((name) => !Object.hasOwn(record.properties, name));
  if (hidden.length > 0) throw errors.make('scope-missing', { status: 403, names: namesIn(object, hidden) });
}

/**
 * Our properties of a kind of record. Another worker may make the same at the same time: then ours is refused, and theirs is there.
 * @returns every property of the kind of record
 */
async function ensureOwn(
  scope: Scope,
  object: string,
  catalogue: Catalogue,
  names: readonly string[],
): Promise<Catalogue> {
  const absent = names.filter((name) => !catalogue.has(name));
  if (absent.length > 0) await ensureGroup(scope, object);
  for (const name of absent) await makeProperty(scope, object, name);
  const now = absent.length > 0 ? await readCatalogue(scope, object) : catalogue;
  for (const name of names) {
    const definition = now.get(name);
    if (definition === undefined)
      throw errors.make('property-not-made', { status: 409, names: namesIn(object, [name]) });
    const mustBeUnique = name === scope.keyProperty && mustHaveUniqueKey(object);
    if (definition.type !== 'string' || (mustBeUnique && !definition.hasUniqueValue)) {
      const code = mustBeUnique ? 'hubspot.not-unique-text' : 'hubspot.not-text';
      throw unsuitable(object, [name], (properties) => message(code, { properties }));
    }
  }
  return now;
}

async function ensureGroup({ client, paths, propertyGroup }: Scope, object: string): Promise<void> {
  const path = `${paths.properties(object)}/groups`;
  const body = { name: propertyGroup, label: 'Clinic mirror' };
  const answer = await client.send({ label: 'hubspot.properties.group', method: 'POST', path, body });
  if (!isSuccess(answer) && answer.status !== 409) throw client.errorOf(answer);
}

async function makeProperty(
  scope: Scope,
  object: string,
  name: string,
  isUnique = name === scope.keyProperty,
): Promise<void> {
  const isKey = name === scope.keyProperty;
  const body = {
    name,
    label: isKey ? 'Clinic mirror: key' : 'Clinic mirror: stamp',
    description: 'Written and read by clinic-mirror. Do not change.',
    groupName: scope.propertyGroup,
    type: 'string',
    fieldType: 'text',
    hasUniqueValue: isUnique,
    formField: false,
  };
  const path = scope.paths.properties(object);
  const answer = await scope.client.send({ label: 'hubspot.properties.create', method: 'POST', path, body });
  if (isSuccess(answer) || answer.status === 409) return;
  if (answer.status === 400 && isUnique && !mustHaveUniqueKey(object)) {
    await makeProperty(scope, object, name, false);
    return;
  }
  throw answer.status === 400
    ? errors.make('property-not-made', { status: 400, names: namesIn(object, [name]) })
    : scope.client.errorOf(answer);
}

function unsuitable(object: string, names: readonly string[], why: (properties: string) => Text) {
  return errors.make('property-unsuitable', { names: [why(namesIn(object, names).join(', '))] });
}

function namesOf(properties: readonly MappedProperty[]): string[] {
  return properties.map(({ name }) => name);
}

/** By property of a stage: that of its pipeline (developers.hubspot.com, pipelines; custom objects have the latter). */
const PIPELINE_OF: Readonly<Record<string, string>> = { dealstage: 'pipeline', hs_pipeline_stage: 'hs_pipeline' };

/**
 * What the words of the mapping stand for in HubSpot's lists: pipelines, stages and every other one may be named as people see them, or by their
 * ids. Stages are those of the pipeline, where the mapping names one.
 * @throws MirrorError `settings`, code `option-missing`, that lists the names there are
 */
export async function resolveChoices(scope: Scope, catalogue: Catalogue): Promise<Map<string, Choices>> {
  // A list of HubSpot's own making, such as that of owners, is not told with the property.
  const optionsFor = (property: MappedProperty) => optionsOf(scope, property, catalogue);
  const missing = (names: Text[]) => errors.make('option-missing', { names });
  return await chooseAll(scope.properties, optionsFor, (name) => `${scope.object}.${name}`, missing);
}

/** The same for whoever only reads: the lists are asked for where the mapping names words. */
export async function lookUpChoices(scope: Scope): Promise<Map<string, Choices>> {
  if (!scope.properties.some(({ words }) => words !== undefined)) return new Map();
  return await resolveChoices(scope, await readCatalogue(scope, scope.object));
}

async function optionsOf(
  { client, object, properties, paths }: Scope,
  { name }: MappedProperty,
  catalogue: Catalogue,
): Promise<readonly ListOption[]> {
  const definition = catalogue.get(name);
  if (definition?.type !== 'enumeration' || definition.fieldType === 'checkbox') return [];
  const [wanted, ...others] = properties.find((one) => one.name === PIPELINE_OF[name])?.words ?? [];
  if (wanted === undefined || others.length > 0) return definition.options;
  const path = paths.pipelines(object);
  const list = await client.demand(batchSchema, { label: 'hubspot.pipelines.list', method: 'GET', path });
  const pipelines = list.results.flatMap((one) => pipelineSchema.safeParse(one).data ?? []);
  const { toValue } = chooseOptions(
    [wanted],
    pipelines.map(({ id: value, label }) => ({ value, label })),
  );
  const pipeline = pipelines.find(({ id }) => id === (toValue.get(wanted) ?? wanted));
  return pipeline === undefined
    ? definition.options
    : pipeline.stages.map(({ id: value, label }) => ({ value, label }));
}
