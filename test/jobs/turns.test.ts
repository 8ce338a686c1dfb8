import { expect, test } from 'vitest';
import { createTurns } from '../../src/jobs/turns.ts';

function open(atOnce: number) {
  const called: string[] = [];
  const working: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const turns = createTurns(atOnce, async (who) => void called.push(who));
  const come = (group: string, who: string) =>
    turns.take(group, who, () => {
      working.push(who);
      return new Promise((resolve, reject) => {
        ends.set(who, (error) => (error === undefined ? resolve() : reject(error)));
      });
    });
  return { called, working, come, end: (who: string, error?: Error) => ends.get(who)?.(error) };
}

test('D9: tenants that wait for one budget leave room for those of another one', async () => {
  const { come, working, called, end } = open(2);
  const first = come('x', 'a');
  void come('x', 'b');
  await come('x', 'c');
  await come('x', 'd');
  await come('x', 'c');
  void come('y', 'e');
  expect(working).toEqual(['a', 'b', 'e']);
  end('a');
  await first;
  expect(called).toEqual(['c']);
  void come('x', 'c');
  expect(working).toEqual(['a', 'b', 'e', 'c']);
});

test('a place is free again after work that failed, and whoever came by itself is not called', async () => {
  const { come, working, called, end } = open(1);
  const failing = come('x', 'a');
  await come('x', 'b');
  await come('x', 'c');
  end('a', new Error('failed'));
  await expect(failing).rejects.toThrow('failed');
  expect(called).toEqual(['b']);
  const next = come('x', 'c');
  end('c');
  await next;
  expect(called).toEqual(['b']);
  expect(working).toEqual(['a', 'c']);
});
