import { z } from 'zod';
import type { RemoteItem } from '../../model/operations.ts';
import type { TimeWindow } from '../../model/time.ts';
import type { RemoteChanges } from '../connector.ts';
import { fromCursor, readFeed } from '../cursor.ts';
import type { Flow } from '../flow.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { errors, isFeedRefused, isGone } from './errors.ts';
import { eventsPath, type FlowScope } from './flows.ts';
import { readOwnEvent, toRemoteItem } from './from-model.ts';
import { CHANGES_READ_SINGLY, DELTA_SPARE_MS, MAX_DELTA_PAGES, MAX_REPEATED_PAGES } from './limits.ts';
import { EVENT_QUERY, pageOf, withQuery } from './paths.ts';
import { namedSchema } from './schemas.ts';

/** What reading changes needs of a target. */
export interface ChangesCalls {
  scope: FlowScope;
  /** One page of a delta round. */
  list(path: string): Promise<WireResponse>;
  /** Everything of ours in the window, in pages. */
  readAll(): AsyncIterable<RemoteItem[]>;
  /** Those of the events that are in the calendar and ours. */
  readEach(ids: readonly string[]): Promise<RemoteItem[]>;
}

/** The delta link, from the version of the API on, and the window that it is for. */
const placeSchema = z.object({ path: z.string().startsWith('/'), fromAt: z.number(), toAt: z.number() });
type Place = z.infer<typeof placeSchema>;

/**
 * What changed since a cursor by `calendarView/delta` (learn.microsoft.com/graph/api/event-delta). A round names events of
 * anybody, without our properties, some twice, and calls removed what only left its window: so all that it tells is which
 * events to look at, and what they are like is read from them. Without a link that Graph takes, or for a window that the
 * link's does not cover, all of ours.
 * @throws MirrorError; a page that fails ends the reading without a cursor
 */
export async function readChanges(
  calls: ChangesCalls,
  container: string,
  { cursor, window }: { cursor: string | null; window: TimeWindow },
): Promise<RemoteChanges> {
  const place = fromCursor(container, cursor, placeSchema);
  const isCovering = place !== null && place.fromAt <= window.fromAt && window.toAt <= place.toAt;
  return await readFeed(container, isCovering ? place : null, {
    mostIds: CHANGES_READ_SINGLY,
    follow: (from) => follow(calls, from ?? placeFor(calls.scope, window)),
    readEach: calls.readEach,
    readAll: calls.readAll,
  });
}

/** Reads one event as it is now; null when it is not in the calendar, or not ours. */
export function* readFlow(scope: FlowScope, id: string): Flow<RemoteItem | null> {
  const answer = yield {
    method: 'GET',
    path: withQuery(`${eventsPath(scope)}/${encodeURIComponent(id)}`, EVENT_QUERY),
  };
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  const event = readOwnEvent(answer.body, scope.ownerTag, scope.wholeDayZone);
  return event === null ? null : toRemoteItem(event);
}

/** Where a first round begins. The caller's window moves on with the days, so the link's reaches further. */
function placeFor(scope: FlowScope, { fromAt, toAt }: TimeWindow): Place {
  const place = { fromAt, toAt: toAt + DELTA_SPARE_MS };
  const query = { startDateTime: inUtc(place.fromAt), endDateTime: inUtc(place.toAt) };
  const view = eventsPath(scope).replace(/events$/, 'calendarView/delta');
  return { ...place, path: withQuery(view, query) };
}

function inUtc(at: number): string {
  return new Date(at).toISOString();
}

/**
 * Follows a round to its end; null when Graph does not take the link, offers no delta for this calendar, comes to no end or answers with
 * what is no page: all is read then, and what ails more than the round shows there. Empty pages on the way are as they should be
 * (github.com/microsoftgraph/msgraph-sdk-java/issues/493).
 */
async function follow(
  { list }: ChangesCalls,
  place: Place,
): Promise<{ ids: string[]; others: []; next: Place | null } | null> {
  const ids = new Set<string>();
  let path = place.path;
  let repeated = 0;
  for (let count = 0; count < MAX_DELTA_PAGES && repeated < MAX_REPEATED_PAGES; count += 1) {
    const answer = await list(path);
    if (isFeedRefused(answer)) return null;
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = pageOf(answer);
    if (page === null || page.next === path) return null;
    const before = ids.size;
    for (const element of page.elements) {
      const named = namedSchema.safeParse(element);
      if (named.success) ids.add(named.data.id);
    }
    if (page.next === null) {
      return { ids: [...ids], others: [], next: page.delta === null ? null : { ...place, path: page.delta } };
    }
    if (page.elements.length > 0) repeated = ids.size === before ? repeated + 1 : 0;
    path = page.next;
  }
  return null;
}
