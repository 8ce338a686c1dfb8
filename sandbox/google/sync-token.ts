import { z } from 'zod';
import type { Context } from './call.ts';
import { fromToken, toToken } from './cursors.ts';
import { fullSyncRequired, invalid } from './errors.ts';
import type { Calendar } from './world.ts';

/** Not allowed together with a sync token (v3 reference, events.list). */
const FORBIDDEN = [
  'iCalUID',
  'orderBy',
  'privateExtendedProperty',
  'q',
  'sharedExtendedProperty',
  'timeMin',
  'timeMax',
  'updatedMin',
];

/** A first list with one of these gets no sync token; a time window does. */
const WITHOUT_TOKEN = FORBIDDEN.filter((name) => name !== 'timeMin' && name !== 'timeMax');

/** Must be the same as in the first list. */
const MUST_EQUAL = ['singleEvents', 'showDeleted', 'showHiddenInvitations', 'eventTypes', 'timeZone', 'maxAttendees'];

const syncToken = z.object({
  calendarId: z.string(),
  change: z.int(),
  generation: z.int(),
  issuedAt: z.number(),
  parameters: z.string(),
});

/** The token that continues from the state before this list, or undefined when the list's parameters exclude one. */
export function issueSyncToken(context: Context, calendar: Calendar): string | undefined {
  if (WITHOUT_TOKEN.some((name) => context.query.has(name))) {
    return undefined;
  }
  return toToken({
    calendarId: calendar.id,
    change: context.world.lastChange,
    generation: calendar.syncGeneration,
    issuedAt: context.world.now(),
    parameters: comparable(context.query),
  } satisfies z.infer<typeof syncToken>);
}

/**
 * The number of the last change that the token's holder has seen. Throws ApiError 400 for a foreign token or parameters that
 * don't go with one, 410 fullSyncRequired when it is dead.
 */
export function changeOfSyncToken(context: Context, calendar: Calendar, token: string): number {
  const { query, world, faults, call, caller } = context;
  if (FORBIDDEN.some((name) => query.has(name)) || query.get('showDeleted') === 'false') {
    throw invalid('Sync token cannot be used with other query restrictions.', 'syncToken');
  }
  const parsed = syncToken.safeParse(fromToken(token));
  if (!parsed.success || parsed.data.calendarId !== calendar.id) {
    throw invalid('Invalid sync token value.', 'syncToken');
  }
  const { change, generation, issuedAt, parameters } = parsed.data;
  const expired = world.now() - issuedAt > world.settings.syncTokenLifetimeMs;
  const faulted = faults.active('sync-token-expired', { method: call.method, path: call.url, client: caller.account });
  if (expired || faulted || generation !== calendar.syncGeneration) {
    throw fullSyncRequired();
  }
  if (parameters !== comparable(query)) {
    throw invalid('Sync token cannot be used with other parameters than the request that gave it.', 'syncToken');
  }
  return change;
}

function comparable(query: URLSearchParams): string {
  return MUST_EQUAL.map((name) => {
    const values = query.getAll(name).sort();
    return `${name}=${values.length === 1 && values[0] === 'false' ? '' : values.join(',')}`;
  }).join('&');
}
