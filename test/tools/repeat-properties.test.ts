import { expect, test } from 'vitest';
import { repeatProperties } from '../../tools/repeat-properties.ts';

const folder = 'test/tools/fixtures/properties';

const repeat = (file: string, runs: { cases: number; seed: number }) =>
  repeatProperties([file], { ...runs, config: `${folder}/vitest.config.ts` });

test('a property that fails only with more cases is reported with its seed and the command that repeats it', async () => {
  const file = `${folder}/rare.property.ts`;
  const failed = await repeat(file, { cases: 500, seed: 71 });
  expect(failed.map(({ name }) => name)).toEqual([
    'fails at case 400, with parameters undefined',
    'fails at case 400, with parameters { numRuns: 20 }',
  ]);
  for (const { message, command } of failed) {
    expect(message).toContain('Property failed after 400 tests');
    expect(message).toContain('seed: 71');
    expect(command).toBe(`npm run test:repeat -- --properties ${file} --cases 500 --seed 71`);
  }
});

test('a property whose file can start servers keeps its number of cases and takes the seed', async () => {
  const failed = await repeat(`${folder}/server.property.ts`, { cases: 500, seed: -72 });
  expect(failed.map(({ name }) => name)).toEqual(['draws the given seed']);
  expect(failed[0]?.message).toContain('seed: -72');
});
