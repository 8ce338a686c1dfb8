// Tier: full. Many cases of a property that store.test.ts tries with a few.
import { describe, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import type { Tries } from '../../support/tried.ts';
import { GATEWAYS, tryWorkerDeaths } from './worker-deaths.ts';

const redis = useRedis({ appendOnly: false });

/** A busy host runs fewer: a test that timed out would continue during the next one. */
const DEATHS: Tries = { least: 60, most: 150, forMs: 60_000 };

describe.each(GATEWAYS)('workers that die anywhere, before %s', (_, deduplicates) => {
  test('never hand a reminder over twice, and never leave one open', () =>
    tryWorkerDeaths(redis.connect(), deduplicates, DEATHS));
});
