import { MirrorError } from '../../core/model/errors.ts';
import type { Item } from '../../core/model/items.ts';
import type { FinalOutcome, ItemKey, Operation, RemoteItem } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { overlaps, type TimeWindow } from '../../core/model/time.ts';
import type { RemoteChanges, Target } from '../ports.ts';
import { itemAt, spanIn } from './items.ts';

/** An object in a target. */
export interface MemoryObject {
  key: ItemKey;
  sealedRecordId: string;
  item: Item;
  revision: number;
  /** Number of writes of clinic-mirror and users. */
  version: number;
}

/** Faults of a target. */
export interface TargetFaults {
  /** Records whose next write is carried out, but not answered. */
  lost: Set<string>;
  /** Errors of records whose writes are refused. */
  refused: Map<string, MirrorError>;
  /** Error of every call; null for none. */
  failing: MirrorError | null;
}

/** Objects in one page of a reading. */
const PAGE = 100;

/** Objects in a map as a target. Users edit and remove objects with `edit` and `remove`. */
export class MemoryTarget implements Target<Item> {
  readonly faults: TargetFaults = { lost: new Set(), refused: new Map(), failing: null };
  #objects = new Map<ItemKey, MemoryObject>();
  /** Number of the container; 0 without one. */
  #container = 0;

  /** All objects, by key. */
  get objects(): ReadonlyMap<ItemKey, MemoryObject> {
    return this.#objects;
  }

  async prepare(_storedId: string | null, { creates }: { creates: boolean }): Promise<string | null> {
    this.#check();
    if (this.#container === 0 && creates) this.#container = 1;
    return this.#container === 0 ? null : `container-${this.#container}`;
  }

  async *read(_container: string, window: TimeWindow | null): AsyncIterable<RemoteItem<Item>[]> {
    this.#check();
    const all = [...this.#objects.values()].filter(({ item }) => window === null || overlaps(spanIn(item), window));
    for (const page of slices(all, PAGE)) yield page.map(remoteOf);
  }

  async changes(
    container: string,
    { window }: { cursor: string | null; window: TimeWindow },
  ): Promise<RemoteChanges<Item>> {
    const items = (await Array.fromAsync(this.read(container, window))).flat();
    return { scope: 'whole', items, removed: [], cursor: null };
  }

  async find(_container: string, keys: readonly ItemKey[]): Promise<RemoteItem<Item>[]> {
    this.#check();
    return keys.flatMap((key) => {
      const object = this.#objects.get(key);
      return object === undefined ? [] : [remoteOf(object)];
    });
  }

  /** Carries out operations. */
  async apply(_container: string, operations: readonly Operation<Item>[]): Promise<FinalOutcome<Item>[]> {
    this.#check();
    return operations.map((operation) => {
      const { recordId } = operation;
      const error = this.faults.refused.get(recordId);
      if (error !== undefined) return { recordId, result: 'failed', error };
      const outcome = this.#carryOut(operation);
      return this.faults.lost.delete(recordId) ? { recordId, result: 'failed', error: unanswered() } : outcome;
    });
  }

  /** A user changes the title of an object. */
  edit(key: ItemKey, title: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    const item = itemAt(title, spanIn(object.item));
    this.#objects.set(key, { ...object, item, version: object.version + 1 });
  }

  /** A user removes an object. */
  remove(key: ItemKey): void {
    this.#objects.delete(key);
  }

  /** The container is lost, and the next call that creates one gets an empty container. */
  replaceContainer(): void {
    this.#objects = new Map();
    this.#container += 1;
  }

  #carryOut(operation: Operation<Item>): FinalOutcome<Item> {
    const { recordId, key, revision } = operation;
    const before = this.#objects.get(key);
    if (before !== undefined && before.revision > revision)
      return { recordId, result: 'superseded', revision: before.revision, remote: remoteOf(before) };
    if (operation.kind === 'delete') {
      this.#objects.delete(key);
      return { recordId, result: 'deleted', effect: before === undefined ? 'already-gone' : 'deleted' };
    }
    const { item, sealedRecordId } = operation;
    const version = (before?.version ?? 0) + 1;
    this.#objects.set(key, { key, sealedRecordId, item, revision, version });
    const versionTag = tagOf(version);
    return { recordId, result: 'written', effect: effectOf(operation.kind, before), versionTag, remoteId: null };
  }

  #check(): void {
    if (this.faults.failing !== null) throw this.faults.failing;
  }
}

function effectOf(kind: 'create' | 'update', before: MemoryObject | undefined) {
  if (kind === 'create') return before === undefined ? 'created' : 'adopted';
  return before === undefined ? 'recreated' : 'updated';
}

function remoteOf({ key, sealedRecordId, item, revision, version }: MemoryObject): RemoteItem<Item> {
  return { key, sealedRecordId, remoteId: key, versionTag: tagOf(version), item, revision };
}

function tagOf(version: number): string {
  return `"${version}"`;
}

function unanswered(): MirrorError {
  return new MirrorError('no answer', { actor: 'remote', code: 'timeout', retry: 'later', ambiguous: true });
}
