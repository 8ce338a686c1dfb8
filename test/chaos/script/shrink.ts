import type { Script, Step } from './generate.ts';

/** A script that still fails, and what it took to find it. */
export interface Shrunk {
  script: Script;
  /** How often a script was tried. */
  tries: number;
  /** Whether the original script failed again. */
  fails: boolean;
}

/**
 * Removes steps from a failing script as long as it still fails: first halves, then single steps, then daemons and work.
 * @param fails plays a script; each script is tried `patience` times before it counts as not failing, because timing varies
 * @param mostTries ends the search, which then returns the shortest script so far
 */
export async function shrink(
  script: Script,
  fails: (script: Script) => Promise<boolean>,
  { mostTries = 20, patience = 2 }: { mostTries?: number; patience?: number } = {},
): Promise<Shrunk> {
  let tries = 0;
  const failsAgain = async (one: Script) => {
    for (let time = 0; time < patience && tries < mostTries; time += 1) {
      tries += 1;
      if (await fails(one)) return true;
    }
    return false;
  };
  if (!(await failsAgain(script))) return { script, tries, fails: false };
  let shortest = script;
  for (let size = Math.floor(script.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < shortest.steps.length && tries < mostTries; ) {
      const shorter = { ...shortest, steps: without(shortest.steps, at, size) };
      if (shorter.steps.length > 0 && (await failsAgain(shorter))) shortest = shorter;
      else at += size;
    }
  }
  for (const simplify of SIMPLER) {
    const simpler = simplify(shortest);
    if (tries < mostTries && (await failsAgain(simpler))) shortest = simpler;
  }
  return { script: shortest, tries, fails: true };
}

function without(steps: readonly Step[], at: number, size: number): Step[] {
  return steps.filter((_, index) => index < at || index >= at + size);
}

/** Tried one after another, separately. */
const SIMPLER: readonly ((script: Script) => Script)[] = [
  (script) => ({ ...script, daemons: 1 }),
  (script) => ({ ...script, steps: script.steps.map((step) => ({ ...step, pieces: 0 })) }),
];
