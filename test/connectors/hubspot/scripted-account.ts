import { expect } from 'vitest';
import type { HubSpotCall, HubSpotClient } from '../../../src/connectors/hubspot/client.ts';
import { pathsOf } from '../../../src/connectors/hubspot/client.ts';
import type { Scope } from '../../../src/connectors/hubspot/from-model.ts';
import { writeAll } from '../../../src/connectors/hubspot/writing.ts';
import { toStamp } from '../../../src/connectors/owner.ts';
import type { WireResponse } from '../../../src/connectors/wire.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { CrmItem } from '../../../src/core/model/items.ts';
import type { Outcome, Write } from '../../../src/core/model/operations.ts';
import { describeOutcome, keyOf, MARK, sealedRecordIdOf } from '../../contract/contract-kit.ts';

const text = (name: string) => ({ name, kind: 'text' }) as const;
export const SCOPE: Omit<Scope, 'client'> = {
  stream: 'patients',
  object: 'contacts',
  properties: [text('lastname'), text('email')],
  ownerTag: MARK,
  keyProperty: 'k',
  stampProperty: 's',
  propertyGroup: 'g',
  daysAsInstants: new Set(),
  choices: null,
  hasUniqueKey: true,
  catalogueNames: new Set(),
  subscriptions: [],
  paths: pathsOf('2026-09'),
  log: silentLogger,
};
export const DEALS: typeof SCOPE = {
  ...SCOPE,
  stream: 'invoices',
  object: 'deals',
  properties: [text('dealname'), text('email')],
};

type Values = Record<string, string>;
export type Input = { id: string; properties: Values; objectWriteTraceId: string };
export interface Stored {
  id: string;
  values: Values;
}

/** What a test makes of an account: records by kind, and what it refuses. */
export interface Account {
  contacts?: Stored[];
  deals?: Stored[];
  /** Keys and ids of which a reading says nothing. */
  silentOf?: readonly string[];
  /** Returns the reason why a row of the first, the second … upsert is refused; `silence`: the answer omits the row. */
  refuses?: (input: Input, upsert: number) => object | 'silence' | undefined;
  /** Ids of records of which the joining says nothing, or that the contact is gone. */
  notJoined?: Readonly<Record<string, 'silence' | 'refused'>>;
  log?: Scope['log'];
  /** Ids under which a reading gives the record of another id: theirs were merged into it. */
  mergedInto?: Readonly<Record<string, string>>;
  /** What the answer to an upsert leaves out. */
  untold?: readonly string[];
  tellsNew?: boolean;
}

export function write(
  recordId: string,
  values: Values = {},
  changes: Partial<CrmItem> = {},
): Extract<Write<CrmItem>, { kind: 'create' }> {
  const item = { properties: values, contactKey: null, startAt: 0, ...changes };
  return {
    kind: 'create',
    recordId,
    key: keyOf(recordId),
    sealedRecordId: sealedRecordIdOf(recordId),
    item,
    revision: 1,
  };
}

export function update(
  recordId: string,
  values: Values = {},
  remoteId: string | null = null,
  changes: Partial<CrmItem> = {},
): Write<CrmItem> {
  return { ...write(recordId, values, changes), kind: 'update', versionTag: null, remoteId };
}

/** A managed record in the form of HubSpot. */
export function ours(
  recordId: string,
  id: string,
  values: Values = {},
  { contactKey = null as string | null, ownerTag = MARK } = {},
): Stored {
  const stamp = toStamp(ownerTag, { sealedRecordId: sealedRecordIdOf(recordId), contactKey, startAt: 0, revision: 1 });
  return { id, values: { k: keyOf(recordId), s: stamp, ...values } };
}

/** Entries of a 207. */
export const invalid = (
  key: string,
  codes: string[],
  propertyName: string[] = [],
  message = '',
  category = 'VALIDATION_ERROR',
) => ({
  category,
  message,
  errors: codes.map((code) => ({ code, context: { propertyName } })),
  context: { objectWriteTraceId: [key] },
});
/** The error that the e-mail address belongs to another contact. */
export const taken = (key: string, holderId?: string) =>
  invalid(
    key,
    [],
    [],
    holderId === undefined ? 'taken' : `Contact already exists. Existing ID: ${holderId}`,
    'CONFLICT',
  );

