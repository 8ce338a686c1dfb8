import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
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

  test('delays no other host, however many answers one host sends', async () => {
    const apart = threads(1_500);
    const order: string[] = [];
    const ask = async (told: string, host: string) => {
      await Array.fromAsync(apart.ask(told, host)).catch(() => {});
      order.push(host);
    };
    await Promise.all([...Array.from({ length: 3 }, () => ask('hang', 'slow')), ask('pieces', 'quick')]);
    expect(order).toEqual(['quick', 'slow', 'slow', 'slow']);
  });

  test('ends when its reader stops', async () => {
    const apart = threads();
    for await (const piece of apart.ask('pieces', 'a')) {
      expect(piece).toBe('one');
      break;
    }
    expect(await Array.fromAsync(apart.ask('pieces', 'a'))).toEqual(['one', 'two']);
  });

  test('that runs out of memory never takes the process with it', async () => {
    const program = fileURLToPath(new URL('./apart-out-of-memory.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    expect(stdout.trim()).toBe('survived 24 of 24');
  });
});
