/** Lets a number of each group work at once. */
export interface Turns {
  /** Does the work if there is room. Else whoever came is called when there is, in the order of coming. */
  take(group: string, who: string, work: () => Promise<void>): Promise<void>;
}

/**
 * Keeps the members of one group, such as the tenants that wait for one budget, from taking the places of all others.
 * @param call gives somebody another chance to come
 */
export function createTurns(atOnce: number, call: (who: string) => Promise<void>): Turns {
  const groups = new Map<string, { working: number; waiting: Set<string> }>();
  return {
    async take(group, who, work) {
      const place = groups.get(group) ?? { working: 0, waiting: new Set() };
      groups.set(group, place);
      if (place.working >= atOnce) {
        place.waiting.add(who);
        return;
      }
      place.waiting.delete(who);
      place.working += 1;
      try {
        await work();
      } finally {
        place.working -= 1;
        const [next] = place.waiting;
        if (next !== undefined) {
          place.waiting.delete(next);
          await call(next);
        }
      }
    },
  };
}
