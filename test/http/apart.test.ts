import { describe, expect, test } from 'vitest';
import { APART_LIMITS, Apart } from '../../src/http/apart.ts';

/** A slow host needs more than a second to start a thread or to fill the memory: only a thread that hangs gets so little time. */
const AMPLE_MS = 60_000;
const threads = (processorMs = AMPLE_MS) =>
  new Apart(new URL('./apart-entry.ts', import.meta.url), {
    ...{ processorMs, elapsedMs: APART_LIMITS.elapsedMs, mebibytes: 32 },
  });

describe('a thread for large answers', () => {
  test('gives what it makes piece by piece, and is used again', async () => {
    const apart = threads();
    for (const host of ['a', 'b']) expect(await Array.fromAsync(apart.ask('pieces', host))).toEqual(['one', 'two']);
  });

  test.each([
    ['refuse', 'more than three: vendor.example'],
    ['hang', 'reading the answer takes more than 1500 ms: vendor.example'],
    ['grow', 'reading the answer takes more than 32 MiB of memory: vendor.example'],
  ])('that shall %s fails that answer with its host and the limit, and the next one is read', async (told, message) => {
    const apart = threads(told === 'hang' ? 1_500 : AMPLE_MS);
    const failed = { code: 'answer-too-large', actor: 'contract', message };
    await expect(Array.fromAsync(apart.ask(told, 'vendor.example'))).rejects.toMatchObject(failed);
    expect(await Array.fromAsync(apart.ask('pieces', 'vendor.example'))).toEqual(['one', 'two']);
  });

  test('ends when its reader stops', async () => {
    const apart = threads();
    for await (const piece of apart.ask('pieces', 'a')) {
      expect(piece).toBe('one');
      break;
    }
    expect(await Array.fromAsync(apart.ask('pieces', 'a'))).toEqual(['one', 'two']);
  });
});
