import { z } from 'zod';
import type { MappedProperty, PropertyKind } from '../../core/model/items.ts';
import { MOST_VALUES } from '../../core/model/json.ts';
import { message, type Text } from '../../messages/message.ts';
import { parsedBy } from '../errors.ts';
import { KEY_OF_NOTHING } from '../find-apart.ts';
import { type Choices, chooseAll, chooseOptions, type ListOption } from '../fitting.ts';
import { isSuccess, readEach } from '../wire.ts';
import { errors, namesIn, readRefusal } from './errors.ts';
import type { Scope } from './from-model.ts';
import { TYPE_IDS } from './limits.ts';
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
/** Property definitions by name. */
export type Catalogue = ReadonlyMap<string, PropertyDefinition>;

/** Result of preparing a type of object. */
interface Prepared {
  /** All properties of the type. */
  catalogue: Catalogue;
  /** Whether the key can identify objects. */
  hasUniqueKey: boolean;
}

/** Property types that can store and return values of a kind (developers.hubspot.com, properties, types). */
const TYPES_FOR: Readonly<Record<PropertyKind, readonly string[]>> = {
  text: ['string', 'enumeration', 'phone_number'],
  number: ['number', 'string'],
  boolean: ['bool', 'enumeration', 'string'],
  date: ['date', 'datetime', 'string'],
  instant: ['datetime', 'string'],
};

/**
 * Prepares a type of object for writing. Creates missing properties of clinic-mirror, and checks that each mapped property exists, is
 * writable and fits its kind.
 * @throws MirrorError `settings`: `crm-property-missing`, `property-read-only`, `property-unsuitable`, `property-not-made`,
 * `object-missing`; `authorization`: `scope-missing`
 */
export async function prepareProperties(scope: Scope): Promise<Prepared> {
  const { object, keyProperty, stampProperty } = scope;
  const catalogue = await readCatalogue(scope, object);
  const own = await ensureOwn(scope, object, catalogue, [keyProperty, stampProperty]);
  // Objects of a contact find the contact by key, so the property must exist even before the first contact.
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

/** Checks all mapped properties. @returns all properties, with sensitive properties if required */
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
 * Decides whether HubSpot must enforce a unique key. HubSpot documents unique properties for contacts, companies, deals, tickets and custom
 * objects. Unique properties of meetings are not documented, although meetings have a batch upsert by "unique property values".
 * @see https://developers.hubspot.com/changelog/unique-properties-for-contacts
 * @see https://developers.hubspot.com/docs/api-reference/2026-03/crm/activities/meetings/batch/upsert-meetings
 */
function mustHaveUniqueKey(object: string): boolean {
  return object !== 'meetings';
}

/** Checks whether HubSpot finds objects by a key that it reports as unique, with a request for a key of no object. */
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

/** An enumeration can store a boolean if it has the options true and false. */
function canHold({ type, options }: PropertyDefinition, kind: PropertyKind): boolean {
  if (!TYPES_FOR[kind].includes(type)) return false;
  if (kind !== 'boolean' || type !== 'enumeration') return true;
  return ['true', 'false'].every((value) => options.some((option) => option.value === value));
}

/** Fetches all properties of a type of object. */
async function readCatalogue(
  { client, paths }: Scope,
  object: string,
  sensitivity: Sensitivity = 'non_sensitive',
): Promise<Map<string, PropertyDefinition>> {
  const query = sensitivity === 'non_sensitive' ? '' : `?dataSensitivity=${sensitivity}`;
  const path = `${paths.properties(object)}${query}`;
  const answer = await client.send({ label: 'hubspot.properties.list', method: 'GET', path, mostValues: MOST_VALUES });
  // HubSpot may refuse the list of sensitive properties for accounts without sensitive data, and for connections without that permission.
  // Such accounts have no sensitive properties.
  if (query !== '' && (answer.status === 400 || answer.status === 403)) return new Map();
  if (!(object in TYPE_IDS) && (answer.status === 400 || answer.status === 404)) {
    throw errors.make('object-missing', { status: answer.status, names: [object] });
  }
  if (!isSuccess(answer)) throw client.errorOf(answer);
  const list = parsedBy(errors, propertiesSchema, answer.body);
  const definitions = await readEach(list.results, (one) => propertySchema.safeParse(one).data ?? null);
  return new Map(definitions.map((one) => [one.name, one]));
}

/** Sensitive properties have separate lists (developers.hubspot.com, sensitive data). */
async function withSensitive(scope: Scope, plain: Catalogue): Promise<Catalogue> {
  const all = new Map(plain);
  for (const sensitivity of ['sensitive', 'highly_sensitive'] as const) {
    const listed = await readCatalogue(scope, scope.object, sensitivity);
    for (const [name, definition] of listed) all.set(name, definition);
  }
  return all;
}

/**
 * Checks the permission for sensitive values with any one object: HubSpot omits the values without the permission. Without any object, the
 * first write shows a missing permission.
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
 * Creates the properties of clinic-mirror for a type of object. If a concurrent worker creates a property first, HubSpot refuses this
 * creation, and the worker's property is used.
 * @returns all properties of the type
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

/** Pipeline property by stage property (developers.hubspot.com, pipelines; custom objects use the second pair). */
const PIPELINE_OF: Readonly<Record<string, string>> = { dealstage: 'pipeline', hs_pipeline_stage: 'hs_pipeline' };

/**
 * Resolves the mapping's words to HubSpot's list values. The mapping may contain labels or ids of pipelines, stages and other options.
 * Stages belong to the mapped pipeline, if any.
 * @throws MirrorError `settings`, code `option-missing`, with the available names
 */
export async function resolveChoices(scope: Scope, catalogue: Catalogue): Promise<Map<string, Choices>> {
  // The options of HubSpot's internal lists, such as owners, are not part of the property.
  const optionsFor = (property: MappedProperty) => optionsOf(scope, property, catalogue);
  const missing = (names: Text[]) => errors.make('option-missing', { names });
  return await chooseAll(scope.properties, optionsFor, (name) => `${scope.object}.${name}`, missing);
}

/** Resolves the words for read-only work: fetches lists only if the mapping contains words. */
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
