import { asMirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome } from '../../model/operations.ts';
import { inTurn, notSent, settle } from '../settle.ts';
import { type Removal, removeAll, toRemovals } from './deleting.ts';
import { errors } from './errors.ts';
import type { CrmRow } from './from-model.ts';
import { findByKeys, findContacts, theOne } from './lookup.ts';
import type { Scope } from './scope.ts';
import { writeSharing } from './sharing.ts';
import { type ReadyWrite, upsertAll } from './upserting.ts';
import { carryOut } from './writing.ts';

/**
 * Carries out operations; what fails for the whole target ends the series without another request.
 * @throws MirrorError when nothing can be said of any; `unsent` when the look failed
 */
export async function applyAll(scope: Scope, operations: readonly Operation<CrmItem>[]): Promise<Outcome<CrmItem>[]> {
  let hasLooked = false;
  const carryOutSome = async (some: readonly Operation<CrmItem>[]) => {
    const seen = await lookBefore(scope, some).catch((error) => {
      throw hasLooked ? error : notSent(asMirrorError(error));
    });
    hasLooked = true;
    return carryOutAll(scope, some, seen);
  };
  return settle(await writeSharing(scope, operations, carryOutSome), errors);
}

/** What a look before the operations found. */
interface Seen {
  objects: Map<ItemKey, CrmRow[]>;
  contacts: Map<ItemKey, CrmRow[]>;
}

async function carryOutAll(scope: Scope, operations: readonly Operation<CrmItem>[], seen: Seen) {
  const { upsert, deleteMany } = scope.resource;
  const ready: ReadyWrite[] = [];
  const leaving: Removal[] = [];
  const outcomes = await inTurn(operations, errors, scope.signal, async (operation) => {
    const contactId = contactIdOf(seen.contacts, operation);
    const found = seen.objects.get(operation.key) ?? [];
    // Copies go one by one, before the record that they are copies of.
    if (operation.kind === 'delete' && deleteMany !== undefined && found.length < 2) {
      const removals = await toRemovals(scope, operation, found);
      if ('result' in removals) return removals;
      leaving.push(...removals);
      return null;
    }
    if (upsert === undefined || operation.kind === 'delete') return carryOut(scope, operation, found, contactId);
    ready.push({ operation, contactId });
    return null;
  });
  if (deleteMany !== undefined) outcomes.push(...(await removeAll(scope, deleteMany, leaving)));
  if (upsert !== undefined) outcomes.push(...(await upsertAll(scope, upsert, ready)));
  return { outcomes, before: seen.objects };
}

async function lookBefore(scope: Scope, operations: readonly Operation<CrmItem>[]): Promise<Seen> {
  const { upsert } = scope.resource;
  const oneByOne = operations.filter(({ kind }) => upsert === undefined || kind === 'delete');
  const contactKeys = operations.flatMap((operation) =>
    operation.kind === 'delete' || operation.item.contactKey === null ? [] : [operation.item.contactKey],
  );
  const objects = await findByKeys(
    scope,
    scope.resource,
    oneByOne.map(({ key }) => key),
  );
  return { objects, contacts: await findContacts(scope, contactKeys) };
}

/** @throws MirrorError of this operation alone: the contact is not there, or more than once */
function contactIdOf(contacts: Seen['contacts'], operation: Operation<CrmItem>): string | null {
  if (operation.kind === 'delete' || operation.item.contactKey === null) return null;
  const contact = theOne(contacts.get(operation.item.contactKey) ?? [], null);
  if (contact === null) throw notSent(errors.make('contact-missing'));
  return contact.id;
}
