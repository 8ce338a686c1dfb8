import { afterAll, beforeAll, expect, test } from 'vitest';
import { noTally } from './judge/tally.ts';
import { play } from './run/run.ts';
import { choiceOf, describeScript, scriptOf } from './script/generate.ts';
import { openParks, type Parks } from './world/park.ts';

/** A run takes some twelve seconds on a machine of its own. */
const TIMEOUT_MS = 240_000;

let opened: Parks | null = null;

beforeAll(async () => {
  opened = await openParks(1, () => {});
}, TIMEOUT_MS);
afterAll(() => opened?.close());

test('a script without faults leaves nothing wrong behind', { timeout: TIMEOUT_MS }, async () => {
  const [park] = opened?.parks ?? [];
  if (park === undefined) throw new Error('there is no park');
  const script = { ...scriptOf(1, choiceOf([])), steps: [] };
  const { tally, defects, unsettled } = await play(park, script);
  const found = { tally, defects, unsettled };
  expect(found, describeScript(script)).toEqual({ tally: noTally(), defects: [], unsettled: [] });
});
