import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { ContactStamp, ExistingContact, ExistingContacts } from '../connector.ts';
import { isMissing, speaksOf } from './client.ts';
import { errors } from './errors.ts';
import { propertiesOf, readRow, type Scope, selection, stampValues } from './from-model.ts';
import { getById, listPages } from './lookup.ts';

/** The contacts of a CRM that were there before us, where its description has the calls for it (`knowsExisting`). */
export function openExisting(scopeFor: (signal: AbortSignal) => Promise<Scope>): ExistingContacts {
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
  // A CRM may lead from the id of a contact that was merged to the one that is left.
  return contact?.remoteId === id ? contact : null;
}

function toExisting(scope: Scope, raw: unknown): ExistingContact | null {
  const row = readRow(scope, scope.resource, raw);
  if (row === null) return null;
  const { id: remoteId, key, owner } = row;
  const properties = propertiesOf(scope, raw);
  return { remoteId, properties, otherAddresses: [], key, isFree: key === null && owner === 'bare' };
}

/** A CRM whose answer doesn't tell what it did is asked what the contact carries now. */
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
