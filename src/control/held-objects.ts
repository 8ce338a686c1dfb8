import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { Item } from '../model/items.ts';

/** Objects of one target that are asked for at once, for a person who looks: vendors are asked for each of them. Our choice. */
const MOST_ASKED = 100;

/**
 * What a target holds now for some of these records, the first hundred that it was given anything for. Writes nothing; a target that
 * can't be asked is an answer too.
 * @returns by record: null for nothing, `unread` where it was not asked, or the object can't be read
 */
export async function heldObjects(
  { links, targetStore }: Pick<OpenTenant, 'links' | 'targetStore'>,
  target: OpenTarget,
  recordIds: readonly string[],
  signal: AbortSignal,
): Promise<(recordId: string) => Item | null | 'unread'> {
  const storedLinks = await links.readSome(target.id, recordIds);
  const { container } = await targetStore.read(target.id);
  const asked = container === null ? [] : recordIds.filter((id) => storedLinks.has(id)).slice(0, MOST_ASKED);
  const records = new Map(asked.map((id) => [target.identity.key(id, storedLinks.get(id)?.epoch ?? 0), id]));
  const held = new Map<string, Item | null | 'unread'>();
  if (container !== null && asked.length > 0) {
    try {
      for (const id of asked) held.set(id, null);
      for (const { key, item } of await target.connector.find(container, [...records.keys()], signal)) {
        const id = records.get(key);
        if (id !== undefined) held.set(id, item ?? 'unread');
      }
    } catch {
      signal.throwIfAborted();
      held.clear();
    }
  }
  return (id) => held.get(id) ?? (storedLinks.has(id) && !held.has(id) ? 'unread' : null);
}
