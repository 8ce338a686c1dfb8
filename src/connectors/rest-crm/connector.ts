import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import { isJsonObject, valueAt } from '../../described-api/paths.ts';
import { pageAt } from '../../described-api/templates.ts';
import type { Connector, ConnectorContext, ContactStamp, Contacts, ExistingContact } from '../connector.ts';
import { wholeChanges } from '../cursor.ts';
import { KEY_OF_NOTHING } from '../find-apart.ts';
import {
  applyFitting,
  type Choices,
  chooseAll,
  type ListOption,
  type PropertyRule,
  type RefusedValues,
} from '../fitting.ts';
import { askedAlone } from '../outcomes.ts';
import { createCrmClient, isMissing, speaksOf } from './client.ts';
import type { CrmResource } from './description.ts';
import { errors } from './errors.ts';
import { propertiesOf, readRow, type Scope, selection, stampValues } from './from-model.ts';
import { BATCH_SIZE } from './limits.ts';
import { belongingReader, findOf, getById, listPages, readOurs, search } from './lookup.ts';
import type { RestCrmSettings } from './schemas.ts';
import { applyAll } from './writing.ts';

/** Opens one target in a CRM. */
export function openRestCrm(context: ConnectorContext<RestCrmSettings>): Connector<CrmItem> {
  const { settings, crm, ownerTag, http, authorizer, log } = context;
  const { description, baseUrl } = settings;
  const properties = crm?.properties ?? [];
  const allowedNames = new Set(properties.map(({ name }) => name));
  const client = createCrmClient({ http, authorizer, settings, codes: allowedNames });
  const rules = rulesDescribed(description.streams[crm?.stream ?? 'patients']);
  const refused: RefusedValues = new Map();
  let choices: Scope['choices'] | null = null;
  const bareScope = (signal: AbortSignal): Scope => {
    const stream = crm?.stream ?? 'patients';
    const resource = description.streams[stream];
    if (resource === undefined) throw errors.make('stream-not-described');
    const extra = { ownerTag, baseUrl, log, signal, choices: choices ?? new Map() };
    return { client, description, resource, stream, properties, rules, codes: allowedNames, ...extra };
  };
  const scopeFor = async (signal: AbortSignal): Promise<Scope> => {
    const scope = bareScope(signal);
    choices ??= hasChoices(scope) ? await readChoices(scope) : new Map();
    return { ...scope, choices };
  };
  const connector: Connector<CrmItem> = {
    async prepare(_storedId, _choice, signal) {
      const scope = bareScope(signal);
      const container = await prepareTarget(scope);
      choices = hasChoices(scope) ? await readChoices(scope) : new Map();
      return container;
    },
    async apply(_container, operations, signal) {
      const scope = await scopeFor(signal);
      const fitting = { ...scope, refused, batchSize: BATCH_SIZE };
      return await applyFitting(operations, fitting, (some) => applyAll(scope, some));
    },
    async *read(_container, window, signal) {
      yield* readOurs(await scopeFor(signal), window);
    },
    async find(_container, keys, signal, ids) {
      const scope = await scopeFor(signal);
      const rows = await findOf(scope, keys, ids);
      const ours = await belongingReader(scope)(rows.filter(({ owner }) => owner !== 'foreign'));
      return ours.flatMap(({ key, remote }) => (key === null ? [] : [{ key, ...remote }]));
    },
    async pagesOf(_container, remoteIds, signal) {
      const { page } = bareScope(signal).resource;
      const addresses = remoteIds.map((id) => [id, page === undefined ? null : pageAt(baseUrl, page, id)] as const);
      return new Map(addresses.flatMap(([id, address]) => (address === null ? [] : [[id, address]])));
    },
    contacts: openContacts(scopeFor),
    async changes(_container, { window }, signal) {
      return await wholeChanges(readOurs(await scopeFor(signal), window));
    },
  };
  return askedAlone(connector, { errors });
}

/** Gives access to contacts that existed before clinic-mirror, if the description has the required calls (`hasContacts`). */
function openContacts(scopeFor: (signal: AbortSignal) => Promise<Scope>): Contacts {
  return {
    async *list(signal) {
      const scope = await scopeFor(signal);
      const { list, listAll } = scope.resource;
      for await (const rows of listPages(scope, listAll?.call ?? list.call)) {
        const free = rows.flatMap((row) => toExisting(scope, row) ?? []).filter(({ isFree }) => isFree);
        if (free.length > 0) yield free;
      }
    },
    async read(remoteIds, signal) {
      const scope = await scopeFor(signal);
      const found: ExistingContact[] = [];
      for (const id of remoteIds) {
        const contact = await readOne(scope, id);
        if (contact !== null) found.push(contact);
      }
      return found;
    },
    async stamp(stamps, signal) {
      const scope = await scopeFor(signal);
      const refused = new Map<string, MirrorError>();
      for (const stamp of stamps) {
        try {
          await stampOne(scope, stamp);
        } catch (thrown) {
          const error = asMirrorError(thrown);
          if (errors.scopeOf(error) === 'target') throw error;
          refused.set(stamp.remoteId, error);
        }
      }
      return refused;
    },
  };
}

