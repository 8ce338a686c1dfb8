import { asMirrorError, MirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { Outcome } from '../../model/operations.ts';
import { slices } from '../../model/slices.ts';
import { failed } from '../outcomes.ts';
import { resultsOf } from './deleting.ts';
import { INDIVIDUAL, INDIVIDUAL_FIELD, type Individuals } from './description.ts';
import { errors } from './errors.ts';
import type { Write } from './from-model.ts';
import { COLLECTION_SIZE, NAMELESS } from './limits.ts';
import { type Scope, selectIn } from './reading.ts';
import type { SeenRecord } from './schemas.ts';

/** A contact that was just written, of somebody who refuses. */
interface Refusing {
  write: Write;
  contactId: string;
  /** Names of the fields that are to be ticked. */
  optOuts: readonly string[];
}

/**
 * Notes refusals where Salesforce's own consent tools look: in the Individual that the contact refers to. A contact without one gets one,
 * under our key, when its patient refuses; for whoever agrees to all nothing is written. What is ticked is never taken back: it may
 * have been a person's word.
 * @returns the outcomes; a contact whose refusal was not taken is failed, and written again
 * @see https://developer.salesforce.com/docs/atlas.en-us.object_reference.meta/object_reference/sforce_api_objects_individual.htm
 */
export async function recordOptOuts(
  scope: Scope,
  writes: readonly Write[],
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
  writes: readonly Write[],
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

/** @returns why refusals were not taken, by record @throws MirrorError for all of them */
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

/** The Individuals that contacts refer to now, by the contact; a contact without one is left out. */
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

/** Sends one collection. @returns for each row the id of its record, or why it was not taken */
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
