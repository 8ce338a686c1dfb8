/** Events on the simulated clock, earliest first; events of one time keep the order in which they were added. */
export interface Timetable {
  add(at: number, run: () => Promise<void> | void): void;
  nextAt(): number | null;
  /** Takes the next one, which is due at or before this moment. */
  take(now: number): (() => Promise<void> | void) | null;
}

/** An empty one. */
export function createTimetable(): Timetable {
  // Kept in order; the next one is last.
  const entries: { at: number; run: () => Promise<void> | void }[] = [];
  return {
    add(at, run) {
      let [low, high] = [0, entries.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((entries[middle]?.at ?? 0) >= at) low = middle + 1;
        else high = middle;
      }
      // Behind its equals from the end: those of one moment come in the order of telling.
      let place = low;
      while (place > 0 && entries[place - 1]?.at === at) place -= 1;
      entries.splice(place, 0, { at, run });
    },
    nextAt: () => entries.at(-1)?.at ?? null,
    take: (now) => ((entries.at(-1)?.at ?? Number.POSITIVE_INFINITY) <= now ? (entries.pop()?.run ?? null) : null),
  };
}
