import type { Random } from './random.ts';
import type { Zone } from './zone.ts';

/** Appointments begin and last in quarters of an hour. */
export const UNIT_MS = 15 * 60_000;

/** The two sessions of a working day, in local hours. */
export const SESSIONS = [
  { fromHour: 8, toHour: 13 },
  { fromHour: 14, toHour: 19 },
] as const;

const UNITS_PER_SESSION = 20;

/** Usual lengths of visits in units, the commoner ones more often. */
const USUAL_LENGTHS = [1, 2, 2, 2, 3, 4] as const;

/** How many appointments fit into one agenda's day at most. */
export const DAILY_CAPACITY = SESSIONS.length * UNITS_PER_SESSION;

/** Lays out `count` appointments (at most DAILY_CAPACITY) in one day's two sessions, none overlapping another. */
export function layOutDay(date: string, count: number, zone: Zone, random: Random): [startAt: number, endAt: number][] {
  const lean = count > 1 && random.chance(0.5) ? 1 : 0;
  const morning = Math.min(UNITS_PER_SESSION, Math.max(count - UNITS_PER_SESSION, Math.floor(count / 2) + lean));
  return SESSIONS.flatMap((session, index) => {
    const sessionStart = zone.at(date, session.fromHour);
    const spans = layOutSession(index === 0 ? morning : count - morning, random);
    return spans.map(([first, units]): [number, number] => {
      const startAt = sessionStart + first * UNIT_MS;
      return [startAt, startAt + units * UNIT_MS];
    });
  });
}

/** Returns spans as [first unit, units]: chooses the lengths first and spreads the remaining units as gaps at random. */
function layOutSession(count: number, random: Random): [first: number, units: number][] {
  const lengths: number[] = [];
  let free = UNITS_PER_SESSION;
  for (let index = 0; index < count; index++) {
    const longest = free - (count - index - 1);
    const units = Math.min(random.pick(USUAL_LENGTHS), longest);
    lengths.push(units);
    free -= units;
  }
  const gaps = Array.from({ length: count }, () => random.integer(0, free)).sort((one, other) => one - other);
  let used = 0;
  return lengths.map((units, index) => {
    const first = used + (gaps[index] ?? 0);
    used += units;
    return [first, units];
  });
}
