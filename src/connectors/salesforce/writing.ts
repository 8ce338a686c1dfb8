import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Outcome } from '../../model/operations.ts';
import { slices } from '../../model/slices.ts';
import { failed } from '../outcomes.ts';
import type { WireResponse } from '../wire.ts';
import type { Part } from './client.ts';
import { errors, isContactMissing, isKeyInBin, isRace, rowErrorOf } from './errors.ts';
import { toRemoteItem, toRow, type Write } from './from-model.ts';
import { BATCH_SIZE, COLLECTION_BYTES, COLLECTION_SIZE, LEAST_ROWS, MAX_HALVINGS } from './limits.ts';
import { queryPart, type Scope, soqlOf, wholeRecord, wholeResult } from './reading.ts';
import { type RowResult, rowResultsSchema } from './schemas.ts';

/** Collections of one composite call: each is followed by the query that reads back what became of it. */
const COLLECTIONS = BATCH_SIZE / COLLECTION_SIZE;

interface Row {
  write: Write;
  /** As it is sent. */
  content: Record<string, unknown>;
  /** It met a race before: a second one is the caller's. */
  isSecondTry: boolean;
}

/**
 * Upserts by key, as often as wished the same. Rows of one contact stand together, since each write locks its parent. A row that met a
 * race is tried once more; a collection that is refused for one of its rows is halved until that row stands alone.
 * @returns one outcome per write; never throws
 */
export async function upsert(scope: Scope, writes: readonly Write[]): Promise<Outcome<CrmItem>[]> {
  const run = new UpsertRun(scope);
  await run.work(intoCollections(writes.map((write) => toSend(scope, write)).sort(byContact), scope.pace.rows));
  return run.outcomes;
}

/** Rows that are on their way, and what became of the others. */
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

  /** One API call: collections, each followed by the query for what it wrote. */
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
    collections.forEach((rows, index) => {
      this.#settle(rows, answers[2 * index] ?? null, answers[2 * index + 1] ?? null);
    });
  }

  /** Triggers and flows may take longer over a collection than we wait; it was written, and would be for ever again. */
  #slowDown({ code }: MirrorError): void {
    const { pace } = this.#scope;
    if (code === 'timeout') pace.rows = Math.max(LEAST_ROWS, Math.ceil(pace.rows / 2));
  }

  #settle(rows: Row[], answer: WireResponse | null, readBack: WireResponse | null): void {
    if (answer === null) {
      this.#giveUp(rows, errors.make('answer-missing'));
      return;
    }
    if (answer.status !== 200) {
      this.#refuse(rows, errors.of(answer), answer.status);
      return;
    }
    const results = rowResultsSchema.safeParse(answer.body);
    // Results have no names, only places: with one too few nothing can be said of any.
    if (!results.success || results.data.length !== rows.length) {
      this.#giveUp(rows, errors.make('unexpected-answer', { ambiguous: true }));
      return;
    }
    const stored = storedItems(this.#scope, rows, readBack);
    rows.forEach((row, index) => {
      const result = results.data[index]!;
      if (!result.success && !row.isSecondTry && isRace(result)) this.#raced.push({ ...row, isSecondTry: true });
      else this.outcomes.push(this.#outcomeOf(row, result, stored));
    });
  }

  /** The whole collection was refused, and nothing of it written. */
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
    const { recordId, key, kind, item } = write;
    if (result.success && result.id) {
      const isNew = result.created === true;
      const effect = kind === 'create' ? (isNew ? 'created' : 'adopted') : isNew ? 'recreated' : 'updated';
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

/** What the org made of the rows: it trims, changes case, rounds, and runs triggers. Empty when it can't be read. */
function storedItems(
  { form, ownerTag }: Scope,
  rows: readonly Row[],
  readBack: WireResponse | null,
): Map<ItemKey, CrmItem> {
  const contactKeys = new Map(rows.map(({ write }) => [write.key, write.item.contactKey]));
  const stored = new Map<ItemKey, CrmItem>();
  let records: ReturnType<typeof wholeResult>;
  try {
    records = wholeResult(readBack);
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
 * Lets a write pass that a duplicate rule alerts to.
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

function toSend({ form, ownerTag }: Scope, write: Write): Row {
  return { write, content: toRow(form, ownerTag, write), isSecondTry: false };
}

/** Contacts first by none: a parent's children stand together, in an order that is the same each time. */
function byContact({ write: one }: Row, { write: other }: Row): number {
  const [a, b] = [`${one.item.contactKey ?? ''} ${one.key}`, `${other.item.contactKey ?? ''} ${other.key}`];
  return a < b ? -1 : 1;
}

/** Pieces of at most so many rows, and of at most so many bytes unless one row alone has more. */
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
