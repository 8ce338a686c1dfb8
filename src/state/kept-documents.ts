import { MirrorError } from '../model/errors.ts';
import { type Clock, HOUR_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { openSealed, type Sealer } from './sealing.ts';

/** What is kept so: plans that may be applied, and long work that somebody began and asks for. */
export type DocumentKind = 'plan' | 'task';

/** How long a document is kept after it was written last. */
export const DOCUMENT_KEEP_MS = HOUR_MS;
/** Of more, the oldest go: a program that asks without end fills no memory. */
const MOST_DOCUMENTS: Readonly<Record<DocumentKind, number>> = { plan: 5, task: 20 };
/** Characters of a sealed document: a plan of some 60,000 lines. */
const MOST_CHARACTERS = 16_000_000;

/** Sealed documents of one tenant and kind, for an hour each. */
export interface KeptDocuments<Content> {
  /** Keeps a document, in the place of what stood under the id. @throws MirrorError `settings`, code `document-too-large` */
  put(id: string, content: Content): Promise<void>;
  /** Null for one that there is not, that we did not put in, or whose sealing key is gone. */
  read(id: string): Promise<Content | null>;
  /** Ids, those that were written last first. */
  ids(): Promise<string[]>;
  /** Removes all of them. @returns how many there were */
  clear(): Promise<number>;
}

/** Opens a tenant's documents of a kind. */
export function createKeptDocuments<Content>(
  redis: RedisClient,
  tenant: string,
  kind: DocumentKind,
  { sealer, clock }: { sealer: Sealer; clock: Clock },
): KeptDocuments<Content> {
  const index = keys.documents(tenant, kind);
  const keyOf = (id: string) => keys.document(tenant, kind, id);
  const contextOf = (id: string) => `${kind}/${id}`;
  const remove = async (ids: readonly string[]) => {
    if (ids.length > 0)
      await redis
        .pipeline()
        .zrem(index, ...ids)
        .unlink(...ids.map(keyOf))
        .exec();
  };
  return {
    async put(id, content) {
      const sealed = sealer.seal(JSON.stringify(content), contextOf(id));
      if (sealed.length > MOST_CHARACTERS) throw tooLarge();
      const results = await redis
        .pipeline()
        .set(keyOf(id), sealed, 'PX', DOCUMENT_KEEP_MS)
        .zadd(index, clock(), id)
        .pexpire(index, DOCUMENT_KEEP_MS)
        .exec();
      for (const [error] of results ?? []) if (error !== null) throw error;
      await remove(await redis.zrange(index, '0', `${-MOST_DOCUMENTS[kind] - 1}`));
    },
    async read(id) {
      const sealed = await redis.get(keyOf(id));
      return sealed === null ? null : openSealed<Content>(sealer, sealed, contextOf(id));
    },
    async ids() {
      const ids = (await redis.zrange(index, '0', '-1')).reverse();
      if (ids.length === 0) return [];
      const lives = redis.pipeline();
      for (const id of ids) lives.exists(keyOf(id));
      const answers = (await lives.exec()) ?? [];
      return ids.filter((_, at) => answers[at]?.[1] === 1);
    },
    async clear() {
      const ids = await redis.zrange(index, '0', '-1');
      await remove(ids);
      return ids.length;
    },
  };
}

function tooLarge(): MirrorError {
  return new MirrorError('it is too large to be kept in Redis', {
    actor: 'settings',
    code: 'document-too-large',
    retry: 'never',
    remedy: 'a plan of so many lines can be looked at with "clinic-mirror plan", and is carried out by a sync',
  });
}
