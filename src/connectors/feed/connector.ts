import { isDeepStrictEqual } from 'node:util';
import ICAL from 'ical.js';
import type { FeedEntry, FeedStore } from '../../core/model/feeds.ts';
import type { CalendarItem } from '../../core/model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../../core/model/operations.ts';
import { type Instant, overlaps, type TimeWindow } from '../../core/model/time.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { addInstant, addText, addTimes, carriable } from '../icalendar.ts';
import { spanOf } from '../icalendar-zones.ts';
import { effectOf } from '../outcomes.ts';
import type { FeedSettings } from './schemas.ts';
import { RETAINED_BEFORE_MS } from './schemas.ts';

/** Each target has one feed. */
const CONTAINER = 'feed';

/** Opens one feed. */
export function openFeed(context: ConnectorContext<FeedSettings>): Connector {
  const { feedStore, ownerTag, clock, zone = 'UTC' } = context;
  if (feedStore === undefined) throw new TypeError('a feed is opened with its shelf');
  const isOurs = (entry: FeedEntry) => entry.ownerTag === ownerTag;
  async function ours(window: TimeWindow | null): Promise<[ItemKey, FeedEntry][]> {
    const entries = [...(await feedStore!.entries())].filter(([, entry]) => isOurs(entry));
    return entries.filter(([, { item }]) => window === null || overlaps(spanOf(item.time, zone), window));
  }
  return {
    prepare: async () => CONTAINER,
    async apply(_container, operations, signal) {
      const outcomes: Outcome[] = [];
      for (const operation of operations) {
        signal.throwIfAborted();
        outcomes.push(await carryOut(feedStore, operation, ownerTag, clock()));
      }
      return outcomes;
    },
    async *read(_container, window) {
      yield (await ours(window)).map(toRemote);
    },
    async find(_container, keys) {
      return [...(await feedStore.entries(keys))].filter(([, entry]) => isOurs(entry)).map(toRemote);
    },
    async changes(_container, { window }) {
      await dropPast(feedStore, await ours(null), window.fromAt - RETAINED_BEFORE_MS, zone);
      return { scope: 'whole', items: (await ours(window)).map(toRemote), removed: [], cursor: null };
    },
  };
}

async function carryOut(store: FeedStore, operation: Operation, ownerTag: string, now: number): Promise<Outcome> {
  const { recordId, key, revision } = operation;
  if (operation.kind === 'delete') {
    // An erasure deletes an event regardless of later writes.
    const stood = await store.takeOut(key, operation.erase === true ? Number.MAX_SAFE_INTEGER : revision);
    if (stood === 'later') return superseded(store, operation);
    return { recordId, result: 'deleted', effect: stood === 'nothing' ? 'already-gone' : 'deleted' };
  }
  const { sealedRecordId } = operation;
  const item = {
    ...operation.item,
    description: operation.item.description || null,
    location: operation.item.location || null,
  };
  const existing = (await store.entries([key])).get(key);
  // An unchanged event causes no change in fetched calendars.
  if (existing !== undefined && isSame(existing, operation, item)) {
    return {
      recordId,
      result: 'written',
      effect: effectOf(operation, false),
      versionTag: String(existing.revision),
      remoteId: null,
    };
  }
  const entry = { revision, ownerTag, sealedRecordId, item, ...toFeedEvent(key, item, revision, now) };
  const stood = await store.put(key, entry);
  if (stood === 'later') return superseded(store, operation);
  const effect = effectOf(operation, stood === 'nothing');
  return { recordId, result: 'written', effect, versionTag: String(revision), remoteId: null };
}

function isSame(existing: FeedEntry, { kind, revision }: Operation, item: CalendarItem): boolean {
  const isOfIt = kind === 'create' ? existing.revision <= revision : existing.revision === revision;
  return isOfIt && isDeepStrictEqual(existing.item, item);
}

async function superseded(store: FeedStore, { recordId, key, revision }: Operation): Promise<Outcome> {
  const [remote] = [...(await store.entries([key]))].map(toRemote);
  return { recordId, result: 'superseded', revision: remote?.revision ?? revision, remote: remote ?? null };
}

function toRemote([key, { sealedRecordId, item, revision }]: readonly [ItemKey, FeedEntry]): RemoteItem {
  return { key, sealedRecordId, remoteId: key, versionTag: String(revision), item, revision };
}

/** Deletes events before the window, which the planner ignores. */
async function dropPast(
  store: FeedStore,
  entries: readonly [ItemKey, FeedEntry][],
  beforeAt: number,
  zone: string,
): Promise<void> {
  for (const [key, { item, revision }] of entries) {
    if (spanOf(item.time, zone).endAt < beforeAt) await store.takeOut(key, revision);
  }
}

/** Converts an item to its public form. The key is the only internal identifier in the form. */
function toFeedEvent(
  key: ItemKey,
  item: CalendarItem,
  revision: number,
  writtenAt: Instant,
): Pick<FeedEntry, 'event' | 'zone'> {
  const event = new ICAL.Component('vevent');
  addText(event, 'uid', key);
  addInstant(event, 'dtstamp', writtenAt);
  event.addPropertyWithValue('sequence', revision);
  const needsZone = addTimes(event, item.time) !== null;
  addText(event, 'summary', carriable(item.title));
  if (item.description !== null) addText(event, 'description', carriable(item.description));
  if (item.location !== null) addText(event, 'location', carriable(item.location));
  addText(event, 'class', item.visibility === 'default' ? 'PUBLIC' : 'PRIVATE');
  if (item.tentative === true) addText(event, 'status', 'TENTATIVE');
  addText(event, 'transp', item.busy ? 'OPAQUE' : 'TRANSPARENT');
  if (!needsZone || item.time.kind === 'all-day') return { event: event.toString(), zone: null };
  const { zone: name, start, end } = item.time;
  return {
    event: event.toString(),
    zone: { name, fromYear: Number(start.slice(0, 4)), toYear: Number(end.slice(0, 4)) },
  };
}
