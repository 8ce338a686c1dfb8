import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import type { ItemKey, Outcome, Write } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { effectOf, failed } from '../outcomes.ts';
import type { WireResponse } from '../wire.ts';
import type { Part } from './client.ts';
import { resultsOf } from './deleting.ts';
import { INDIVIDUAL, INDIVIDUAL_FIELD, type Individuals } from './description.ts';
import { errors, isContactMissing, isKeyInBin, isRace, rowErrorOf } from './errors.ts';
import { toRemoteItem, toRow } from './from-model.ts';
import { BATCH_SIZE, COLLECTION_BYTES, COLLECTION_SIZE, LEAST_ROWS, MAX_HALVINGS, NAMELESS } from './limits.ts';
import { queryPart, type Scope, selectIn, soqlOf, wholeRecord, wholeResult } from './reading.ts';
import { type RowResult, rowResultsSchema, type SeenRecord } from './schemas.ts';

/** Collections of one composite. A query for the stored values follows each collection. */
const COLLECTIONS = BATCH_SIZE / COLLECTION_SIZE;

interface Row {
  write: Write<CrmItem>;
  /** Sent values. */
  content: Record<string, unknown>;
  /** Whether a concurrent change already caused one retry; the caller handles a second one. */
  isSecondTry: boolean;
}

/**
 * Upserts by key, with an equal result after repetition. Objects of one contact are adjacent, since each write locks its parent. An object
 * with a concurrent change is retried once. A collection that Salesforce refuses because of one object is halved until only that object
 * remains.
 * @returns one outcome per write; never throws
 */
export async function upsert(scope: Scope, writes: readonly Write<CrmItem>[]): Promise<Outcome<CrmItem>[]> {
  const run = new UpsertRun(scope);
  await run.work(intoCollections(writes.map((write) => toSend(scope, write)).sort(byContact), scope.pace.rows));
  return run.outcomes;
}

/** State of one upsert: unsent objects, and outcomes of the others. */
class UpsertRun {
  readonly outcomes: Outcome<CrmItem>[] = [];
  readonly #scope: Scope;
  #waiting: Row[][] = [];
  #raced: Row[] = [];
  #halvings = 0;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  async work(collections: Row[][]): Promise<void> {
    this.#waiting = collections;
    while (this.#waiting.length > 0) {
      await this.#sendSome();
      if (this.#waiting.length === 0) this.#waiting = intoCollections(this.#raced.splice(0), this.#scope.pace.rows);
    }
  }

  /** Sends one API call: collections, each followed by the query for its stored values. */
  async #sendSome(): Promise<void> {
    const collections = this.#waiting.splice(0, COLLECTIONS);
    const { client, form } = this.#scope;
    const parts = collections.flatMap((rows): Part[] => [
      collectionPart(this.#scope, rows),
      queryPart(soqlOf({ ...wholeRecord(form), field: form.keyField, values: rows.map(({ write }) => write.key) })),
    ]);
    let answers: (WireResponse | null)[];
    try {
      answers = await client.composite('salesforce.upsert', parts);
    } catch (error) {
      this.#slowDown(asMirrorError(error));
      this.#giveUp([...collections.flat(), ...this.#waiting.splice(0).flat(), ...this.#raced.splice(0)], error);
      return;
    }
    for (const [index, rows] of collections.entries()) {
      await this.#complete(rows, answers[2 * index] ?? null, answers[2 * index + 1] ?? null);
    }
  }

