import { setTimeout as delay } from 'node:timers/promises';
import type { DaemonProcess } from '../../demo/daemon.ts';
import type { DemoTarget } from '../../demo/world.ts';
import { matches } from '../../sandbox/kit/fault-proxy.ts';
import { seededRandom } from '../../sandbox/kit/random.ts';
import type { WritePlace } from './crm/side.ts';
import type { Scene } from './scene.ts';

/** When the daemon is killed, counted from its start. */
export type Moment =
  /** After so many requests to the clinic. */
  | { at: 'pull'; requests: number }
  /** Some time after the first change stands in an outbox. */
  | { at: 'plan'; delayMs: number }
  /** At a write to one place: while it is on its way, or carried out and not yet answered. */
  | { at: 'write'; place: number; skip: number; side: 'sent' | 'done' }
  /** Some time after its first request to the clinic. */
  | { at: 'time'; delayMs: number };

const WRITES = /^(POST|PUT|PATCH|DELETE|MKCALENDAR)$/;
const KINDS: readonly Moment['at'][] = ['write', 'pull', 'write', 'plan', 'write', 'time'];
const LONGEST_WAIT_MS = 60_000;
/** Requests to the clinic until it is read, at least: agendas, appointments and patients of both tenants. */
const MOST_READS = 16;

/** Where a write can be met. */
type Place = Pick<WritePlace, 'usual'>;

/** The places of a scene: each calendar, and each kind of write to a CRM. */
export function placesOf({ world, crms }: Pick<Scene, 'world' | 'crms'>): WritePlace[] {
  return [...world.targets.map(placeOf), ...crms.flatMap(({ places }) => places)];
}

/** Google takes 50 changes in one request, CalDAV one: its writes are many more. */
function placeOf({ proxy, connector }: DemoTarget): WritePlace {
  return { name: connector, proxy, method: WRITES, usual: connector === 'caldav' ? 20 : 2 };
}

/** Whether the daemon wrote anything since the proxies were last told to forget. */
export function hasWritten(scene: Scene): boolean {
  return placesOf(scene).some((place) => place.proxy.requests.some((request) => matches(place, request)));
}

/** A list of moments that is always the same for a seed; every kind comes in turn. */
export function* moments(seed: number, places: readonly Place[]): Generator<Moment> {
  const random = seededRandom(seed);
  const upTo = (limit: number) => Math.floor(random() * limit);
  for (let index = 0; ; index += 1) {
    const at = KINDS[index % KINDS.length];
    if (at === 'pull') yield { at, requests: 1 + upTo(MOST_READS) };
    else if (at === 'plan') yield { at, delayMs: upTo(60) };
    else if (at === 'time') yield { at, delayMs: upTo(2_500) };
    else {
      const place = upTo(places.length);
      yield { at: 'write', place, skip: upTo(places[place]?.usual ?? 1), side: random() < 0.5 ? 'sent' : 'done' };
    }
  }
}

/**
 * Kills the daemon with SIGKILL at the moment.
 * @returns whether the moment came; when it didn't, the daemon had nothing left to do and is killed then
 */
export async function killAt(moment: Moment, daemon: DaemonProcess, scene: Scene): Promise<boolean> {
  const before = clinicRequests(scene);
  const asked = () => clinicRequests(scene) - before;
  let came = false;
  const strike = () => {
    came = true;
    daemon.process.kill('SIGKILL');
  };
  if (moment.at === 'write') armProxy(moment, placesOf(scene), strike);
  else void watchFor(moment, scene, asked).then((seen) => seen && strike());
  await Promise.race([exitOf(daemon), idle(scene, asked)]);
  await daemon.kill();
  for (const { proxy } of placesOf(scene)) proxy.clear();
  return came;
}

function armProxy(
  { place, skip, side }: Extract<Moment, { at: 'write' }>,
  places: readonly WritePlace[],
  strike: () => void,
): void {
  const { proxy, usual: _usual, name: _name, ...match } = places[place % places.length] as WritePlace;
  proxy.add({
    ...match,
    after: skip,
    fault: {
      kind: 'rewrite',
      request(request) {
        if (side === 'sent') strike();
        return request;
      },
      answer(answer) {
        if (side === 'done') strike();
        return answer;
      },
    },
  });
}

async function watchFor(
  moment: Exclude<Moment, { at: 'write' }>,
  { redis }: Scene,
  asked: () => number,
): Promise<boolean> {
  const deadline = performance.now() + LONGEST_WAIT_MS;
  const holds = async () => {
    if (moment.at === 'plan') return (await redis.keys('cm:{*}:outbox:*')).length > 0;
    return asked() >= (moment.at === 'pull' ? moment.requests : 1);
  };
  while (!(await holds())) {
    if (performance.now() > deadline) return false;
    await delay(2);
  }
  if (moment.at !== 'pull') await delay(moment.delayMs);
  return true;
}

function exitOf({ process }: DaemonProcess): Promise<void> {
  return new Promise((resolve) => process.once('exit', () => resolve()));
}

/** Until the daemon has read the clinic and nothing waits any more. */
async function idle({ watch }: Scene, asked: () => number): Promise<void> {
  const startedAt = Date.now();
  for (;;) {
    await delay(200);
    if (asked() === 0) continue;
    const targets = (await watch.status()).tenants.flatMap((tenant) => tenant.targets);
    if (targets.every(({ state, inSyncAsOf }) => state === 'in-sync' && (inSyncAsOf ?? 0) >= startedAt)) return;
    if (Date.now() - startedAt > LONGEST_WAIT_MS) return;
  }
}

function clinicRequests({ world }: Scene): number {
  return world.clinic.counts.requests();
}
