import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { limitLines } from '../../src/core/log/limited.ts';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { redisCodeIn } from '../../src/core/model/errors.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { openWorkQueues } from '../../src/tenant/work-queues.ts';
import { startRedis } from '../../tools/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { startSomeWorkers } from './some-workers.ts';

/** Requests of the tester; a worker that does not wait would fetch as often. */
const ROUNDS = 500;
/** Fetches of all workers in this time, with some reserve for a slow host. */
const MOST_FETCHES = 100;

test('workers wait while Redis refuses fetches, log one line, and take jobs when Redis accepts writes again', async () => {
  const server = await startRedis({ server: inject('redisServer') });
  const tester = new Redis({ port: server.port });
  onTestFinished(async () => {
    tester.disconnect();
    await server.stop();
  });
  const refused: unknown[] = [];
  const written: object[] = [];
  const log: Logger = { ...silentLogger, warn: (data) => void written.push(data) };
  const limited = limitLines(log, { codeOf: redisCodeIn });
  const counting: Logger = {
    ...limited,
    warn(data, message) {
      refused.push(redisCodeIn(data));
      limited.warn(data, message);
    },
  };
  await tester.config('SET', 'maxmemory', 1);
  const taken: string[] = [];
  const queues = openWorkQueues(server.url, neverNeedless);
  const workers = startSomeWorkers(
    server.url,
    { push: async ({ tenant }) => void taken.push(tenant) },
    { log: counting, inFlight: { push: 4 } },
  );
  onTestFinished(async () => {
    await workers.close(1_000);
    await queues.close();
  });

  await waitFor(() => refused.includes('redis-full'), { what: 'a refused fetch' });
  for (let round = 0; round < ROUNDS; round += 1) await tester.ping();
  expect(refused.length).toBeLessThan(MOST_FETCHES);
  expect(written.map(redisCodeIn)).toEqual(['redis-full']);

  await tester.config('SET', 'maxmemory', 0);
  await queues.wake('aurora', 'room', 0);
  await waitFor(() => taken.length > 0, { what: 'the job' });
  expect(taken).toEqual(['aurora']);
});
