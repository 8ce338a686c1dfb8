// Tier: full. Many cases of a property that cycle.test.ts checks with a few.
import { test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { trySettledHistories } from './settled-histories.ts';

const redis = useRedis({ appendOnly: false });

/** SETTLED_HISTORIES=2000 looks longer. */
const HISTORIES = Number(process.env.SETTLED_HISTORIES ?? 30);

test('a process that remembers plans as one that does not', () => trySettledHistories(redis, HISTORIES));