async function readOne(scope: Scope, id: string): Promise<ExistingContact | null> {
  const { get } = scope.resource;
  if (get === undefined) throw new TypeError('the description has no call for one contact');
  const contact = toExisting(scope, await getById(scope, get, id));
  // A CRM may resolve the id of a merged contact to the remaining contact.
  return contact?.remoteId === id ? contact : null;
}

function toExisting(scope: Scope, raw: unknown): ExistingContact | null {
  const row = readRow(scope, scope.resource, raw);
  if (row === null) return null;
  const { id: remoteId, key, owner } = row;
  const properties = propertiesOf(scope, raw);
  return { remoteId, properties, otherAddresses: [], key, isFree: key === null && owner === 'bare' };
}

/** Stamps one contact. If the CRM's response does not show the result, the contact is fetched. */
async function stampOne(scope: Scope, { remoteId: id, as }: ContactStamp): Promise<void> {
  const { client, resource, signal } = scope;
  const { call } = resource.update;
  const values = { ...selection(scope, resource), id, key: as?.key ?? null, properties: stampValues(scope, as) };
  const answer = await client.send('rest-crm.update', call, values, signal);
  if (isMissing(answer)) throw errors.make('record-refused', { status: answer.status });
  if (speaksOf(answer, id)) return;
  const now = await readOne(scope, id);
  if ((now?.key ?? null) !== (as?.key ?? null)) throw errors.make('write-not-shown', { status: answer.status });
}

/**
 * Checks that the target is writable: the properties exist, as far as the CRM lists them, and a search for an unused key finds nothing. A
 * CRM that ignores the filter would return all objects.
 * @returns an identifier of the CRM and the type of object
 * @throws MirrorError `settings`: `crm-property-missing`, `key-filter-ignored`
 */
async function prepareTarget(scope: Scope): Promise<string> {
  await checkProperties(scope);
  const found = await search(scope, scope.resource, [KEY_OF_NOTHING]);
  if (found.length > 0) throw errors.make('key-filter-ignored');
  return `${scope.baseUrl} ${scope.resource.create.call.path}`;
}

/** Checks that the CRM lists all mapped properties, and adds their limits to the rules. */
async function checkProperties(scope: Scope): Promise<void> {
  const { fields, keyField, stampField } = scope.resource;
  if (fields === undefined) return;
  const described = await listFields(scope, fields);
  const byName = new Map(described);
  const fieldOf = (name: string) => (listedName(scope, fields, name) === name ? byName.get(name) : undefined);
  for (const [name, rule] of ruleSummary(scope, fields, fieldOf)) scope.rules.set(name, rule);
  const listed = new Set(namesIn(described, fields));
  for (const name of listed) scope.codes.add(name);
  const wanted = [
    keyField,
    ...(stampField === undefined ? [] : [stampField]),
    ...scope.properties.map(({ name }) => name),
  ];
  const missing = wanted.filter((name) => !listed.has(listedName(scope, fields, name)));
  if (missing.length > 0) throw errors.make('crm-property-missing', { names: missing });
}

type Fields = NonNullable<CrmResource['fields']>;

/** Returns the name of a property in the CRM's list. */
function listedName({ description }: Scope, { depth }: Fields, name: string): string {
  const isNested = description.names === 'nested' && depth === 'first-name';
  return isNested ? (name.split('.')[0] ?? name) : name;
}

/** Fetches the CRM's list of properties with their names. */
async function listFields({ client, signal }: Scope, fields: Fields): Promise<[string, unknown][]> {
  const { body } = await client.send('rest-crm.fields', fields.call, {}, signal);
  const described = valueAt(body, fields.at);
  return fields.name === undefined && isJsonObject(described)
    ? Object.entries(described)
    : listedIn(described, fields.name);
}

/** Returns the names of values: listed names, and additional names by type, such as `assignedUserId` for the link `assignedUser`. */
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

/** Checks whether the mapping has words for lists, and the description shows where the CRM lists options. */
function hasChoices({ resource, properties }: Scope): boolean {
  return resource.fields?.options !== undefined && properties.some(({ words = [] }) => words.length > 0);
}

/**
 * Resolves the mapping's words to the CRM's list values. The mapping may contain labels of pipelines, stages and other options. A property
 * without a list keeps the word.
 * @throws MirrorError `settings`, code `option-missing`, with the available names
 */
async function readChoices(scope: Scope): Promise<Map<string, Choices>> {
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

/** Returns the limits of properties from the description. */
function rulesDescribed(resource: CrmResource | undefined): Map<string, PropertyRule> {
  return new Map(Object.entries(resource?.limits ?? {}));
}

/**
 * Summarises the limits of the mapped properties from the CRM's fields, and from the description for other properties.
 * @param fieldOf the CRM's field of a property; undefined for a part of a field, which has no limits in the CRM's list
 */
function ruleSummary(
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
    const ruleTexts = {
      longest: typeof longest === 'number' && longest > 0 ? longest : undefined,
      form: Object.hasOwn(fields.forms, type) ? fields.forms[type] : undefined,
      required: at(fields.required) === true,
    };
    return [[name, { ...ruleTexts, ...limits[name] }]];
  });
}
