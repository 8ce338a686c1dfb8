import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { type Cost, costOf, lesser, NOTHING } from './cost.ts';
import type { KeeperRun } from './keeper.ts';

const API = 'https://www.googleapis.com/';
const DAY_MS = 86_400_000;
/** The window of clinic-mirror's target. */
const [PAST_MS, FUTURE_MS] = [60 * DAY_MS, 400 * DAY_MS];
const AN_HOUR_MS = 3_600_000;

/** The parts of keeper.sh that are used here. */
interface Provider {
  listRemoteEvents(window: object): Promise<unknown[]>;
}

interface Insert {
  syncEventId: string;
}

interface Core {
  createGoogleSyncProvider(config: object): Provider;
  syncCalendar(options: object): Promise<{ added: number; removed: number; errors: string[] }>;
}

/** What a run cost: every event into an empty calendar, and the least of several runs without changes. */
export type KeeperCosts = Record<'first' | 'quiet', Cost>;

/** Runs the sync core of keeper.sh, in Bun; reads a {@link KeeperRun} and prints {@link KeeperCosts}. */
async function main(): Promise<void> {
  const given: KeeperRun = JSON.parse(await text(process.stdin));
  const sync = await openCore(given);
  const first = await costOf(async () => expectAdded(await sync(), given.events.length));
  let quiet = NOTHING;
  for (let time = 0; time < given.times; time += 1) {
    const cost = await costOf(async () => expectAdded(await sync(), 0));
    quiet = lesser(quiet, cost);
  }
  process.stdout.write(JSON.stringify({ first, quiet } satisfies KeeperCosts));
}

function expectAdded({ added, removed, errors }: Awaited<ReturnType<Core['syncCalendar']>>, count: number): void {
  if (added === count && removed === 0 && errors.length === 0) return;
  throw new Error(`keeper.sh added ${added} of ${count} events and removed ${removed}: ${errors[0] ?? 'no errors'}`);
}

/** One synchronisation, as its worker does it; a map stands for its database. */
async function openCore({ folder, place, events }: KeeperRun) {
  const load = async (path: string) => await import(pathToFileURL(`${folder}/packages/calendar/src/${path}`).href);
  const core: Core = { ...(await load('core/sync-engine/index.ts')), ...(await load('providers/google/index.ts')) };
  sendTo(place.origin);
  const provider = core.createGoogleSyncProvider({
    ...{ accessToken: place.authorization.replace('Bearer ', ''), refreshToken: 'none' },
    ...{ accessTokenExpiresAt: new Date(Date.now() + AN_HOUR_MS), externalCalendarId: place.container },
    ...{ calendarId: 'bench', userId: 'bench' },
  });
  const mappings = new Map<string, object>();
  const window = { timeMin: new Date(Date.now() - PAST_MS), timeMax: new Date(Date.now() + FUTURE_MS) };
  const localEvents = events.map(({ id, summary, start, end }) => ({
    ...{
      id,
      eventStateId: id,
      sourceEventUid: id,
      summary,
      calendarId: 'clinic',
      calendarName: null,
      calendarUrl: null,
    },
    ...{ startTime: new Date(start.dateTime ?? start.date ?? ''), endTime: new Date(end.dateTime ?? end.date ?? '') },
    isAllDay: start.date !== undefined,
  }));
  return () =>
    core.syncCalendar({
      ...{ userId: 'bench', calendarId: 'bench', provider },
      reconciliationScope: { authoritativeWindow: window, requestedWindow: window },
      isCurrent: async () => true,
      async readState() {
        const remoteEvents = await provider.listRemoteEvents(window);
        return { localEvents, remoteEvents, existingMappings: [...mappings.values()] };
      },
      async flush({ inserts, deletes }: { inserts: Insert[]; deletes: string[] }) {
        for (const insert of inserts) mappings.set(insert.syncEventId, { ...insert, id: insert.syncEventId });
        for (const id of deletes) mappings.delete(id);
      },
    });
}

/** Sends requests for Google to a sandbox. */
function sendTo(origin: string): void {
  const { fetch } = globalThis;
  const there = (input: unknown, init?: RequestInit) => fetch(String(input).replace(API, `${origin}/`), init);
  Object.assign(globalThis, { fetch: there });
}

await main();
