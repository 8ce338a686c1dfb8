import type { SmallWorld } from '../test/e2e/support/small-world.ts';

const HALF_HOUR_MS = 1_800_000;
const DAY_MS = 86_400_000;

/** Books appointments of half an hour in the one agenda, one after the other from tomorrow on. @returns their ids */
export function book(world: SmallWorld, count: number): string[] {
  const { clinicId, agendaIds } = only(world.tenants);
  const firstAt = Math.ceil(world.clinic.clock() / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, index) => {
    const slot = { agendaId: agendaIds[0] ?? '', start: firstAt + index * HALF_HOUR_MS };
    return world.clinic.book(clinicId, slot).id;
  });
}

/** The one entry of a list. Throws Error when there are more, or none. */
export function only<Entry>(list: readonly Entry[]): Entry {
  const [entry] = list;
  if (entry === undefined || list.length > 1) throw new Error(`one was expected and ${list.length} are there`);
  return entry;
}

/** Returns the seconds since a time of `performance.now()`, to two places. */
export function secondsSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) / 10) / 100;
}
