import { expect, test, vi } from 'vitest';
import { within } from '../../src/daemon/daemon-work.ts';

test('the end of a daemon waits for unfinished work, for a limited time', async () => {
  expect(await within(60_000, [Promise.resolve(), undefined])).toBe(true);
  const ended = vi.fn();
  const stuck = within(20, [Promise.resolve(), new Promise(() => {})]).then(ended);
  expect(ended).not.toHaveBeenCalled();
  await stuck;
  expect(ended).toHaveBeenCalledExactlyOnceWith(false);
});

test('a failure during shutdown is reported', async () => {
  await expect(within(60_000, [Promise.reject(new Error('Redis is away'))])).rejects.toThrow('Redis is away');
});
