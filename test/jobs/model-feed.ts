import type { RemoteChanges } from '../../src/connectors/connector.ts';
import type { RemoteItem } from '../../src/model/operations.ts';
import type { ModelObject } from './model-target.ts';

/** The change feed of a model target: a cursor stands for the versions that were there when it was given. */
export interface ModelFeed {
  /** What changed since the cursor; all that is there when the cursor is none of the container's, or forgotten. */
  since(
    container: string,
    cursor: string | null,
    objects: readonly ModelObject[],
    ours: readonly RemoteItem[],
  ): RemoteChanges;
  /** No cursor given so far is taken any more. */
  expireCursors(): void;
}

export function createModelFeed(): ModelFeed {
  const given = new Map<string, ReadonlyMap<string, string>>();
  let serial = 0;
  return {
    since(container, cursor, objects, ours) {
      const before = cursor?.startsWith(`${container}/`) ? given.get(cursor) : undefined;
      const now = new Map(objects.map((object) => [object.key, `${object.version} ${object.ownerTag}`]));
      serial += 1;
      const next = `${container}/${serial}`;
      given.set(next, now);
      if (before === undefined) return { scope: 'whole', items: [...ours], removed: [], cursor: next };
      const isTouched = (key: string) => before.get(key) !== now.get(key);
      const items = ours.filter(({ key }) => isTouched(key));
      const removed = [...before.keys()].filter((key) => isTouched(key) && !ours.some((item) => item.key === key));
      return { scope: 'since', items, removed, cursor: next };
    },
    expireCursors: () => given.clear(),
  };
}
