import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import { startRadicale } from '../../../tools/radicale.ts';
import { resolveRedisServer } from '../../../tools/redis.ts';
import type { ServerCommand } from '../../../tools/server-command.ts';
import { DAV_USERS } from './world.ts';

/** How Redis is kept: as one server, or as several that survive the death of a master. */
export const REDIS_KINDS = ['one', 'sentinel', 'cluster'] as const;

/** One of {@link REDIS_KINDS}. */
export type RedisKind = (typeof REDIS_KINDS)[number];

/** What outlives a run; one world at a time is in it. */
export interface Park {
  /** Null where it can't be had: rooms are then at Google. */
  radicale: PrivateDavServer | null;
  redisServer: ServerCommand;
  redis: RedisKind;
  /** A folder where daemons keep compiled code from one start to the next. */
  compileCache: string;
  /** How many times longer than on an idle machine things take; measured again and again. */
  pace: number;
}

/** Parks side by side: worlds in them know nothing of each other. */
export interface Parks {
  parks: Park[];
  close(): Promise<void>;
}

/** With nothing compiled yet. */
const USUAL_START_MS = 2_500;
const CLI = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));

/** @param say told what can't be had */
export async function openParks(count: number, say: (text: string) => void, redis: RedisKind = 'one'): Promise<Parks> {
  const radicales: (PrivateDavServer | null)[] = [];
  // One after the other: the first one may have to be fetched.
  for (let park = 0; park < count; park += 1) {
    const started = await startRadicale({ users: DAV_USERS });
    radicales.push('unavailable' in started ? null : started);
    if ('unavailable' in started) say(`No CalDAV server can be had, going on without: ${started.unavailable}`);
  }
  const compileCache = await mkdtemp(join(tmpdir(), 'clinic-mirror-compiled-'));
  // A daemon that is killed leaves nothing there; this one ends by itself.
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const startedAt = performance.now();
  await once(spawn(process.execPath, [CLI, '--help'], { env, stdio: 'ignore' }), 'exit');
  const pace = Math.max(1, (performance.now() - startedAt) / USUAL_START_MS);
  const redisServer = await resolveRedisServer();
  return {
    parks: radicales.map((radicale) => ({ radicale, redisServer, redis, compileCache, pace })),
    async close() {
      await Promise.all(radicales.map((radicale) => radicale?.stop()));
      await rm(compileCache, { recursive: true, force: true });
    },
  };
}
