import { eachInPieces, type Pieces } from '../core/model/pieces.ts';
import type { PlannedChange } from '../core/model/plan.ts';
import type { StorageUse } from '../core/model/state-schemas.ts';
import { MINUTE_MS } from '../core/model/time.ts';
import type { Engine } from './ports.ts';
import type { Store } from './store.ts';
import type { TargetPlan } from './target-plan.ts';

/** Rule's code of changes that a plan leaves out because of the tenant's memory in Redis. */
export const TENANT_TOO_LARGE = 'tenant-too-large';

/** Bytes of a pending change without its texts. Measured: 650 to 690 for an object with a title; the link afterwards has 50 to 65. */
const CHANGE_BYTES = 700;
/** Time between two counts of a tenant above the limit; other tenants are counted every hour. */
const COUNT_AGAIN_MS = 5 * MINUTE_MS;
/** Changed objects still grow outbox and journal, so changes of a tenant with this multiple of the limit wait too. Deletions never do. */
const LIMIT_OF_CHANGES = 2;

/**
 * Leaves out changes for which the tenant's memory in Redis has no space: above the limit those that create an object, above its double
 * every write. Deletions and existing objects are unaffected. The changes are reported as omitted, and the next cycles plan them again.
 *
 * Between two counts, each planned change counts with its estimated size. A tenant can therefore exceed the limit only by what is no
 * planned change, and by the error of the estimate. The tenant alone waits.
 *
 * What is no planned change: existing entries of extensions continue, because a message is sent at most once only if its ledger has each of
 * them; new ones need room too ({@link roomForEntries}). Of reports of runs only the newest remains while changes wait
 * ({@link waitsForRoom}); the next cycle needs it.
 */
export function* withinStorage<Plan extends TargetPlan>(plans: readonly Plan[], use: StorageUse): Pieces<Plan[]> {
  let usedBytes = (use.bytes ?? 0) + use.addedBytes;
  const limited: Plan[] = [];
  for (const plan of plans) {
    const permitted: PlannedChange[] = [];
    const withoutRoom: string[] = [];
    let addedBytes = 0;
    yield* eachInPieces(plan.permitted, (change) => {
      const limitBytes = use.limitBytes * (change.reason === 'new' ? 1 : LIMIT_OF_CHANGES);
      const bytes = change.wanted.want === 'absent' ? 0 : CHANGE_BYTES + sealedBytesOf(change.wanted.item);
      if (bytes > 0 && usedBytes + addedBytes + bytes > limitBytes) return void withoutRoom.push(change.recordId);
      addedBytes += bytes;
      permitted.push(change);
    });
    usedBytes += addedBytes;
    const omitted =
      withoutRoom.length === 0 ? plan.omitted : { ...plan.omitted, [TENANT_TOO_LARGE]: withoutRoom.length };
    const omittedRecords = new Map([
      ...plan.omittedRecords,
      ...withoutRoom.map((id) => [id, TENANT_TOO_LARGE] as const),
    ]);
    limited.push({ ...plan, permitted, addedBytes, omitted, omittedRecords });
  }
  return limited;
}

/** Bytes of an entry with its lists and its key. Measured: 600 to 900. */
const ENTRY_BYTES = 1_000;

/** Room of a tenant for entries that are no planned changes: up to twice the limit. */
export interface EntryRoom {
  /** Reserves the room of new entries. False if the space is too small. */
  take(entries: number): boolean;
  /** Stores the estimate of what was taken. */
  record(): Promise<void>;
}

/** Opens the room of one cycle. Entries without room are found again by later cycles. */
export async function roomForEntries(storage: Pick<Store['storage'], 'read' | 'add'>): Promise<EntryRoom> {
  const { bytes, addedBytes, limitBytes } = await storage.read();
  const freeBytes = limitBytes * LIMIT_OF_CHANGES - (bytes ?? 0) - addedBytes;
  let takenBytes = 0;
  return {
    take(entries) {
      if (takenBytes + entries * ENTRY_BYTES > freeBytes) return false;
      takenBytes += entries * ENTRY_BYTES;
      return true;
    },
    record: async () => void (takenBytes > 0 && (await storage.add(takenBytes))),
  };
}

/** Decides whether plans left out changes because the tenant's memory has no space. */
export function waitsForRoom(plans: readonly Pick<TargetPlan, 'omitted'>[]): boolean {
  return plans.some(({ omitted }) => omitted[TENANT_TOO_LARGE] !== undefined);
}

/** Counts a tenant again whose plans left out changes, so that the limit ends soon after the tenant has space again. */
export async function countAgain(
  { clock, storage }: Pick<Engine, 'clock' | 'storage'>,
  plans: readonly Pick<TargetPlan, 'omitted'>[],
): Promise<void> {
  if (!waitsForRoom(plans)) return;
  const { countedAt } = await storage.read();
  if (countedAt === null || clock() - countedAt >= COUNT_AGAIN_MS) await storage.count(clock());
}

/** Size of an item's names and texts after encryption in base64. */
function sealedBytesOf(value: unknown): number {
  if (typeof value === 'string') return Math.ceil(Buffer.byteLength(value) / 3) * 4;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [name, each]) => sum + sealedBytesOf(name) + sealedBytesOf(each), 0);
}
