import { expect, test } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import LongestFirst from './longest-first.ts';

const FILES = ['test/engine/diff.test.ts', 'test/e2e/undo.test.ts', 'test/simulation/reminders.test.ts'];

/** Returns the order in which files start. @param took milliseconds of each file in the last run, if known */
async function ordered(took: Readonly<Record<string, number>>): Promise<string[]> {
  const config = { root: '/project', isolate: false, sequence: { groupOrder: 0 } };
  const files = FILES.map((path) => ({ moduleId: `/project/${path}`, project: { name: '', config } }));
  const cache = {
    getTestSpecificationResult({ moduleId }: { moduleId: string }) {
      const duration = took[moduleId.slice('/project/'.length)];
      return duration === undefined ? undefined : { duration, failed: false };
    },
  };
  const sequencer = new LongestFirst({ config, cache } as unknown as Vitest);
  const sorted = await sequencer.sort(files as unknown as TestSpecification[]);
  return sorted.map(({ moduleId }) => moduleId.slice('/project/'.length));
}

test('before the first run, known long files start first', async () => {
  const first = ['test/simulation/reminders.test.ts', 'test/e2e/undo.test.ts', 'test/engine/diff.test.ts'];
  expect(await ordered({})).toEqual(first);
  expect(await ordered({ 'test/engine/diff.test.ts': 9 }), 'a few known durations do not change the order').toEqual(
    first,
  );
});

test('after a complete run, the longest files start first', async () => {
  const took = {
    'test/engine/diff.test.ts': 9_000,
    'test/e2e/undo.test.ts': 2,
    'test/simulation/reminders.test.ts': 3,
  };
  expect(await ordered(took)).toEqual([
    'test/engine/diff.test.ts',
    'test/simulation/reminders.test.ts',
    'test/e2e/undo.test.ts',
  ]);
});
