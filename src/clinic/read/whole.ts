import { asMirrorError, MirrorError } from '../../model/errors.ts';
import type { SetAside } from '../../model/records.ts';
import { countEach, type Snapshot } from '../../model/snapshots.ts';
import type { ListPage } from './lists.ts';
import { isForeign } from './own-rows.ts';

/**
 * A list as a snapshot, rows that can't be used among them.
 * @returns a partial one when the end of the list could not be proved
 */
export async function readWhole<Model extends { id: string }>(
  list: (signal: AbortSignal) => AsyncIterable<ListPage<Model>>,
  signal: AbortSignal,
): Promise<Snapshot<Model>> {
  const records = new Map<string, Model>();
  const setAside: SetAside[] = [];
  const unread: string[] = [];
  const content = () => ({
    records,
    setAside,
    unread: countEach(unread),
    unidentified: setAside.filter(({ recordId }) => recordId === null).length,
  });
  try {
    for await (const page of list(signal)) {
      for (const record of page.records) records.set(record.id, record);
      setAside.push(...page.setAside);
      unread.push(...(page.unread ?? []));
    }
  } catch (error) {
    if (!(error instanceof MirrorError) || error.code !== 'incomplete-list') throw error;
    return { ...content(), completeness: 'partial', reason: 'end-unproved' };
  }
  if (setAside.some(isForeign)) return { ...content(), completeness: 'partial', reason: 'wrong-tenant' };
  return { ...content(), completeness: 'complete' };
}

/** All usable records of a list. */
export async function recordsOf<Model>(pages: AsyncIterable<ListPage<Model>>): Promise<Model[]> {
  const records: Model[] = [];
  for await (const page of pages) records.push(...page.records);
  return records;
}

/** Answers of a clinic that lets the login not read a list, or that has no such list. */
const WITHHELD: ReadonlySet<number | undefined> = new Set([403, 404, 405, 410, 501]);

/** Takes a list that the clinic withholds for an empty one. */
export function noneWithheld(error: unknown): never[] {
  const cause = asMirrorError(error);
  if (WITHHELD.has(cause.status)) return [];
  throw cause;
}
