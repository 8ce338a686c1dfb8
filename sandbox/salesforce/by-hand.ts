import { RowFailure } from './errors.ts';
import type { FieldValue } from './fields.ts';
import { fieldValue } from './record-body.ts';
import { deleteRecord, emptyBin, mergeRecords, undeleteRecord } from './recycle-bin.ts';
import { isLive, type StoredRecord } from './store.ts';
import type { World } from './world.ts';
import { beginWrite } from './write.ts';

/** A record as a test sees it: every field, including hidden fields. */
export type SeenRecord = Record<string, FieldValue> & { Id: string; IsDeleted: boolean };

/** Changes that a user makes in the user interface. Unknown ids and refused changes throw Error. No API call is counted. */
export interface ByHand {
  /**
   * Returns the records of an object. `includeDeleted` adds the recycle bin; `as` is the user name of an ordinary user and limits the
   * result to the records visible to this user.
   */
  records(object: string, options?: { includeDeleted?: boolean; as?: string }): SeenRecord[];
  /** Creates a record and ignores duplicate rules with the action `alert`. */
  addByHand(object: string, fields: Record<string, unknown>): SeenRecord;
  editByHand(id: string, fields: Record<string, unknown>): SeenRecord;
  deleteByHand(id: string): void;
  undelete(id: string): void;
  /** Merges the losers into the master. `fields` overwrites values of the master, as the vendor's page allows. */
  merge(masterId: string, loserIds: string[], fields?: Record<string, unknown>): SeenRecord;
  /** Removes one record of the recycle bin permanently, or all records if `id` is undefined. */
  emptyRecycleBin(id?: string): void;
}

/** Returns the manual actions on a world. */
export function byHand(world: World): ByHand {
  return {
    records: (object, { includeDeleted = false, as } = {}) => {
      const { name } = world.schema.object(object);
      return world.store
        .all(name)
        .filter((record) => (includeDeleted || isLive(record)) && (as === undefined || isShownTo(world, record, as)))
        .map((record) => seen(world, record));
    },
    addByHand: (object, fields) => write(world, object, undefined, fields),
    editByHand: (id, fields) => write(world, required(world, id).type, id, fields),
    deleteByHand: (id) => deleteRecord(world, required(world, id)),
    undelete: (id) => {
      world.store.attempt(() => {
        undeleteRecord(world, required(world, id));
        return true;
      });
    },
    merge: (masterId, loserIds, fields = {}) => {
      const losers = loserIds.map((id) => required(world, id));
      world.store.attempt(() => {
        mergeRecords(world, required(world, masterId), losers);
        return true;
      });
      return write(world, required(world, masterId).type, masterId, fields);
    },
    emptyRecycleBin: (id) => emptyBin(world, id),
  };
}

/**
 * Decides whether a user sees a record in an org that shares everything. A contact without an account is private to its owner even there
 * (https://help.salesforce.com/s/articleView?id=sf.contacts_sharing_considerations.htm).
 */
function isShownTo(world: World, { type, fields }: StoredRecord, username: string): boolean {
  const isPrivate = type === 'Contact' && (fields.AccountId ?? null) === null;
  return !isPrivate || fields.OwnerId === world.user(username).id;
}

function write(world: World, type: string, id: string | undefined, body: Record<string, unknown>): SeenRecord {
  const object = world.schema.object(type);
  const target = id === undefined ? ({ by: 'new' } as const) : ({ by: 'id', id } as const);
  const options = { allOrNone: false, allowDuplicates: true, method: 'BY-HAND', path: '', username: '' };
  const [result] = beginWrite(world, [{ object, target, body, isAdministrator: true }], options)();
  if (result!.failure) {
    throw result!.failure;
  }
  return seen(world, required(world, result!.id!));
}

function required(world: World, id: string): StoredRecord {
  const found = world.store.find(id);
  if (!found) {
    throw new RowFailure('NOT_FOUND', `The sandbox has no record ${id}`);
  }
  return found;
}

function seen(world: World, record: StoredRecord): SeenRecord {
  const fields = [...world.schema.object(record.type).fields.values()];
  const values = Object.fromEntries(fields.map((field) => [field.name, fieldValue(record, field)]));
  return { ...values, Id: record.id, IsDeleted: !isLive(record) };
}
