import { entityIsDeleted, RowFailure } from './errors.ts';
import type { SObject } from './schema.ts';
import { isLive, type StoredRecord } from './store.ts';
import type { World } from './world.ts';

/** Moves a record and its cascading children into the recycle bin. Throws RowFailure if the record is already in the bin. */
export function deleteRecord(world: World, record: StoredRecord, masterRecordId?: string): void {
  if (!isLive(record)) {
    throw entityIsDeleted();
  }
  intoBin(world, record, world.nextDeletion(), masterRecordId);
}

function intoBin(world: World, record: StoredRecord, deletion: number, masterRecordId?: string): void {
  world.store.put({ ...record, deletion, masterRecordId, modifiedAt: world.now() });
  for (const child of childrenOf(world, record, (field) => field.cascades)) {
    const current = world.store.find(child.id);
    if (current && isLive(current)) {
      intoBin(world, current, deletion);
    }
  }
}

/** Restores a record from the recycle bin, with the records that were deleted together with this record. Throws RowFailure. */
export function undeleteRecord(world: World, record: StoredRecord): void {
  const { deletion } = record;
  if (deletion === undefined || record.masterRecordId !== undefined) {
    throw new RowFailure('UNDELETE_FAILED', 'Entity is not in the recycle bin');
  }
  for (const { name, fields } of world.schema.objects) {
    const together = world.store.all(name).filter((each) => each.deletion === deletion);
    for (const each of together) {
      for (const field of fields.values()) {
        const value = each.fields[field.name] ?? null;
        if (field.unique && value !== null && world.store.withKey(name, field, value).some(isLive)) {
          throw new RowFailure('DUPLICATE_VALUE', `duplicate value found: ${field.name}`, [field.name]);
        }
      }
      world.store.put({ ...each, deletion: undefined, modifiedAt: world.now() });
    }
  }
}

/** Removes one record or all records of the recycle bin permanently. */
export function emptyBin(world: World, id?: string): void {
  for (const { name } of world.schema.objects) {
    for (const record of world.store.all(name)) {
      if (!isLive(record) && (id === undefined || record.id === id)) {
        world.store.remove(record);
      }
    }
  }
}

/** Merges records into one, as a user does on the vendor's page for duplicates. Throws RowFailure. */
export function mergeRecords(world: World, master: StoredRecord, losers: readonly StoredRecord[]): void {
  for (const loser of losers) {
    if (loser.type !== master.type || loser.id === master.id || !isLive(loser) || !isLive(master)) {
      throw new RowFailure('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id');
    }
    for (const child of childrenOf(world, loser, () => true)) {
      const fields = Object.entries(child.fields).map(([name, value]) => [
        name,
        value === loser.id ? master.id : value,
      ]);
      world.store.put({ ...child, fields: Object.fromEntries(fields), modifiedAt: world.now() });
    }
    deleteRecord(world, loser, master.id);
  }
}

/** Returns the live records that refer to a record through a field accepted by `fits`. */
function childrenOf(
  world: World,
  record: StoredRecord,
  fits: (field: { cascades: boolean }) => boolean,
): StoredRecord[] {
  return world.schema.objects.flatMap((object) => {
    const names = referencesTo(object, record.type, fits);
    return names.length === 0
      ? []
      : world.store.live(object.name).filter(({ fields }) => names.some((name) => fields[name] === record.id));
  });
}

function referencesTo(object: SObject, type: string, fits: (field: { cascades: boolean }) => boolean): string[] {
  return [...object.fields.values()]
    .filter((field) => field.referenceTo.includes(type) && fits(field))
    .map(({ name }) => name);
}
