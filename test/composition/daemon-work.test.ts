import { expect, test, vi } from 'vitest';
import { within } from '../../src/composition/daemon-work.ts';

test('the end of a daemon waits for work that ends, and no longer than its time for work that does not', async () => {
  expect(await within(60_000, [Promise.resolve(), undefined])).toBe(true);
  const ended = vi.fn();
  const stuck = within(20, [Promise.resolve(), new Promise(() => {})]).then(ended);
  expect(ended).not.toHaveBeenCalled();
  await stuck;
  expect(ended).toHaveBeenCalledExactlyOnceWith(false);
});

test('a failure while it ends is told', async () => {
  await expect(within(60_000, [Promise.reject(new Error('Redis is away'))])).rejects.toThrow('Redis is away');
});
