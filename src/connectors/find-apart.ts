import { asMirrorError, type MirrorError } from '../core/model/errors.ts';
import type { Item } from '../core/model/items.ts';
import type { ItemKey, RemoteItem } from '../core/model/operations.ts';

/** Key of no object: 32 characters like each key; a keyed hash produces this value once in 2^160 times. */
export const KEY_OF_NOTHING = '0'.repeat(32);

/** If so many objects are unreadable and none is read, the server fails, and not its objects. Own choice. */
const MOST_UNREAD = 4;

/** Fetches the existing objects among the keys. */
type Find<Wanted extends Item> = (keys: readonly ItemKey[]) => Promise<RemoteItem<Wanted>[]>;

/**
 * Returns whether the failure of a request may be caused by one requested object: the server failed, or its answer was unreadable. A server
 * that asks to wait, or is overloaded, says nothing of an object.
 */
export function mayBeOfOneObject({ actor, status = 0, retryAfterMs }: MirrorError): boolean {
  return actor === 'contract' || (actor === 'remote' && status >= 500 && status !== 503 && retryAfterMs === undefined);
}

/**
 * Fetches objects by key, so that one object that the vendor cannot return does not hide the others. A failed request is repeated in
 * halves, and an object whose own request fails while the server answers others is reported as unreadable. An unreadable object exists.
 * @param remoteIds stored remote ids by key; null if the key is the id
 * @throws MirrorError the first failure, if the server fails at a request for no object too, or at {@link MOST_UNREAD} objects and no other
 */
export async function findApart<Wanted extends Item>(
  find: Find<Wanted>,
  keys: readonly ItemKey[],
  remoteIds?: ReadonlyMap<ItemKey, string | null>,
): Promise<RemoteItem<Wanted>[]> {
  const seen = { read: 0, unread: 0 };
  let isProved = false;
  const some = async (asked: readonly ItemKey[]): Promise<RemoteItem<Wanted>[]> => {
    try {
      const found = await find(asked);
      seen.read += asked.length;
      return found;
    } catch (thrown) {
      if (!mayBeOfOneObject(asMirrorError(thrown))) throw thrown;
      if (!isProved)
        await find([KEY_OF_NOTHING]).catch(() => {
          throw thrown;
        });
      isProved = true;
      if (asked.length === 1) {
        seen.unread += 1;
        if (seen.read === 0 && seen.unread >= MOST_UNREAD) throw thrown;
        return [unread(asked[0]!, remoteIds)];
      }
      const middle = Math.ceil(asked.length / 2);
      return [...(await some(asked.slice(0, middle))), ...(await some(asked.slice(middle)))];
    }
  };
  return await some(keys);
}

function unread<Wanted extends Item>(
  key: ItemKey,
  remoteIds: ReadonlyMap<ItemKey, string | null> | undefined,
): RemoteItem<Wanted> {
  const remoteId = remoteIds?.get(key) ?? key;
  return { key, sealedRecordId: null, remoteId, versionTag: null, item: null, unreadable: true };
}
