import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/core/model/time.ts';
import { controlKeys } from '../../../src/operator/control/keys.ts';
import { createReloadReports } from '../../../src/operator/control/reload-reports.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const IDENTITY_KEY = Buffer.alloc(32, 7);

test('a report on refused files is valid for a minute, until its process withdraws it, and under the identity key only', async () => {
  const connection = redis.connect();
  const clock = { now: NOW };
  const openReports = (key = IDENTITY_KEY) => createReloadReports(connection, () => clock.now, key);
  const [one, other] = [openReports(), openReports()];
  const report = { refused: [], awaitsRestart: ['http.port'] };
  await one.write(report);
  await other.write(report);
  expect(await other.list()).toEqual([
    { ...report, at: NOW },
    { ...report, at: NOW },
  ]);
  expect(await openReports(Buffer.alloc(32, 8)).list()).toEqual([]);
  await other.write(null);
  expect(await one.list()).toHaveLength(1);
  clock.now = NOW + MINUTE_MS - 1;
  expect(await other.list()).toHaveLength(1);
  clock.now += 1;
  expect(await other.list()).toEqual([]);
  await other.write(null);
  expect(await connection.hlen(controlKeys.reloads())).toBe(0);
});
