/**
 * One of many processes that share a connection. It requests the header of the connection on command; everything else is the code of the
 * product.
 */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import type { ConnectionAuthorizer } from '../../../src/oauth/authorizer.ts';
import { REFUSAL_UNCONFIRMED } from '../../../src/oauth/errors.ts';
import type { Provider } from '../../../src/oauth/providers.ts';
import { createAwaitDurable } from '../../../src/state/redis.ts';
import { NEVER, openWorker } from '../connection.ts';

/**
 * Steps of a refresh at which a process reports its position and waits for permission to continue:
 * - `noted`: the intent of a request to the provider is stored; nothing was sent;
 * - `answered`: the new tokens arrived, the provider has revoked the old ones, and nothing is stored;
 * - `stored`: Redis has the new tokens; whether they are on its disk is not known yet.
 */
export const PLACES = ['noted', 'answered', 'stored'] as const;
/** One of {@link PLACES}. */
export type Place = (typeof PLACES)[number];

/** Options of a process, as JSON in its first argument. */
export interface ProcessOptions {
  redisUrl: string;
  provider: Provider;
  scopes: readonly string[];
  leaseTtlMs: number;
}

/** Messages of a process: it is open, it has reached a step, or the answer it got. */
export type Told = { open: true } | { at: Place } | { header: string } | { code: string };
/** Commands to a process: request a header, or continue from the current step. */
export type Asked = 'header' | 'go on';

async function main({ redisUrl, provider, scopes, leaseTtlMs }: ProcessOptions): Promise<void> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const isDurable = createAwaitDurable(redis, { replicas: 0 });
  const { authorizer, beginAnew } = openWorker({
    ...{ redis, issuer: provider.issuer, provider, scopes, leaseTtlMs, longestPauseMs: 100 },
    async awaitDurable(key) {
      await reach('stored');
      return isDurable(key);
    },
    wrapStore: (store) => ({
      ...store,
      async record(...args) {
        const isNoted = await store.record(...args);
        const [, , , { state, unansweredSince }] = args;
        if (state === 'connected' && unansweredSince !== null) await reach('noted');
        return isNoted;
      },
      async write(...args) {
        await reach('answered');
        return store.write(...args);
      },
    }),
  });
  process.on('message', (asked: Asked) => {
    if (asked !== 'header') return;
    beginAnew();
    headerConfirmed(authorizer).then(
      (header) => tell({ header }),
      (error: unknown) => tell({ code: asMirrorError(error).code }),
    );
  });
  // The parent process has ended, for any reason.
  process.once('disconnect', () => process.exit(1));
  tell({ open: true });
}

/** The next caller confirms a refusal. */
function headerConfirmed(authorizer: ConnectionAuthorizer): Promise<string> {
  return authorizer.header(NEVER).catch((error: unknown) => {
    if (asMirrorError(error).code !== REFUSAL_UNCONFIRMED) throw error;
    return authorizer.header(NEVER);
  });
}

/** Who is killed there waits for ever. */
async function reach(at: Place): Promise<void> {
  tell({ at });
  while ((await once(process, 'message'))[0] !== 'go on');
}

function tell(told: Told): void {
  process.send?.(told);
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? '') as ProcessOptions);