  /**
   * Triggers and flows may take longer than the timeout although the collection was written. Without smaller collections, the write would
   * be repeated forever.
   */
  #slowDown({ code }: MirrorError): void {
    const { pace } = this.#scope;
    if (code === 'timeout') pace.rows = Math.max(LEAST_ROWS, Math.ceil(pace.rows / 2));
  }

  async #complete(rows: Row[], answer: WireResponse | null, readBack: WireResponse | null): Promise<void> {
    if (answer === null) {
      this.#giveUp(rows, errors.make('answer-missing'));
      return;
    }
    if (answer.status !== 200) {
      this.#refuse(rows, errors.of(answer), answer.status);
      return;
    }
    const results = rowResultsSchema.safeParse(answer.body);
    // Results are identified only by position: if one is missing, all are unknown.
    if (!results.success || results.data.length !== rows.length) {
      this.#giveUp(rows, errors.make('unexpected-answer', { ambiguous: true }));
      return;
    }
    const stored = await storedItems(this.#scope, rows, readBack);
    rows.forEach((row, index) => {
      const result = results.data[index]!;
      if (!result.success && !row.isSecondTry && isRace(result)) this.#raced.push({ ...row, isSecondTry: true });
      else this.outcomes.push(this.#outcomeOf(row, result, stored));
    });
  }

  /** Salesforce refused the whole collection and wrote nothing. */
  #refuse(rows: Row[], error: MirrorError, status: number): void {
    if (errors.scopeOf(error) === 'target') {
      this.#giveUp([...rows, ...this.#waiting.splice(0).flat()], error);
      return;
    }
    const isOnesFault = rows.length > 1 && (status === 400 || status === 413) && this.#halvings < MAX_HALVINGS;
    if (!isOnesFault) {
      this.#giveUp(rows, error);
      return;
    }
    this.#halvings += 1;
    const middle = Math.ceil(rows.length / 2);
    this.#waiting.push(rows.slice(0, middle), rows.slice(middle));
  }

  #giveUp(rows: readonly Row[], error: unknown): void {
    const failure = asMirrorError(error);
    for (const { write } of rows) this.outcomes.push(failed(write, failure));
  }

  #outcomeOf({ write }: Row, result: RowResult, stored: ReadonlyMap<ItemKey, CrmItem>): Outcome<CrmItem> {
    const { recordId, key, item } = write;
    if (result.success && result.id) {
      const effect = effectOf(write, result.created === true);
      const asStored = stored.get(key);
      const outcome = { recordId, result: 'written', effect, versionTag: null, remoteId: result.id } as const;
      return asStored === undefined ? outcome : { ...outcome, stored: asStored };
    }
    if (result.success) return failed(write, errors.make('unexpected-answer', { ambiguous: true }));
    if (isKeyInBin(result)) return { recordId, result: 'key-burnt' };
    const lacksContact = item.contactKey !== null && isContactMissing(result);
    return failed(
      write,
      lacksContact ? errors.make('contact-missing') : rowErrorOf(result, this.#scope.form.fieldNames),
    );
  }
}

/** Returns the stored values of the objects: the org trims, changes case, rounds, and runs triggers. Empty if the result is unreadable. */
async function storedItems(
  { form, ownerTag }: Scope,
  rows: readonly Row[],
  readBack: WireResponse | null,
): Promise<Map<ItemKey, CrmItem>> {
  const contactKeys = new Map(rows.map(({ write }) => [write.key, write.item.contactKey]));
  const stored = new Map<ItemKey, CrmItem>();
  let records: Awaited<ReturnType<typeof wholeResult>>;
  try {
    records = await wholeResult(readBack);
  } catch {
    return stored;
  }
  for (const record of records) {
    const key = record[form.keyField];
    const remote = toRemoteItem(form, ownerTag, record, contactKeys.get(String(key)) ?? null);
    if (remote !== null && remote.item !== null) stored.set(remote.key, remote.item);
  }
  return stored;
}

/**
 * Allows writes despite an alert of a duplicate rule.
 * @see https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/headers_duplicaterules.htm
 */
export const ALLOW_DUPLICATES = { 'Sforce-Duplicate-Rule-Header': 'allowSave=true' };

