import type { Item } from '../core/model/items.ts';
import type { FinalOutcome, RemoteItem } from '../core/model/operations.ts';
import type { ReadBack } from '../core/model/state-schemas.ts';
import { findLinked, type PreparedTarget } from './lane.ts';
import type { Engine } from './ports.ts';
import type { StoredTarget } from './store.ts';

/** The first write to a target, which is read back before a second object is written. */
export interface FirstWrite {
  /** Whether no read has shown an object of the target yet. */
  isAwaited: boolean;
  /** Whether the lane sends one operation at a time until then, since the server may keep no names. */
  isAlone: boolean;
  /** The write of the last call, if it has an object. */
  outcome: Extract<FinalOutcome<Item>, { result: 'written' }> | null;
}

/** What the read of a first write uses. */
export type FirstReader = Pick<Engine, 'id' | 'links' | 'log' | 'targetStore'>;

/**
 * Returns whether a target's first write is still to be read back. A write that an earlier slice wrote but did not find is searched again.
 * A target without `readsBack` needs no proof: `prepare` checks that its key field exists, and the target refuses a write with an unknown one.
 * @throws MirrorError of `firstWriteMissing`, if the target does not show the write
 */
export async function awaitFirstWrite(
  tenant: FirstReader,
  prepared: PreparedTarget,
  readBack: StoredTarget['readBack'],
  signal: AbortSignal,
): Promise<FirstWrite> {
  const { readsBack, supports } = prepared.target;
  const mayLoseNames = supports.mayLoseNames === true;
  const isDecided = (!readsBack && !mayLoseNames) || (readBack?.marks ?? null) !== null;
  const isFound = isDecided || (readBack !== null && (await isShown(tenant, prepared, readBack.recordId, signal)));
  return { isAwaited: !isFound, isAlone: !isFound && mayLoseNames, outcome: null };
}

/**
 * Reads the first write back, unless the vendor's answer to the write already shows the object with its marks. Servers that drop unknown
 * properties keep the name or the UID, which then identify objects. Without any of these, each repetition would be another object.
 * @throws MirrorError of `firstWriteMissing`, if the target does not show the write
 */
export async function readBackFirst(
  tenant: FirstReader,
  prepared: PreparedTarget,
  first: FirstWrite,
  signal: AbortSignal,
): Promise<void> {
  const { outcome } = first;
  if (!first.isAwaited || outcome === null) return;
  const { recordId, marks = null } = outcome;
  // Stored before the search, so that a failed search does not allow a second object.
  if (marks !== null || first.isAlone) await record(tenant, prepared, { recordId, marks });
  first.isAwaited = marks === null && !(await isShown(tenant, prepared, recordId, signal));
  first.isAlone &&= first.isAwaited;
}

/** Returns whether the container shows the object. Without a link, the object was deleted meanwhile. */
async function isShown(
  tenant: FirstReader,
  prepared: PreparedTarget,
  recordId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const link = (await tenant.links.readSome(prepared.target.id, [recordId])).get(recordId);
  if (link === undefined) return false;
  const [found] = await findLinked(prepared, [link], signal);
  if (found === undefined && prepared.target.supports.mayLoseNames === true)
    throw prepared.target.firstWriteMissing(tenant.id);
  if (found === undefined) return false;
  if (found.unreadable !== true)
    await record(tenant, prepared, { recordId, marks: isBare(found) ? 'dropped' : 'kept' });
  return true;
}

/** Where marks hold the content, an object without the stamp has none; where no stamp is given, it has. */
function isBare({ marksLost, sealedRecordId, item }: RemoteItem<Item>): boolean {
  return marksLost === true || (sealedRecordId === null && item === null);
}

async function record(
  { log, targetStore }: FirstReader,
  { target }: PreparedTarget,
  readBack: ReadBack,
): Promise<void> {
  await targetStore.write(target.id, { readBack });
  if (readBack.marks === 'dropped')
    log.warn({ target: target.id, code: 'marks-dropped' }, 'server drops the marks of objects: names identify objects');
}
