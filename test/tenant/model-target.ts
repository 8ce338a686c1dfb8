import type {
  Connector,
  ConnectorSupports,
  Subscription,
  SubscriptionRequest,
  Subscriptions,
} from '../../src/connectors/connector.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../../src/core/model/operations.ts';
import type { Clock } from '../../src/core/model/time.ts';
import type { RemoteChanges } from '../../src/engine/ports.ts';

/** An event in the target. `ownerTag` is null for a foreign event. */
export interface ModelObject {
  key: ItemKey;
  ownerTag: string | null;
  sealedRecordId: string | null;
  item: CalendarItem;
  revision?: number;
  version: number;
  deleted: boolean;
  /** What users added. */
  additions?: string[];
  /** The event lost all marks: no list by owner tag shows it. */
  unmarked?: boolean;
  /** The target names the event, but cannot give its content. */
  unreadable?: boolean;
}

/**
 * Fault of one operation: permanently refused (`refused`); temporarily refused and surely not carried out (`unavailable`); carried out with
 * a lost answer (`lost`); its key is taken and unreadable (`unreadable`); its contact does not exist (`contact-missing`).
 */
export type Fault = 'refused' | 'unavailable' | 'lost' | 'unreadable' | 'contact-missing';

/** How long a key may stay unreadable before it is given up. */
const UNREADABLE_FOR_MS = 24 * 3_600_000;

/** A calendar in memory that enforces keys: no two live events ever carry the same one. */
export interface ModelTarget {
  readonly supports: ConnectorSupports;
  /** Opens a connector with the owner tag of a target. */
  open(ownerTag: string): Connector;
  /** Existing events, without deleted ones. */
  objects(): ModelObject[];
  /** Adds a foreign event. */
  addForeign(title: string): void;
  /** The calendar is gone; the next `prepare` makes an empty one. */
  replaceCalendar(): void;
  /** Takes a copy of the calendar. @returns restores the calendar */
  copy(): () => void;
  /** The change feed takes none of the cursors that it gave so far. */
  expireCursors(): void;
  fault: (operation: Operation) => Fault | null;
  /** Thrown by the next calls instead of any outcome; stays until it is set to null. */
  wholeTargetError: MirrorError | null;
  /** The target stores events without the marks. */
  dropsMarks: boolean;
  /** Deleted keys can't be used again. */
  burnsKeys: boolean;
  /** Runs before each `apply` carries anything out. */
  beforeApply: (operations: readonly Operation[]) => Promise<void> | void;
  readonly calls: { prepare: number; apply: number; read: number; changes: number; operations: number };
  /** Highest number of concurrent `apply` calls. */
  mostAtOnce: number;
}

/** What a target's calendar is at the moment. */
interface ModelCalendar {
  container: string;
  objects: Map<string, ModelObject>;
  /** Number of running `apply` calls. */
  under: number;
  readonly feed: ReturnType<typeof createModelFeed>;
}

