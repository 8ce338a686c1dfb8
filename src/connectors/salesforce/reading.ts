import type { Logger } from '../../core/log/logger.ts';
import type { CrmItem } from '../../core/model/items.ts';
import type { ItemKey, RemoteItem } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import { parsedBy } from '../errors.ts';
import { readEach, type WireResponse, walkPages } from '../wire.ts';
import type { OrgClient, Part } from './client.ts';
import type { ContactReference, RecordForm } from './description.ts';
import { errors } from './errors.ts';
import { contactIdOf, fieldsOf, toRemoteItem, toUnstamped } from './from-model.ts';
import { COMPOSITE_PARTS, MAX_PAGES, PAGE_SIZE, QUERY_KEYS } from './limits.ts';
import { pageSchema, recordSchema, type SeenRecord } from './schemas.ts';

/** Data and settings for the calls of one target. */
export interface Scope {
  client: OrgClient;
  form: RecordForm;
  ownerTag: string;
  /** Number of objects per collection. */
  pace: { rows: number };
  /** Whether to save objects despite an alert of a duplicate rule. */
  allowDuplicates: boolean;
  /** Whether erased objects are removed from the recycle bin too. */
  emptiesBin: boolean;
  log: Logger;
}

/** Fetches all objects with the owner tag, in pages: all contacts, and other objects by the time in their stamp. */
export async function* readPages(scope: Scope, window: TimeWindow | null): AsyncGenerator<RemoteItem<CrmItem>[]> {
  const { form, ownerTag } = scope;
  const contacts = new Map<string, string>();
  for await (const records of queryPages(scope, `${form.stampField} LIKE ${quoted(`${ownerTag}.%`)}`)) {
    const items = await toItems(scope, records, contacts);
    const wanted = items.filter(({ item }) => window === null || form.stream === 'patients' || isWithin(item, window));
    if (wanted.length > 0) yield wanted;
  }
}

/** Fetches all objects that match a SOQL condition, in pages. */
export async function* queryPages({ client, form }: Scope, condition: string): AsyncGenerator<SeenRecord[]> {
  const soql = `SELECT ${fieldsOf(form).join(', ')} FROM ${form.object} WHERE ${condition}`;
  const headers = { 'sforce-query-options': `batchSize=${PAGE_SIZE}` };
  const ask = async (path: string) => {
    const body = await client.send({ label: 'salesforce.query', method: 'GET', path, headers });
    const page = parsedBy(errors, pageSchema, body);
    const records = await seenRecords(page.records);
    return { page: records, next: page.done ? null : nextPath(client, page.nextRecordsUrl) };
  };
  yield* walkPages(client.pathOf(queryPath(soql)), ask, () => errors.make('unexpected-answer'), MAX_PAGES);
}

/** Fetches the existing own objects among the keys, also with a lost or damaged stamp: only clinic-mirror can produce a key. */
export async function findByKey(scope: Scope, keys: readonly ItemKey[]): Promise<RemoteItem<CrmItem>[]> {
  const { client, form } = scope;
  const records = await selectIn(client, { ...wholeRecord(form), field: form.keyField, values: keys });
  const unstamped = records.flatMap((record) => toUnstamped(form, scope.ownerTag, record) ?? []);
  return [...(await toItems(scope, records, new Map())), ...unstamped];
}

/** Selection of fields, for the objects whose `field` has one of the values. */
export interface Selection {
  fields: readonly string[];
  object: string;
  field: string;
  values: readonly string[];
  /** Additional SOQL condition. */
  where?: string;
}

/** Selects all fields of a target's objects. */
export function wholeRecord(form: RecordForm): Pick<Selection, 'fields' | 'object'> {
  return { fields: fieldsOf(form), object: form.object };
}

/** Returns a selection as SOQL. */
export function soqlOf({ fields, object, field, values, where }: Selection): string {
  const also = where === undefined ? '' : `${where} AND `;
  return `SELECT ${fields.join(', ')} FROM ${object} WHERE ${also}${field} IN (${values.map(quoted).join(',')})`;
}

