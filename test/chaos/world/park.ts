import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PrivateRadicale, startRadicale } from '../../../tools/radicale.ts';
import { resolveRedisServer } from '../../../tools/redis.ts';
import type { ServerCommand } from '../../../tools/server-command.ts';
import { DAV_USERS } from './world.ts';

/** What outlives a run. */
export interface Park {
  /** Null where it can't be had: rooms are then at Google. */
  radicale: PrivateRadicale | null;
  redisServer: ServerCommand;
  /** A folder where daemons keep compiled code from one start to the next. */
  compileCache: string;
  close(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));

/** @param say told what can't be had */
export async function openPark(say: (text: string) => void): Promise<Park> {
  const started = await startRadicale({ users: DAV_USERS });
  const radicale = 'unavailable' in started ? null : started;
  if ('unavailable' in started) say(`No CalDAV server can be had, going on without: ${started.unavailable}`);
  const compileCache = await mkdtemp(join(tmpdir(), 'clinic-mirror-compiled-'));
  // A daemon that is killed leaves nothing there; this one ends by itself.
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  await once(spawn(process.execPath, [CLI, '--help'], { env, stdio: 'ignore' }), 'exit');
  return {
    radicale,
    redisServer: await resolveRedisServer(),
    compileCache,
    async close() {
      await radicale?.stop();
      await rm(compileCache, { recursive: true, force: true });
    },
  };
}
