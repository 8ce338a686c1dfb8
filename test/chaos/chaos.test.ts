import { afterAll, beforeAll, expect, test } from 'vitest';
import { noTally } from './judge/tally.ts';
import { play } from './run/run.ts';
import { choiceOf, describeScript, scriptOf } from './script/generate.ts';
import { checkRewrites, MECHANISMS } from './without/mechanisms.ts';
import { focusedScript } from './without/scripts.ts';
import { openParks, type Parks } from './world/world.ts';

/** Limit for a run that hangs. A run takes about fifteen seconds on an idle host, and any time on a busy one. */
const TIMEOUT_MS = 1_200_000;
/** One daemon, whose Redis is full for a while: a visit loses its start, patients are merged, events lose their marks. */
const SEED = 331_170;

let opened: Parks | null = null;

beforeAll(async () => {
  opened = await openParks(1, () => {});
}, TIMEOUT_MS);
afterAll(() => opened?.close());

/** Safeties whose removal a test proves; `npm run chaos -- --without all` proves the others too. */
const PROVED = ['names-decide', 'more-told', 'prove-writes', 'emptying-nothing', 'merges', 'unscheduled'];

/** Scripts that are tried until one shows the defect. */
const SEEDS_OF_PROOF = [1, 2, 3];

test.each(PROVED)(
  'without the safety %s, a run has a defect that it prevents',
  { timeout: TIMEOUT_MS },
  async (safety) => {
    const [park] = opened?.parks ?? [];
    if (park === undefined) throw new Error('there is no park');
    // A daemon that cannot remove the safety ends, which would look like a defect.
    await checkRewrites(safety);
    const { prevents = [] } = MECHANISMS[safety] ?? {};
    const played: string[] = [];
    // On a busy host the daemon may repair before the fault acts: a later script then shows the defect.
    for (const seed of SEEDS_OF_PROOF) {
      const script = focusedScript(safety, seed);
      played.push(describeScript(script));
      const { defects } = await play(park, script, { without: safety });
      if (defects.some(({ kind }) => prevents.some((each) => each === kind))) return;
    }
    expect.fail(`no run had a defect:\n${played.join('\n')}`);
  },
);

test('the world is correct after a script of faults', { timeout: TIMEOUT_MS }, async () => {
  const [park] = opened?.parks ?? [];
  if (park === undefined) throw new Error('there is no park');
  const script = scriptOf(SEED, choiceOf([]));
  const { tally, defects, unsettled, byFault, searched } = await play(park, script);
  const found = { tally, defects, unsettled };
  expect(found, describeScript(script)).toEqual({ tally: noTally(), defects: [], unsettled: [] });
  expect(Object.keys(byFault).length).toBeGreaterThan(1);
  expect(searched).toEqual(expect.arrayContaining(['the log', 'addresses', 'Redis', '/metrics']));
});
