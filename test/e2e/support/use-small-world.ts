import { expect, onTestFinished } from 'vitest';
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
