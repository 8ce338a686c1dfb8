// Tier: full. Many cases of a property that rereading.test.ts checks with a few.
import { test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import type { Tries } from '../support/tried.ts';
import { tryRereadings } from './rereading-histories.ts';

const redis = useRedis({ appendOnly: false });

/** REREADINGS=2000 runs more histories; without it, a busy host runs fewer. */
const HISTORIES: Tries = { least: 15, most: 30, forMs: 60_000 };

test('in any history calendars equal those of full fetches; deleted records are removed in the end', () =>
  tryRereadings(redis, HISTORIES, process.env.REREADINGS));
