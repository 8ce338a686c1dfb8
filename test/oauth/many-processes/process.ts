/** One of many processes that share a login. It asks for the login's header whenever it is told to; all else is the product's own. */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { asMirrorError } from '../../../src/model/errors.ts';
import type { ConnectionAuthorizer } from '../../../src/oauth/authorizer.ts';
import { REFUSAL_UNCONFIRMED } from '../../../src/oauth/errors.ts';
import type { Provider } from '../../../src/oauth/providers.ts';
import { createAwaitDurable } from '../../../src/state/redis.ts';
import { NEVER, openWorker } from '../connection.ts';

/**
 * Places on a refresh's way, at which a process says where it is and waits until it may go on:
 * - `noted`: it is stored that the provider is about to be asked; nothing was sent;
 * - `answered`: the new tokens are there, the old ones are void at the provider, and nothing is stored;
 * - `stored`: Redis has the new tokens; whether its disk has them was not asked yet.
 */
export const PLACES = ['noted', 'answered', 'stored'] as const;
/** One of {@link PLACES}. */
export type Place = (typeof PLACES)[number];

/** What such a process is started with, as JSON in its first argument. */
export interface ProcessOptions {
  redisUrl: string;
  provider: Provider;
  scopes: readonly string[];
  leaseTtlMs: number;
}

/** What it tells: that it is open, where it is, and what it was given. */
export type Told = { open: true } | { at: Place } | { header: string } | { code: string };
/** What it is told: to ask for a header, and to go on from where it is. */
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
  // Whoever started it is gone, however that ended.
  process.once('disconnect', () => process.exit(1));
  tell({ open: true });
}

/** A refusal is confirmed by whoever asks next. */
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
