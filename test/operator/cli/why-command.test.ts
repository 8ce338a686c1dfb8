import { expect, test } from 'vitest';
import { runProgram } from './run-program.ts';

test('a code is explained without a configuration, in at most 100 columns', async () => {
  const { code, out, thrown } = await runProgram(['why', 'redis-full'], {});
  expect({ code, thrown }).toEqual({ code: 0, thrown: null });
  expect(out).toMatch(
    /^redis-full: action required \(Configuration and start\)\n\nExample {5}\S.*\(redis-full\)\nNext step {3}Redis/,
  );
  expect(out).toMatch(/\nMore {8}docs\/runbook.md#redis-refuses-writes\s*$/);
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
});

test('JSON has every part of the explanation', async () => {
  const { out } = await runProgram(['why', 'rate-limited', '--json'], {});
  const { code, explanations } = JSON.parse(out);
  expect(code).toBe('rate-limited');
  expect(explanations).toContainEqual(expect.objectContaining({ part: 'The clinic', whoActs: 'retrying' }));
});

test('an unknown code is an error with a similar code', async () => {
  const { thrown } = await runProgram(['why', 'redis-ful'], {});
  expect(thrown).toMatchObject({ code: 'no-such-code' });
});