function collectionPart({ form, allowDuplicates }: Scope, rows: readonly Row[]): Part {
  return {
    ...(allowDuplicates ? { headers: ALLOW_DUPLICATES } : {}),
    method: 'PATCH',
    path: `/composite/sobjects/${form.object}/${form.keyField}`,
    body: { allOrNone: false, records: rows.map(({ content }) => content) },
  };
}

function toSend({ form, ownerTag }: Scope, write: Write<CrmItem>): Row {
  return { write, content: toRow(form, ownerTag, write), isSecondTry: false };
}

/** Orders objects by contact and key: objects of one parent are adjacent and in a stable order; objects without a contact come first. */
function byContact({ write: one }: Row, { write: other }: Row): number {
  const [a, b] = [`${one.item.contactKey ?? ''} ${one.key}`, `${other.item.contactKey ?? ''} ${other.key}`];
  return a < b ? -1 : 1;
}

/** Divides objects into collections with at most `most` objects, and within the byte limit unless a single object exceeds it. */
function intoCollections(rows: readonly Row[], most: number): Row[][] {
  const collections: Row[][] = [];
  for (const piece of slices(rows, most)) {
    let bytes = Number.POSITIVE_INFINITY;
    for (const row of piece) {
      const size = Buffer.byteLength(JSON.stringify(row.content));
      if (bytes + size > COLLECTION_BYTES) {
        collections.push([]);
        bytes = 0;
      }
      collections.at(-1)!.push(row);
      bytes += size;
    }
  }
  return collections;
}

/** Written contact with a refusal. */
interface Refusing {
  write: Write<CrmItem>;
  contactId: string;
  /** Names of the fields to tick. */
  optOuts: readonly string[];
}

/**
 * Stores refusals for Salesforce's consent tools: in the Individual that the contact refers to. If a contact without an Individual refuses,
 * an Individual with the key is created. Without a refusal, nothing is written. A ticked field is never cleared, since a user may have
 * ticked it.
 * @returns the outcomes; a contact whose refusal was not stored has failed, and is written again
 * @see https://developer.salesforce.com/docs/atlas.en-us.object_reference.meta/object_reference/sforce_api_objects_individual.htm
 */
export async function recordOptOuts(
  scope: Scope,
  writes: readonly Write<CrmItem>[],
  outcomes: Outcome<CrmItem>[],
): Promise<Outcome<CrmItem>[]> {
  const { individuals } = scope.form;
  const refusing = individuals === null ? [] : refusingIn(individuals, writes, outcomes);
  if (individuals === null || refusing.length === 0) return outcomes;
  const untaken = new Map<string, MirrorError>();
  for (const slice of slices(refusing, COLLECTION_SIZE)) {
    try {
      for (const [recordId, error] of await recordRefusals(scope, individuals, slice)) untaken.set(recordId, error);
    } catch (error) {
      for (const { write } of slice) untaken.set(write.recordId, asMirrorError(error));
    }
  }
  return outcomes.map((outcome) => {
    const error = untaken.get(outcome.recordId);
    return error === undefined ? outcome : failed(outcome, error);
  });
}

function refusingIn(
  { rules }: Individuals,
  writes: readonly Write<CrmItem>[],
  outcomes: readonly Outcome<CrmItem>[],
): Refusing[] {
  const ids = new Map(outcomes.flatMap((one) => (one.result === 'written' ? [[one.recordId, one.remoteId]] : [])));
  return writes.flatMap((write) => {
    const optOuts = rules
      .filter(({ property }) => write.item.properties[property] === false)
      .map(({ optOut }) => optOut);
    const contactId = ids.get(write.recordId) ?? null;
    return contactId === null || optOuts.length === 0 ? [] : [{ write, contactId, optOuts: [...new Set(optOuts)] }];
  });
}

