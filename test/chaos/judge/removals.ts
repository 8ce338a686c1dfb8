import { surnameOf } from './compare.ts';
import type { Denials } from './denials.ts';
import type { Entry, History } from './history.ts';
import { type TargetRules, verdictOn } from './rules.ts';

/** A daemon took the last object of an appointment out of a target. */
export interface Removal {
  /** Epoch ms. */
  at: number;
  /** Of the target that it was taken from. */
  tenant: string;
  account: string;
  /** The surname in its title. */
  surname: string;
}

/** How long a removal may come behind what the clinic said: a cycle was under way, a lane was busy, a daemon was away. */
const LAG_MS = 20_000;

/**
 * Removals that the clinic's data did not ask for: the appointment belonged there all the time until then, and the clinic did not deny it as
 * believably as one does that has deleted it.
 */
export function unjustified(
  removals: readonly Removal[],
  {
    history,
    denials,
    rulesAt,
  }: { history: History; denials: readonly Denials[]; rulesAt: (at: number) => TargetRules },
): Removal[] {
  return removals.filter(({ at, surname }) => {
    const held = history.between(at - LAG_MS, at);
    const [id, versions] = [...held].find(([, [first]]) => surnameOf(first as Entry) === surname) ?? ['', []];
    if (versions.length === 0 || denials.some((lie) => lie.isBelievable(id, at))) return false;
    return versions.every((entry) => verdictOn(entry, rulesAt(at), at) === 'shown');
  });
}

/** An object of a target, with what its title says of whose it is. */
export interface SeenObject {
  id: string;
  surnames: readonly string[];
}

/** What is left of a target while a request to it is carried out. An object is still there when its title tells nothing any more. */
export async function watchRemovals(
  read: () => Promise<readonly SeenObject[]>,
  onRemoved: (surname: string) => void,
): Promise<() => Promise<void>> {
  const before = await read();
  return async () => {
    const after = await read();
    const there = new Set(after.map(({ id }) => id));
    const shown = new Set(after.flatMap(({ surnames }) => surnames));
    const gone = before.filter(({ id }) => !there.has(id)).flatMap(({ surnames }) => surnames);
    for (const surname of new Set(gone)) if (!shown.has(surname)) onRemoved(surname);
  };
}
