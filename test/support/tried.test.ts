import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tryCases } from './tried.ts';

/** A property that counts its cases and lets time pass with each. @param fails from this case on */
function counted(fails = Number.POSITIVE_INFINITY) {
  const seen: number[] = [];
  const property = fc.asyncProperty(fc.integer(), async (drawn) => {
    seen.push(drawn);
    if (seen.length >= fails) throw new Error('no');
  });
  return { seen, property };
}

test('a busy host tries fewer cases, but at least the minimum', async () => {
  const { seen, property } = counted();
  await tryCases('cases', property, { least: 7, most: 30, forMs: 0 });
  expect(seen).toHaveLength(7);
});

test('tries all cases if there is enough time, and a requested number without a time limit', async () => {
  const [calm, wished] = [counted(), counted()];
  await tryCases('cases', calm.property, { least: 7, most: 30, forMs: 600_000 });
  expect(calm.seen).toHaveLength(30);
  await tryCases('cases', wished.property, { least: 7, most: 30, forMs: 0 }, '50');
  expect(wished.seen).toHaveLength(50);
});

test('no case is under way after the end of the time: it would change the state of the next test', async () => {
  let underWay = 0;
  const property = fc.asyncProperty(fc.integer(), async () => {
    underWay += 1;
    for (let turn = 0; turn < 200; turn += 1) await setImmediate();
    underWay -= 1;
  });
  await tryCases('cases', property, { least: 1, most: 100_000, forMs: 50 });
  expect(underWay).toBe(0);
});

test.each([3, 20])('the failure of case %s includes the seed', async (fails) => {
  const { property } = counted(fails);
  const tried = tryCases('cases', property, { least: 7, most: 30, forMs: 600_000 });
  await expect(tried).rejects.toThrow(/seed: -?\d+/);
});
