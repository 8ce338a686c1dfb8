import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome } from '../../model/operations.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { inTurn, settle } from '../settle.ts';
import { createCrmClient } from './client.ts';
import { type Removal, removeAll, toRemoval } from './deleting.ts';
import { errors } from './errors.ts';
import type { CrmRow } from './from-model.ts';
import { readOurs } from './listing.ts';
import { findByKeys, theOne } from './lookup.ts';
import { prepareTarget } from './preparing.ts';
import type { RestCrmSettings } from './schemas.ts';
import type { Scope } from './scope.ts';
import { type ReadyWrite, upsertAll } from './upserting.ts';
import { carryOut } from './writing.ts';

/** Opens one target in a CRM. */
export function openRestCrm(context: ConnectorContext<RestCrmSettings>): Connector<CrmItem> {
  const { settings, crm, ownerTag, http, authorizer } = context;
  const { description, baseUrl } = settings;
  const client = createCrmClient({ http, authorizer, settings });
  const scopeFor = (signal: AbortSignal): Scope => {
    const stream = crm?.stream ?? 'patients';
    const resource = description.streams[stream];
    if (resource === undefined) throw errors.make('stream-not-described');
    return { client, description, resource, stream, properties: crm?.properties ?? [], ownerTag, baseUrl, signal };
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
  const { upsert, deleteMany } = scope.resource;
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
  const ready: ReadyWrite[] = [];
  const leaving: Removal[] = [];
  const outcomes = await inTurn(operations, errors, scope.signal, async (operation) => {
    const contactId = contactIdOf(seen.contacts, operation);
    const found = seen.objects.get(operation.key) ?? [];
    if (operation.kind === 'delete' && deleteMany !== undefined) {
      const removal = await toRemoval(scope, operation, found);
      if ('result' in removal) return removal;
      leaving.push(removal);
      return null;
    }
    if (upsert === undefined || operation.kind === 'delete') return carryOut(scope, operation, found, contactId);
    ready.push({ operation, contactId });
    return null;
  });
  if (deleteMany !== undefined) outcomes.push(...(await removeAll(scope, deleteMany, leaving)));
  if (upsert !== undefined) outcomes.push(...(await upsertAll(scope, upsert, ready)));
  return settle(outcomes, errors);
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
  const contact = theOne(contacts.get(operation.item.contactKey) ?? []);
  if (contact === null) throw errors.make('contact-missing');
  return contact.id;
}
