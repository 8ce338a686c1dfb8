import { expect, test } from 'vitest';
import { paced } from './pace.ts';
import { waitFor } from './wait-for.ts';

test('returns the first value that holds', async () => {
  let looks = 0;
  const value = await waitFor(() => (++looks < 3 ? undefined : looks), { what: 'the third look', intervalMs: 1 });
  expect(value).toBe(3);
});

test('zero and the empty string hold', async () => {
  expect(await waitFor(() => 0, { what: 'a number' })).toBe(0);
  expect(await waitFor(async () => '', { what: 'a text' })).toBe('');
});

test('a time-out names the missing condition', async () => {
  const waiting = waitFor(() => false, { what: 'the impossible', timeoutMs: 20 });
  await expect(waiting).rejects.toThrow(`waited ${paced(20)} ms for the impossible`);
});

test('retries a condition that throws, and reports its last error', async () => {
  const failing = () => {
    throw new Error('not there');
  };
  await expect(waitFor(failing, { what: 'it', timeoutMs: 20 })).rejects.toThrow(/for it; .*not there/);
});