/** Fetches the objects of a selection with any number of values. @param how label and destination of the calls */
export async function selectIn(
  client: OrgClient,
  selection: Selection,
  how: { label?: string; resource?: QueryResource } = {},
): Promise<SeenRecord[]> {
  const queries = slices(selection.values, QUERY_KEYS).map((values) => soqlOf({ ...selection, values }));
  return (await runQueries(client, how.label ?? 'salesforce.find', queries, how.resource)).flat();
}

/** Returns a query as part of a composite. */
export function queryPart(soql: string, resource?: QueryResource): Part {
  return { method: 'GET', path: queryPath(soql, resource) };
}

/** `/queryAll` includes the recycle bin (REST API Developer Guide, QueryAll). */
type QueryResource = '/query' | '/queryAll';

/**
 * Runs queries with one page of results each, five per API call.
 * @throws MirrorError also if a result is incomplete, since missing objects could not be distinguished from absent objects
 */
export async function runQueries(
  client: OrgClient,
  label: string,
  queries: readonly string[],
  resource?: QueryResource,
): Promise<SeenRecord[][]> {
  const results: SeenRecord[][] = [];
  for (const slice of slices(queries, COMPOSITE_PARTS)) {
    const parts = slice.map((soql) => queryPart(soql, resource));
    const answers = await client.composite(label, parts);
    for (const answer of answers) results.push(await wholeResult(answer));
  }
  return results;
}

/** Returns all objects of a query. @throws MirrorError if the query was refused or its result is incomplete */
export async function wholeResult(answer: WireResponse | null): Promise<SeenRecord[]> {
  if (answer === null) throw errors.make('answer-missing');
  if (answer.status !== 200) throw errors.of(answer);
  const page = pageSchema.safeParse(answer.body);
  if (!page.success || !page.data.done) throw errors.make('unexpected-answer');
  return await seenRecords(page.data.records);
}

function seenRecords(records: readonly unknown[]): Promise<SeenRecord[]> {
  return readEach(records, (record) => parsedBy(errors, recordSchema, record));
}

/** Quotes a string for SOQL (SOQL and SOSL Reference, Quoted String Escape Sequences). */
export function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}

function queryPath(soql: string, resource: QueryResource = '/query'): string {
  return `${resource}?q=${encodeURIComponent(soql)}`;
}

/** Returns the path of the next page. A response cannot redirect to a different host or resource. */
function nextPath(client: OrgClient, address: string | undefined): string {
  const prefix = client.pathOf('/query/');
  if (address === undefined || !address.startsWith(prefix) || !/^[\w-]+$/.test(address.slice(prefix.length))) {
    throw errors.make('unexpected-answer');
  }
  return address;
}

/** The contact of an object is its reference, not the contact in its stamp: a user may have changed the reference. */
async function toItems(
  { client, form, ownerTag }: Scope,
  records: readonly SeenRecord[],
  contacts: Map<string, string>,
): Promise<RemoteItem<CrmItem>[]> {
  const ids = new Set(await readEach(records, (record) => contactIdOf(form, record)));
  const unknown = [...ids].filter((id) => !contacts.has(id));
  if (form.contact !== null) await learnContacts(client, form.contact, unknown, contacts);
  return await readEach(records, (record) => {
    const contactId = contactIdOf(form, record);
    return toRemoteItem(form, ownerTag, record, contactId === null ? null : (contacts.get(contactId) ?? ''));
  });
}

/** Fetches keys of contacts by id, without contacts that have no key. */
async function learnContacts(
  client: OrgClient,
  { object, keyField }: ContactReference,
  ids: readonly string[],
  contacts: Map<string, string>,
): Promise<void> {
  const selection = { fields: ['Id', keyField], object, field: 'Id', values: ids };
  for (const record of await selectIn(client, selection, { label: 'salesforce.contacts' })) {
    const key = record[keyField];
    if (typeof key === 'string') contacts.set(record.Id, key);
  }
}

function isWithin(item: CrmItem | null, { fromAt, toAt }: TimeWindow): boolean {
  return item === null || (item.startAt >= fromAt && item.startAt < toAt);
}
