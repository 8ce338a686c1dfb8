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

/** Maximum delay of a removal after the clinic's change: a cycle was running, a lane was busy, or a daemon was down. */
const LAG_MS = 20_000;

/**
 * Returns removals without a reason in the clinic's data: the appointment belonged to the target all the time, and the clinic did not deny
 * it as believably as after a deletion.
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
    const named = [...held].filter(([, versions]) => versions.some((entry) => surnameOf(entry) === surname));
    const isExplained = ([id, versions]: [string, Entry[]]) =>
      denials.some((lie) => lie.isBelievable(id, at)) ||
      versions.some((entry) => surnameOf(entry) !== surname || verdictOn(entry, rulesAt(at), at) !== 'shown');
    return named.length > 0 && !named.some(isExplained);
  });
}

/** An object of a target, with the appointment that its title names. */
export interface SeenObject {
  id: string;
  surnames: readonly string[];
}

/** Records the objects that a request removes from a target. An object still exists if its title became empty. */
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
