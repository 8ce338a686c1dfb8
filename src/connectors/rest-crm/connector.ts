import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome } from '../../model/operations.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { createCrmClient } from './client.ts';
import { aborted, concernsOneItem, contactMissing, notSent, severalMatches, streamNotDescribed } from './errors.ts';
import type { CrmRow } from './from-model.ts';
import { readOurs } from './listing.ts';
import { findByKeys } from './lookup.ts';
import { prepareTarget } from './preparing.ts';
import type { RestCrmSettings } from './schemas.ts';
import type { Scope } from './scope.ts';
import { type ReadyWrite, upsertAll } from './upserting.ts';
import { carryOut } from './writing.ts';

/** Opens one target in a CRM. */
export function openRestCrm(context: ConnectorContext<RestCrmSettings>): Connector<CrmItem> {
  const { settings, crm, mark, http, authorizer } = context;
  const { description, baseUrl } = settings;
  const client = createCrmClient({ http, authorizer, settings });
  const scopeFor = (signal: AbortSignal): Scope => {
    const stream = crm?.stream ?? 'patients';
    const resource = description.streams[stream];
    if (resource === undefined) throw streamNotDescribed();
    return { client, description, resource, stream, properties: crm?.properties ?? [], mark, baseUrl, signal };
  };
  return {
    prepare: async (_known, signal) => await prepareTarget(scopeFor(signal)),
    apply: async (_container, operations, signal) => await applyAll(scopeFor(signal), operations),
    read: (_container, window, signal) => readOurs(scopeFor(signal), window),
    async find(_container, keys, signal) {
      const found = await findByKeys(scopeFor(signal), scopeFor(signal).resource, keys);
      return [...found].flatMap(([key, rows]) =>
        rows.filter(({ owner }) => owner !== 'foreign').map(({ remote }) => ({ key, ...remote })),
      );
    },
    async changes(_container, { window }, signal) {
      const items = (await Array.fromAsync(readOurs(scopeFor(signal), window))).flat();
      return { scope: 'whole', items, removed: [], cursor: null };
    },
  };
}

/** What a look before the operations found. */
interface Seen {
  objects: Map<ItemKey, CrmRow[]>;
  contacts: Map<ItemKey, CrmRow[]>;
}

/** Carries out operations; what fails for the whole target ends the series without another request. */
async function applyAll(scope: Scope, operations: readonly Operation<CrmItem>[]): Promise<Outcome<CrmItem>[]> {
  const { upsert } = scope.resource;
  const oneByOne = operations.filter(({ kind }) => upsert === undefined || kind === 'delete');
  const contactKeys = operations.flatMap((operation) =>
    operation.kind === 'delete' || operation.item.contactKey === null ? [] : [operation.item.contactKey],
  );
  const seen: Seen = {
    objects: await findByKeys(
      scope,
      scope.resource,
      oneByOne.map(({ key }) => key),
    ),
    contacts: await contactsOf(scope, contactKeys),
  };
  const outcomes: Outcome<CrmItem>[] = [];
  const ready: ReadyWrite[] = [];
  let ending: MirrorError | null = null;
  for (const operation of operations) {
    try {
      if (ending !== null) throw ending;
      if (scope.signal.aborted) throw aborted();
      const contactId = contactIdOf(seen.contacts, operation);
      if (upsert !== undefined && operation.kind !== 'delete') ready.push({ operation, contactId });
      else outcomes.push(await carryOut(scope, operation, seen.objects.get(operation.key) ?? [], contactId));
    } catch (thrown) {
      const error = asMirrorError(thrown);
      if (ending === null && endsSeries(error, outcomes.at(-1))) {
        if (outcomes.length === 0 && ready.length === 0) throw error;
        ending = notSent(error);
      }
      outcomes.push({ recordId: operation.recordId, result: 'failed', error });
    }
  }
  const all = [...outcomes, ...(upsert === undefined ? [] : await upsertAll(scope, upsert, ready))];
  const [first] = all;
  if (first?.result === 'failed' && isSharedByAll(first.error, all)) throw first.error;
  return all;
}

/** One failure of the whole target that met every operation. */
function isSharedByAll(error: MirrorError, outcomes: readonly Outcome<CrmItem>[]): boolean {
  return !concernsOneItem(error) && outcomes.every((one) => one.result === 'failed' && one.error === error);
}

/** A connection that breaks twice running will not carry the rest either. */
function endsSeries(error: MirrorError, before: Outcome<CrmItem> | undefined): boolean {
  if (!concernsOneItem(error)) return true;
  return error.code === 'connection-failed' && before?.result === 'failed' && before.error.code === error.code;
}

async function contactsOf(scope: Scope, keys: readonly ItemKey[]): Promise<Map<ItemKey, CrmRow[]>> {
  const { patients } = scope.description.streams;
  if (patients === undefined || keys.length === 0) return new Map();
  // The contacts' own properties are none of this target's.
  return await findByKeys({ ...scope, properties: [] }, patients, keys);
}

/** @throws MirrorError of this operation alone: the contact is not there, or more than once */
function contactIdOf(contacts: Seen['contacts'], operation: Operation<CrmItem>): string | null {
  if (operation.kind === 'delete' || operation.item.contactKey === null) return null;
  const [contact, ...others] = contacts.get(operation.item.contactKey) ?? [];
  if (contact === undefined) throw contactMissing();
  if (others.length > 0) throw severalMatches();
  return contact.id;
}
