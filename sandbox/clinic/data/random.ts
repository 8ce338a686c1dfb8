import { seededRandom } from '../../kit/random.ts';

/** A seeded random generator: equal seeds give equal sequences on every host. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [minimum, maximum], both included. */
  integer(minimum: number, maximum: number): number;
  /** True in `share` (0..1) of the calls. */
  chance(share: number): boolean;
  /** One element of a list. Throws RangeError when the list is empty. */
  pick<T>(list: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  const next = seededRandom(seed);

  function integer(minimum: number, maximum: number): number {
    return minimum + Math.floor(next() * (maximum - minimum + 1));
  }

  function pick<T>(list: readonly T[]): T {
    const chosen = list[integer(0, list.length - 1)];
    if (chosen === undefined) throw new RangeError('cannot pick from an empty list');
    return chosen;
  }

  return { next, integer, chance: (share) => next() < share, pick };
}