/** Answers each call from the stored objects. */
function answersOf(account: Account, objects: Readonly<Record<string, Stored[]>>) {
  let upserts = 0;
  const success = (body: unknown): WireResponse => ({ status: 207, body, retryAfterMs: null });

  function read(records: Stored[], { inputs, idProperty }: { inputs: { id: string }[]; idProperty?: string }) {
    const results: object[] = [];
    const errors: object[] = [];
    for (const { id } of inputs) {
      if (account.silentOf?.includes(id)) continue;
      const found = records.find(
        (one) => (idProperty === undefined ? one.id : one.values[idProperty]) === (account.mergedInto?.[id] ?? id),
      );
      if (found !== undefined) results.push({ id: found.id, properties: found.values });
      else errors.push({ category: 'OBJECT_NOT_FOUND', context: { ids: [id] } });
    }
    return success({ results, errors });
  }
  function upsert(records: Stored[], inputs: Input[]) {
    upserts += 1;
    const results: object[] = [];
    const errors: object[] = [];
    for (const input of inputs) {
      const refused = account.refuses?.(input, upserts);
      if (refused === 'silence') continue;
      if (refused !== undefined) {
        errors.push(refused);
        continue;
      }
      const known = records.find(({ values }) => values.k === input.id);
      const record = known ?? { id: `new-${records.length}`, values: {} };
      Object.assign(record.values, input.properties);
      if (known === undefined) records.push(record);
      const properties = Object.fromEntries(
        Object.entries(record.values).filter(([name]) => account.untold?.includes(name) !== true),
      );
      const isNew = account.tellsNew === false ? {} : { new: known === undefined };
      results.push({ id: record.id, properties, ...isNew, objectWriteTraceId: input.id });
    }
    return success({ results, errors });
  }
  return ({ label, path, body }: HubSpotCall): WireResponse => {
    const records =
      objects[path.endsWith('/contacts') || path.includes('/contacts/batch/') ? 'contacts' : 'deals'] ?? [];
    const sent = body as { inputs: never[]; idProperty?: string };
    if (label === 'hubspot.objects.read') return read(records, sent);
    if (label === 'hubspot.objects.upsert') return upsert(records, sent.inputs);
    if (label === 'hubspot.objects.update') {
      expect(path).toMatch(/\/batch\/update$/);
      for (const { id, properties } of sent.inputs as { id: string; properties: Values }[])
        Object.assign(records.find((one) => one.id === id)?.values ?? {}, properties);
    }
    if (label !== 'hubspot.associations.create') return success({ results: [] });
    const ids = (sent.inputs as { from: { id: string } }[]).map(({ from }) => from.id);
    return success({
      results: ids.filter((id) => account.notJoined?.[id] === undefined).map((id) => ({ from: { id } })),
      errors: ids
        .filter((id) => account.notJoined?.[id] === 'refused')
        .map((id) => ({ context: { fromObjectId: [id] } })),
    });
  };
}

/** Returns the outcomes of writes in an account, and their calls. */
export async function run(scope: typeof SCOPE, account: Account, ...writes: Write<CrmItem>[]) {
  const objects: Record<string, Stored[]> = {
    contacts: [...(account.contacts ?? [])],
    deals: [...(account.deals ?? [])],
  };
  const calls: { label: string; body: { inputs: unknown[]; properties?: unknown } }[] = [];
  const answerTo = answersOf(account, objects);
  const send = async (call: HubSpotCall) => {
    expect(call.method).toBe('POST');
    calls.push({ label: call.label.replace('hubspot.', ''), body: call.body as { inputs: unknown[] } });
    return answerTo(call);
  };
  const client: HubSpotClient = {
    send,
    demand: async (schema, call) => schema.parse((await send(call)).body),
    demandNothing: async (call) => void (await send(call)),
    errorOf: () => new MirrorError('x', { actor: 'remote', code: 'x', retry: 'later' }),
  };
  const outcomes: Outcome<CrmItem>[] = [];
  await writeAll({ ...scope, client, log: account.log ?? silentLogger }, writes, (outcome) => outcomes.push(outcome));
  const ends = new Map(outcomes.map((outcome) => [outcome.recordId, outcome]));
  expect(outcomes, 'one outcome each').toHaveLength(writes.length);
  const upserted = calls.filter(({ label }) => label === 'objects.upsert').map(({ body }) => body.inputs as Input[]);
  return {
    objects,
    calls,
    labels: calls.map(({ label }) => label),
    /** The e-mail addresses that each upsert sent. */
    emails: upserted.map((inputs) => inputs.map(({ properties }) => properties.email)),
    outcomes,
    words: writes.map(({ recordId }) => describeOutcome(ends.get(recordId) as Outcome)),
    of: (recordId: string) => ends.get(recordId) as Outcome<CrmItem>,
  };
}
