import { AGENDA_HOLDS, type CycleWorld, openCycleWorld } from '../cycle/world.ts';
import { requestsOf, type Sent } from '../sent.ts';
import { type Cost, costOf } from './cost.ts';
import { answerOf, type Place, placeOf } from './first.ts';
import { startVendor } from './vendor-process.ts';

/** A clinic with an empty calendar at one sandbox of Google, and an empty calendar at a second sandbox for another program. */
interface GooglePair extends AsyncDisposable {
  world: CycleWorld;
  /** The calendar of the other program. */
  place: Place;
}

/** Starts a clinic with so many appointments and both sandboxes. */
export async function openGooglePair(appointments: number): Promise<GooglePair> {
  await using stack = new AsyncDisposableStack();
  const vendor = stack.use(await startVendor('google-calendar'));
  const other = stack.use(await startVendor('google-calendar'));
  const targets = Math.ceil(appointments / AGENDA_HOLDS);
  const world = stack.use(await openCycleWorld({ appointments, targets }, vendor.target));
  await placeOf(world);
  const otherWorld = stack.use(await openCycleWorld({ appointments: 1, targets: 1 }, other.target));
  const place = await placeOf(otherWorld);
  const opened = stack.move();
  return { world, place, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The first sync of clinic-mirror: its cost and the pages that it read. */
export async function firstSync(world: CycleWorld): Promise<{ cost: Cost; reads: Sent[] }> {
  let reads: Sent[] = [];
  const cost = await costOf(async () => {
    const sent = await requestsOf(() => world.sync());
    reads = sent.filter(({ url }) => url.startsWith(world.clinic.baseUrl));
  });
  return { cost, reads };
}

/** A time, or a date for an event of whole days, as Google writes them. */
interface EventTime {
  dateTime?: string;
  date?: string;
}

/** An event that another program writes. */
export interface PeerEvent {
  summary: string;
  start: EventTime;
  end: EventTime;
}

interface Visit {
  id: string;
  start?: string;
  end?: string;
  status?: string;
}

/** Reads the pages of the clinic again; returns an event for each appointment by its id. */
export async function eventsOf(reads: readonly Sent[]): Promise<Map<string, PeerEvent>> {
  const events = new Map<string, PeerEvent>();
  for (const { url, headers } of reads) {
    const { data = [] } = JSON.parse(await answerOf(url, { headers })) as { data?: Visit[] };
    for (const { id, start, end, status } of data) {
      if (start === undefined || end === undefined || status === 'Cancelled') continue;
      events.set(id, { summary: 'Appointment', start: timeOf(start), end: timeOf(end) });
    }
  }
  if (events.size === 0) throw new Error('the other program found no appointments');
  return events;
}

/** An event of whole days has dates without a time. */
function timeOf(text: string): EventTime {
  return text.includes('T') ? { dateTime: text } : { date: text };
}

/** The address of the events of a calendar. */
export function eventsUrlOf({ origin, container }: Place): string {
  return `${origin}/calendar/v3/calendars/${encodeURIComponent(container)}/events`;
}
