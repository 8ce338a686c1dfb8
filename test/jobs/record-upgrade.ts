/** Writes what this version leaves behind in Redis, for the tests of the next ones: `npm run record-upgrade`, with each release. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import manifest from '../../package.json' with { type: 'json' };
import { startRedis } from '../../tools/redis.ts';
import { jobsIn, leaveBehind } from './upgrade-world.ts';

const folder = join(import.meta.dirname, '../fixtures/upgrade', manifest.version);
const server = await startRedis();
const redis = new Redis(server.url, { maxRetriesPerRequest: null });
try {
  const left = await leaveBehind(redis, server.url);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'redis.json'), `${JSON.stringify(left, null, 2)}\n`);
  process.stdout.write(`${left.keys.length} keys, ${jobsIn(left).length} jobs: ${folder}\n`);
} finally {
  redis.disconnect();
  await server.stop();
}
