import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eachAtMost } from '../../src/core/model/pieces.ts';
import type { CycleWorld } from '../cycle/world.ts';
import { atMost, type Figure } from '../figure.ts';
import type { Sent } from '../sent.ts';
import { type Cost, costOf, lesser, NOTHING } from './cost.ts';
import { answerOf, type Place } from './first.ts';
import { eventsOf, eventsUrlOf, firstSync, openGooglePair } from './google-pair.ts';

const GOALS = { cpu: 2, wall: 1.5 };
const TIMES = 3;
const CHANGES = 20;
/** Requests that the script sends at the same time. */
const AT_ONCE = 4;

/** Costs of one program: all events into an empty calendar, nothing to do, and a few moved appointments. */
type Taken = Record<'first' | 'quiet' | 'changed', Cost>;

/**
 * Mirrors a clinic into Google Calendar with clinic-mirror, and with a plain script that a developer writes in an afternoon. The script
 * reads the same pages, stores in a file what it wrote, and writes each difference, four at a time. It has no marks, no checks, no limits,
 * no repetition and no protection against deletions.
 */
export async function measureScript({ events }: { events: number }, say: (text: string) => void): Promise<Figure[]> {
  say(`script: ${events} events into google-calendar …`);
  await using pair = await openGooglePair(events);
  const { world, place } = pair;
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-bench-'));
  try {
    const { cost: first, reads } = await firstSync(world);
    const script = { reads, place, file: join(dir, 'state.json') };
    const theirs: Taken = { first: await costOf(() => runScript(script)), quiet: NOTHING, changed: NOTHING };
    const ours: Taken = { first, quiet: NOTHING, changed: NOTHING };
    say('script: without a change, and with a few …');
    for (const part of ['quiet', 'changed'] as const) {
      const least = await leastOfBoth(world, part, script);
      ours[part] = least.ours;
      theirs[part] = least.theirs;
    }
    const figure = (part: keyof Taken, kind: keyof Cost): Figure => ({
      ...{ name: `script ${part} ${kind}`, ...atMost(GOALS[kind], ours[part][kind] / theirs[part][kind]) },
      ...{ floor: theirs[part][kind], ours: ours[part][kind], unit: kind === 'cpu' ? 'CPU s' : 's', n: events },
    });
    const parts = ['first', 'quiet', 'changed'] as const;
    return parts.flatMap((part) => [figure(part, 'cpu'), figure(part, 'wall')]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Measures both programs alternately, after the same changes. Both read the same clinic. */
async function leastOfBoth(world: CycleWorld, part: 'quiet' | 'changed', script: Script) {
  const [tenant] = world.clinic.tenants;
  let [ours, theirs] = [NOTHING, NOTHING];
  for (let time = 0; time < TIMES; time += 1) {
    if (part === 'changed') await world.clinic.simulate(tenant?.id ?? '', { moved: CHANGES });
    ours = lesser(ours, await costOf(() => world.sync()));
    theirs = lesser(theirs, await costOf(() => runScript(script)));
  }
  return { ours, theirs };
}

interface Script {
  /** Pages of the clinic. */
  reads: readonly Sent[];
  place: Place;
  /** Stores the written events by appointment. */
  file: string;
}

/** One round of the plain script, as a new process would run it: nothing is in memory from the round before. */
async function runScript({ reads, place, file }: Script): Promise<void> {
  const stored = new Map<string, string>(JSON.parse(await readFile(file, 'utf8').catch(() => '[]')));
  const events = await eventsOf(reads);
  const wanted = new Map([...events].map(([id, event]) => [id, JSON.stringify(event)]));
  const url = eventsUrlOf(place);
  const headers = { authorization: place.authorization, 'content-type': 'application/json' };
  const written = [...wanted].filter(([id, body]) => stored.get(id) !== body);
  const ids = [...stored.keys()].filter((id) => !wanted.has(id));
  const work: (() => Promise<unknown>)[] = [
    ...written.map(([id, body]) => () => {
      const event = JSON.stringify({ ...JSON.parse(body), id: eventId(id) });
      if (stored.has(id)) return answerOf(`${url}/${eventId(id)}`, { method: 'PUT', headers, body: event });
      return answerOf(url, { method: 'POST', headers, body: event });
    }),
    ...ids.map((id) => () => answerOf(`${url}/${eventId(id)}`, { method: 'DELETE', headers })),
  ];
  await eachAtMost(AT_ONCE, work, (send) => send());
  await writeFile(file, JSON.stringify([...wanted]));
}

/** Event ids consist of the digits and letters of base32hex (developers.google.com/workspace/calendar/api/v3/reference/events/insert). */
function eventId(id: string): string {
  return Buffer.from(id).toString('hex');
}
