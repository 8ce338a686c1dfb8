import type { TestProject } from 'vitest/node';
import { terminalProgress } from '../../tools/progress.ts';
import { resolveRadicaleServer } from '../../tools/radicale.ts';
import { resolveRedisServer } from '../../tools/redis.ts';
import { type ServerCommand, ServerUnavailable } from '../../tools/server-command.ts';

declare module 'vitest' {
  interface ProvidedContext {
    redisServer: ServerCommand;
    radicaleServer: ServerCommand | { unavailable: string };
  }
}

/** Finds (and fetches, at the first run) the server programs once, before any test file starts one. */
export default async function setup(project: TestProject): Promise<void> {
  const [redis, radicale] = await Promise.all([resolveRedisServer(), radicaleOrReason()]);
  project.provide('redisServer', redis);
  project.provide('radicaleServer', radicale);
}

async function radicaleOrReason(): Promise<ServerCommand | { unavailable: string }> {
  try {
    return await resolveRadicaleServer();
  } catch (error) {
    if (!(error instanceof ServerUnavailable) || process.env.CI === 'true') throw error;
    terminalProgress(`Tests that need Radicale are skipped. ${error.message}`);
    return { unavailable: error.message };
  }
}
