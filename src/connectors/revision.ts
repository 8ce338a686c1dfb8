import type { Item } from '../model/items.ts';
import type { Operation, Outcome, RemoteItem } from '../model/operations.ts';

/** Eight digits: whatever is longer would not survive the counter's arithmetic, and counts as no stamp. */
const REVISION = /^[1-9a-z][0-9a-z]{0,7}$/;

/** A revision as it is stamped on an object: base 36. */
export function toRevisionText(revision: number): string {
  return revision.toString(36);
}

/** Reads a stamped revision; undefined when there is none, or nothing that we write. */
export function fromRevisionText(text: unknown): number | undefined {
  return typeof text === 'string' && REVISION.test(text) ? Number.parseInt(text, 36) : undefined;
}

/** As a part of an object that may have no revision. */
export function withRevision(revision: number | undefined): { revision?: number } {
  return revision === undefined ? {} : { revision };
}

/**
 * The outcome of an operation whose object carries the stamp of a later write; null when it may go on. An erasure goes on whatever was
 * written since: a person asked for it.
 * @param remote an object that carries our owner tag
 * @param isDeleted it can be read still, and is there no more
 */
export function supersededBy<Wanted extends Item>(
  operation: Operation<Wanted>,
  remote: RemoteItem<Wanted>,
  isDeleted = false,
): Outcome<Wanted> | null {
  const { revision } = remote;
  const isErasure = operation.kind === 'delete' && operation.erase === true;
  if (isErasure || revision === undefined || revision <= operation.revision) return null;
  return { recordId: operation.recordId, result: 'superseded', revision, remote: isDeleted ? null : remote };
}
