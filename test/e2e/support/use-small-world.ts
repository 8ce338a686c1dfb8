import { expect, onTestFinished } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';
import type { SmallWorldOptions } from './small-configuration.ts';
import { type SmallWorld, startSmallWorld } from './small-world.ts';

/** A small world for one test, everybody logged in; gone when the test ends. */
export async function useSmallWorld(options: SmallWorldOptions): Promise<SmallWorld> {
  const world = await startSmallWorld(options);
  onTestFinished(() => world.close());
  await world.logIn();
  return world;
}

/** What a comparison says when a target shows exactly what the clinic shows. */
export const EXACT = { duplicates: 0, missing: 0 };

/** Every target shows exactly what the clinic shows. */
export async function expectExact(world: SmallWorld, when?: string): Promise<void> {
  const comparisons = await world.compareAll();
  expect(comparisons, when).toEqual(world.targets.map(() => expect.objectContaining(EXACT)));
}

/** Cycles as the daemon makes them, until something is so: failure is noticed in one and mended in the next, and what is gone is missed twice. */
export async function cycleUntil(world: SmallWorld, condition: () => Promise<boolean>): Promise<void> {
  const cycleAndLook = async () => {
    await world.cycle();
    return await condition();
  };
  await waitFor(cycleAndLook, { what: 'the calendars to follow', intervalMs: 50 });
}

/** Whether a comparison says so. */
export function isExact({ duplicates, missing }: { duplicates: number; missing: number }): boolean {
  return duplicates === 0 && missing === 0;
}