/** @returns by record id, the reason why a refusal was not stored @throws MirrorError for failures of all refusals */
async function recordRefusals(scope: Scope, individuals: Individuals, refusing: readonly Refusing[]) {
  const existing = await readIndividuals(scope, individuals, refusing);
  const due = refusing.filter(({ contactId, optOuts }) => {
    const now = existing.get(contactId);
    return now === undefined || optOuts.some((name) => now[name] !== true);
  });
  const withIndividual = due.filter(({ contactId }) => existing.has(contactId));
  const without = due.filter(({ contactId }) => !existing.has(contactId));
  const untaken = new Map<string, MirrorError>();
  const send = async (some: readonly Refusing[], rows: readonly object[], path: string) => {
    const ends = some.length === 0 ? [] : await sendRows(scope, some, rows, path);
    for (const { write, end } of ends) if (end instanceof MirrorError) untaken.set(write.recordId, end);
    return ends.flatMap(({ end, ...one }) => (end instanceof MirrorError ? [] : [{ ...one, id: end }]));
  };
  const ticked = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true]));
  const updateRows = withIndividual.map(({ contactId, optOuts }) => ({
    id: existing.get(contactId)!.Id,
    ...ticked(optOuts),
  }));
  await send(
    withIndividual,
    updateRows.map((row) => ({ attributes: { type: INDIVIDUAL }, ...row })),
    '/composite/sobjects',
  );
  const newRows = without.map(({ write: { key, item }, optOuts }) => ({
    attributes: { type: INDIVIDUAL },
    [individuals.keyField]: key,
    LastName: textOr(item.properties.LastName, NAMELESS),
    ...ticked(optOuts),
  }));
  const made = await send(without, newRows, `/composite/sobjects/${INDIVIDUAL}/${individuals.keyField}`);
  const links = made.map(({ contactId, id }) => ({
    attributes: { type: scope.form.object },
    id: contactId,
    [INDIVIDUAL_FIELD]: id,
  }));
  await send(made, links, '/composite/sobjects');
  return untaken;
}

/** Fetches the current Individuals of contacts, by contact, without contacts that have no Individual. */
async function readIndividuals(
  { client, form }: Scope,
  { rules }: Individuals,
  refusing: readonly Refusing[],
): Promise<Map<string, SeenRecord>> {
  const names = [...new Set(rules.map(({ optOut }) => optOut))];
  const contacts = await selectIn(client, {
    fields: ['Id', INDIVIDUAL_FIELD],
    object: form.object,
    field: 'Id',
    values: refusing.map(({ contactId }) => contactId),
  });
  const idOf = new Map(
    contacts.flatMap((contact) => {
      const id = contact[INDIVIDUAL_FIELD];
      return typeof id === 'string' ? [[contact.Id, id] as const] : [];
    }),
  );
  if (idOf.size === 0) return new Map();
  const ids = [...new Set(idOf.values())];
  const found = await selectIn(client, { fields: ['Id', ...names], object: INDIVIDUAL, field: 'Id', values: ids });
  const byId = new Map(found.map((record) => [record.Id, record]));
  return new Map([...idOf].flatMap(([contactId, id]) => (byId.has(id) ? [[contactId, byId.get(id)!] as const] : [])));
}

/** Sends one collection. @returns for each element the id of its object, or the refusal */
async function sendRows(
  { client }: Scope,
  some: readonly Refusing[],
  records: readonly object[],
  path: string,
): Promise<(Refusing & { end: string | MirrorError })[]> {
  const part = { method: 'PATCH', path, body: { allOrNone: false, records } } as const;
  const [answer = null] = await client.composite('salesforce.individuals', [part]);
  const results = resultsOf(
    some.map((_, index) => String(index)),
    answer,
  );
  return some.map((one, index) => {
    const result = results[index]![1];
    if (result instanceof MirrorError) return { ...one, end: result };
    const isTaken = result.success && typeof result.id === 'string';
    return { ...one, end: isTaken ? String(result.id) : errors.make('opt-out-not-taken') };
  });
}

function textOr(value: CrmItem['properties'][string] | undefined, otherwise: string): string {
  return typeof value === 'string' && value.trim() !== '' ? value : otherwise;
}
