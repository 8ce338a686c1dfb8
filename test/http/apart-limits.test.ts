// Tier: full. Its threads use up their processor time and memory again and again.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { APART_LIMITS, Apart } from '../../src/http/apart.ts';

describe('a thread for large answers', () => {
  test('delays no other host, however many answers one host sends', async () => {
    const apart = new Apart(new URL('./apart-entry.ts', import.meta.url), {
      ...{ processorMs: 1_500, elapsedMs: APART_LIMITS.elapsedMs, mebibytes: 32 },
    });
    const order: string[] = [];
    const ask = async (told: string, host: string) => {
      await Array.fromAsync(apart.ask(told, host)).catch(() => {});
      order.push(host);
    };
    await Promise.all([...Array.from({ length: 3 }, () => ask('hang', 'slow')), ask('pieces', 'quick')]);
    expect(order).toEqual(['quick', 'slow', 'slow', 'slow']);
  });

  test('that runs out of memory never takes the process with it', async () => {
    const program = fileURLToPath(new URL('./apart-out-of-memory.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    expect(stdout.trim()).toBe('survived 24 of 24');
  });
});