export function createModelTarget(supports: Partial<ConnectorSupports> = {}): ModelTarget {
  const calendar: ModelCalendar = { container: 'calendar-1', objects: new Map(), under: 0, feed: createModelFeed() };
  let foreign = 0;
  const target: ModelTarget = {
    supports: {
      operations: ['create', 'update', 'delete'],
      batchSize: 5,
      concurrency: 2,
      revivesKeys: true,
      keys: 'enforced',
      duplicatesAreOurs: true,
      erases: [],
      ...supports,
    },
    fault: () => null,
    wholeTargetError: null,
    burnsKeys: false,
    dropsMarks: false,
    beforeApply: () => {},
    calls: { prepare: 0, apply: 0, read: 0, changes: 0, operations: 0 },
    mostAtOnce: 0,
    objects: () => [...calendar.objects.values()].filter(({ deleted }) => !deleted),
    addForeign(title) {
      foreign += 1;
      const time = { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' } as const;
      const item = { title, description: null, location: null, time, busy: true };
      const key = `foreign-${foreign}`;
      calendar.objects.set(key, { key, ownerTag: null, sealedRecordId: null, item, version: 1, deleted: false });
    },
    replaceCalendar() {
      calendar.container = `calendar-${Number(calendar.container.slice('calendar-'.length)) + 1}`;
      calendar.objects = new Map();
    },
    copy() {
      const { container, objects } = structuredClone({ container: calendar.container, objects: calendar.objects });
      return () => void Object.assign(calendar, { container, objects: structuredClone(objects) });
    },
    expireCursors: () => calendar.feed.expireCursors(),
    open: (ownerTag) => openModelConnector(target, calendar, ownerTag),
  };
  return target;
}

function openModelConnector(target: ModelTarget, calendar: ModelCalendar, ownerTag: string): Connector {
  return {
    async prepare() {
      target.calls.prepare += 1;
      if (target.wholeTargetError !== null) throw target.wholeTargetError;
      return calendar.container;
    },
    async apply(asked, operations, signal) {
      target.calls.apply += 1;
      target.calls.operations += operations.length;
      calendar.under += 1;
      target.mostAtOnce = Math.max(target.mostAtOnce, calendar.under);
      try {
        await target.beforeApply(operations);
        signal.throwIfAborted();
        if (target.wholeTargetError !== null) throw target.wholeTargetError;
        if (asked !== calendar.container) throw calendarGone();
        return operations.map((operation) => carryOut(target, calendar.objects, ownerTag, operation));
      } finally {
        calendar.under -= 1;
      }
    },
    async *read(_, window) {
      target.calls.read += 1;
      if (target.wholeTargetError !== null) throw target.wholeTargetError;
      const isListed = ({ unmarked }: ModelObject) => window === null || unmarked !== true;
      const ours = target.objects().filter((object) => object.ownerTag === ownerTag && isListed(object));
      for (let from = 0; from < ours.length; from += 3) yield ours.slice(from, from + 3).map(remoteItem);
    },
    async find(_, keys) {
      return target
        .objects()
        .filter((object) => object.ownerTag === ownerTag && keys.includes(object.key))
        .map(remoteItem);
    },
    async changes(asked, { cursor }) {
      target.calls.changes += 1;
      if (target.wholeTargetError !== null) throw target.wholeTargetError;
      if (asked !== calendar.container) throw calendarGone();
      const there = target.objects();
      return calendar.feed.since(
        calendar.container,
        cursor,
        there,
        // As a vendor's list by owner tag, a full read omits objects without marks; the feed lists each object.
        there
          .filter((object) => object.ownerTag === ownerTag && (cursor !== null || object.unmarked !== true))
          .map(remoteItem),
      );
    },
  };
}

function carryOut(
  target: ModelTarget,
  objects: Map<string, ModelObject>,
  ownerTag: string,
  operation: Operation,
): Outcome {
  const { recordId } = operation;
  const fault = target.fault(operation);
  if (fault === 'refused') return { recordId, result: 'failed', error: failure('refused', 'never', false) };
  if (fault === 'unavailable') return { recordId, result: 'failed', error: failure('server-error', 'later', false) };
  if (fault === 'contact-missing') return { recordId, result: 'failed', error: failure(fault, 'later', false) };
  if (fault === 'unreadable') {
    const error = failure('not-yet-readable', 'later', false);
    return { recordId, result: 'failed', error, burnsKeyAfterMs: UNREADABLE_FOR_MS };
  }
  const outcome = perform(target, objects, ownerTag, operation);
  return fault === 'lost' ? { recordId, result: 'failed', error: failure('answer-missing', 'later', true) } : outcome;
}

function perform(
  target: ModelTarget,
  objects: Map<string, ModelObject>,
  ownerTag: string,
  operation: Operation,
): Outcome {
  const { kind, recordId, key } = operation;
  const there = objects.get(key);
  if (there !== undefined && there.ownerTag !== ownerTag)
    throw new Error('an event of somebody else was about to be changed');
  if (there?.revision !== undefined && there.revision > operation.revision) {
    const remote = there.deleted ? null : remoteItem(there);
    return { recordId, result: 'superseded', revision: there.revision, remote };
  }
  if (kind === 'delete') {
    if (there === undefined || there.deleted) return { recordId, result: 'deleted', effect: 'already-gone' };
    objects.set(key, { ...there, deleted: true });
    const { additions = [] } = there;
    const isKept = additions.length > 0 && operation.erase !== true;
    return {
      ...{ recordId, result: 'deleted', effect: 'deleted' },
      ...(isKept ? { additions: JSON.stringify(additions) } : {}),
    };
  }
  if (there?.deleted === true && target.burnsKeys) return { recordId, result: 'key-burnt' };
  const version = (there?.version ?? 0) + 1;
  const { sealedRecordId, item, revision } = operation;
  const unmarked = target.dropsMarks ? { unmarked: true } : {};
  const others = there?.deleted === false ? (there.additions ?? []) : [];
  const taken = kind === 'update' ? (JSON.parse(operation.additions ?? '[]') as string[]) : [];
  const additions = [...new Set([...others, ...taken])];
  const kept = additions.length === 0 ? {} : { additions };
  const content = { item: structuredClone(item), version, deleted: false, ...unmarked, ...kept };
  // A target that drops marks drops the stamped revision too.
  const stamp = target.dropsMarks ? {} : { revision };
  objects.set(key, { key, ownerTag, sealedRecordId, ...stamp, ...content });
  const effect = effectOf(kind, there);
  return { recordId, result: 'written', effect, versionTag: `v${version}`, remoteId: null };
}

function effectOf(kind: 'create' | 'update', there: ModelObject | undefined) {
  if (there === undefined) return kind === 'create' ? 'created' : 'recreated';
  if (there.deleted) return 'revived';
  return kind === 'create' ? 'adopted' : 'updated';
}

function remoteItem(object: ModelObject): RemoteItem {
  const { key, sealedRecordId, item, version, revision } = object;
  const bare = { key, sealedRecordId: null, remoteId: key };
  if (object.unreadable === true) return { ...bare, versionTag: null, item: null, unreadable: true };
  if (object.unmarked === true)
    return { ...bare, versionTag: `v${version}`, item: structuredClone(item), marksLost: true };
  const stamp = revision === undefined ? {} : { revision };
  return { key, sealedRecordId, remoteId: key, versionTag: `v${version}`, item: structuredClone(item), ...stamp };
}

function failure(code: string, retry: 'later' | 'never', ambiguous: boolean): MirrorError {
  return new MirrorError('the target did not write it', { actor: 'remote', code, retry, ambiguous });
}

function calendarGone(): MirrorError {
  return new MirrorError('the calendar is gone', {
    actor: 'conflict',
    code: 'calendar-gone',
    retry: 'now',
    status: 404,
  });
}

/** The change feed of a model target: a cursor represents the versions at its creation. */
export interface ModelFeed {
  /** Changes since the cursor; all objects if the cursor is unknown to the container, or forgotten. */
  since(
    container: string,
    cursor: string | null,
    objects: readonly ModelObject[],
    ours: readonly RemoteItem[],
  ): RemoteChanges<CalendarItem>;
  /** No cursor given so far is taken any more. */
  expireCursors(): void;
}

function createModelFeed(): ModelFeed {
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

/** A subscription that the vendor keeps. */
export interface VendorSubscription extends SubscriptionRequest {
  container: string;
  handle: string;
}

/** A vendor in memory that sends change notifications. */
export interface ModelVendor {
  readonly subscriptions: Subscriptions;
  /** Subscriptions that are open, by our id. */
  readonly open: Map<string, VendorSubscription>;
  /** Requests in order: `open`, `extend` or `close` and the number of open subscriptions after it. */
  readonly calls: string[];
  /** Can extend a subscription; otherwise clinic-mirror must open another one. */
  extends: boolean;
  /** Gives no more than this. */
  mostMs: number;
  fault: (call: 'open' | 'extend' | 'close', container: string | null) => MirrorError | null;
  /** Runs while a subscription is being opened, before the answer. */
  onOpen: (subscription: VendorSubscription) => Promise<void> | void;
}

export function createModelVendor(clock: Clock): ModelVendor {
  const open = new Map<string, VendorSubscription>();
  const said = ({ id, handle, expiresAt }: VendorSubscription): Subscription => ({ id, handle, expiresAt });
  const call = (name: 'open' | 'extend' | 'close', container: string | null) => {
    const fault = vendor.fault(name, container);
    if (fault === null) return;
    vendor.calls.push(`${name} failed`);
    throw fault;
  };
  const lasting = (expiresAt: number) => Math.min(expiresAt, clock() + vendor.mostMs);
  const vendor: ModelVendor = {
    open,
    calls: [],
    extends: false,
    mostMs: Number.POSITIVE_INFINITY,
    fault: () => null,
    onOpen: () => {},
    subscriptions: {
      async open(container, request) {
        call('open', container);
        const subscription = {
          ...request,
          container,
          handle: `handle-${request.id}`,
          expiresAt: lasting(request.expiresAt),
        };
        open.set(subscription.id, subscription);
        vendor.calls.push(`open ${open.size}`);
        await vendor.onOpen(subscription);
        return said(subscription);
      },
      async extend({ id }, expiresAt) {
        call('extend', null);
        const subscription = open.get(id);
        if (!vendor.extends || subscription === undefined) return null;
        subscription.expiresAt = lasting(expiresAt);
        vendor.calls.push(`extend ${open.size}`);
        return said(subscription);
      },
      async close({ id, handle }) {
        call('close', null);
        if (open.get(id)?.handle === handle) open.delete(id);
        vendor.calls.push(`close ${open.size}`);
      },
    },
  };
  return vendor;
}

/** Makes the target send notifications through this vendor. */
export function giveSubscriptions(model: ModelTarget, vendor: ModelVendor): ModelTarget {
  const open = model.open;
  model.open = (ownerTag) => ({ ...open(ownerTag), subscriptions: vendor.subscriptions });
  return model;
}
