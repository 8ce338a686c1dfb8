import { containerOf } from '../../test/support/container-of.ts';
import { AGENDA_HOLDS, type CycleWorld, openCycleWorld } from '../cycle/world.ts';
import { atMost, cpuSecondsOf, type Figure, secondsOf } from '../figure.ts';
import { requestsOf, type Sent } from '../sent.ts';
import { startVendor } from './vendor-process.ts';

const GOAL = 1.3;
/** CalDAV takes one event a request, so a tenth of them is enough to see. */
const SHARES = { 'google-calendar': 1, 'outlook-calendar': 1, hubspot: 1, caldav: 0.1 } as const;
/** Requests that carry writes: batches of Google's, Microsoft's and HubSpot's, and CalDAV's objects. */
const WRITES = /\/batch\/calendar\/|\/\$batch$|\/batch\/upsert$|\.ics$/;

type VendorName = keyof typeof SHARES;

/**
 * How long the first sync into an empty target takes against reading the same pages of the clinic and posting the same batches, one after
 * the other.
 */
export async function measureFirst(
  { records, batch }: { records: number; batch: number },
  say: (text: string) => void,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, share] of Object.entries(SHARES) as [VendorName, number][]) {
    const count = Math.ceil(records * share);
    say(`first: ${count} records into ${name} …`);
    figures.push(await measureVendor(name, count, batch));
  }
  return figures;
}

/** What the first sync of so many records into an empty calendar costs our process, in CPU seconds. */
export async function secondsOfFirst(name: 'google-calendar' | 'outlook-calendar', count: number): Promise<number> {
  await using vendor = await startVendor(name, 0);
  const size = { appointments: count, targets: Math.ceil(count / AGENDA_HOLDS) };
  await using world = await openCycleWorld(size, vendor.target);
  await placeOf(world);
  return await cpuSecondsOf(() => world.sync());
}

async function measureVendor(name: VendorName, count: number, latencyMs: number): Promise<Figure> {
  await using vendor = await startVendor(name, latencyMs);
  const isOfPatients = vendor.target.stream === 'patients';
  const size = isOfPatients ? { appointments: 1, patients: count } : { appointments: count };
  await using world = await openCycleWorld({ ...size, targets: Math.ceil(count / AGENDA_HOLDS) }, vendor.target);
  const place = await placeOf(world);
  let ours = 0;
  const sent = await requestsOf(async () => {
    ours = await secondsOf(() => world.sync());
  });
  const [target = ''] = world.tenant.targets.keys();
  const n = await world.tenant.links.count(target);

  await using other = await startVendor(name, latencyMs);
  await using otherWorld = await openCycleWorld({ appointments: 1, targets: 1 }, other.target);
  const there = await placeOf(otherWorld);
  const reads = sent.filter(({ url }) => url.startsWith(world.clinic.baseUrl));
  const writes = sent.filter(({ url }) => WRITES.test(url)).map((write) => moved(write, place, there));
  const floor = await secondsOf(async () => {
    for (const { url, headers } of reads) JSON.parse(await answerOf(url, { headers }));
    for (const { url, ...write } of writes) await answerOf(url, write);
  });
  return { name: `first ${name}`, ...atMost(GOAL, ours / floor), floor, ours, unit: 's', n };
}

export async function answerOf(url: string, init: RequestInit): Promise<string> {
  const answer = await fetch(url, init);
  if (!answer.ok) throw new Error(`refused: ${answer.status}`);
  return await answer.text();
}

/** Where a target writes to. */
export interface Place {
  origin: string;
  authorization: string;
  container: string;
}

/** Creates the calendar, or the CRM's prerequisites, if missing. */
export async function placeOf({ tenant }: CycleWorld): Promise<Place> {
  let container = '';
  const sent = await requestsOf(async () => {
    for (const { connector } of tenant.targets.values()) container = await containerOf(connector, null, NEVER);
  });
  const last = sent.at(-1);
  if (last === undefined) throw new Error('the vendor received no request');
  return { origin: new URL(last.url).origin, authorization: last.headers.get('authorization') ?? '', container };
}

const NEVER = new AbortController().signal;

/** A write as it would have been at another vendor of the same kind. */
function moved({ method, url, headers, body }: Sent, from: Place, to: Place): RequestInit & { url: string } {
  const move = (text: string) =>
    text
      .replaceAll(from.container, to.container)
      .replaceAll(encodeURIComponent(from.container), encodeURIComponent(to.container))
      .replaceAll(from.origin, to.origin);
  const there = new Headers(headers);
  there.set('authorization', to.authorization);
  return { url: move(url), method, headers: there, body: move(body ?? '') };
}
