import type { ItemKey } from '../../model/operations.ts';
import type { CrmRow } from './from-model.ts';
import { findContacts } from './lookup.ts';
import type { Scope } from './scope.ts';

/**
 * Tells objects with what they belong to now: a person may have given one to another contact, which its stamp knows nothing of. Where
 * rows tell their contacts, those that stamps name are looked for, each once a reading.
 */
export function belongingReader(scope: Scope): (rows: readonly CrmRow[]) => Promise<CrmRow[]> {
  const contactIds = new Map<ItemKey, ReadonlySet<string>>();
  return async (rows) => {
    const keys = new Set(rows.flatMap((row) => (row.contactIds === null ? [] : (row.remote.item?.contactKey ?? []))));
    const unknown = [...keys].filter((key) => !contactIds.has(key));
    const found = await findContacts(scope, unknown);
    for (const key of unknown) contactIds.set(key, new Set(found.get(key)?.map(({ id }) => id)));
    return rows.map((row) => (isParted(row, contactIds) ? { ...row, remote: parted(row.remote) } : row));
  };
}

function isParted({ contactIds, remote }: CrmRow, known: ReadonlyMap<ItemKey, ReadonlySet<string>>): boolean {
  const contactKey = remote.item?.contactKey ?? null;
  if (contactIds === null || contactKey === null) return false;
  const wanted = known.get(contactKey);
  // Nothing can be joined with a contact that is gone: that one is made again first, and what belongs to it is written then.
  return wanted !== undefined && wanted.size > 0 && !contactIds.some((id) => wanted.has(id));
}

function parted(remote: CrmRow['remote']): CrmRow['remote'] {
  return remote.item === null ? remote : { ...remote, item: { ...remote.item, contactGeneration: 0 } };
}
