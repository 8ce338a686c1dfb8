import type { ApprovalRequest } from '../core/model/acts.ts';
import { MirrorError } from '../core/model/errors.ts';
import { type Clock, HOUR_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { askEach, sendAll } from './script.ts';
import { createProofSealer, type Sealer, sealedTable, sealedValue } from './sealing.ts';

/** Kinds of documents: plans for applying, and long tasks with a result. */
export type DocumentKind = 'plan' | 'task';

/** Retention of a document after its last write. */
export const DOCUMENT_RETENTION_MS = HOUR_MS;
/** Above this number, the oldest documents are removed, so that frequent requests do not fill the memory. */
const MOST_DOCUMENTS: Readonly<Record<DocumentKind, number>> = { plan: 5, task: 20 };
/** Characters of an encrypted document: a plan with about 60,000 lines. */
const MOST_CHARACTERS = 16_000_000;

/** Encrypted documents of one tenant and kind, for an hour each. */
export type StoredDocuments<Content> = ReturnType<typeof createStoredDocuments<Content>>;

export function createStoredDocuments<Content>(
  redis: RedisClient,
  tenant: string,
  kind: DocumentKind,
  { sealer, clock }: { sealer: Sealer; clock: Clock },
) {
  const index = keys.documents(tenant, kind);
  const keyOf = (id: string) => keys.document(tenant, kind, id);
  const documentOf = (id: string) => sealedValue<Content>(keyOf(id), { redis, sealer, kind: 'documents' });
  const remove = async (ids: readonly string[]) => {
    if (ids.length > 0)
      await sendAll(
        redis
          .pipeline()
          .zrem(index, ...ids)
          .unlink(...ids.map(keyOf)),
      );
  };
  return {
    /** Stores a document and replaces an earlier document. @throws MirrorError `settings`, code `document-too-large` */
    async put(id: string, content: Content): Promise<void> {
      const sealed = documentOf(id).seal(content);
      if (sealed.length > MOST_CHARACTERS) throw tooLarge();
      await sendAll(
        redis
          .pipeline()
          .set(keyOf(id), sealed, 'PX', DOCUMENT_RETENTION_MS)
          .zadd(index, clock(), id)
          .pexpire(index, DOCUMENT_RETENTION_MS),
      );
      await remove(await redis.zrange(index, '0', `${-MOST_DOCUMENTS[kind] - 1}`));
    },
    /** Null for a missing or damaged document, or if the encryption key is missing. */
    read: (id: string) => documentOf(id).get(),
    /** Lists ids, last written first. */
    async ids(): Promise<string[]> {
      const ids = (await redis.zrange(index, '0', '-1')).reverse();
      const exist = await askEach<number>(redis, ids, (pipeline, id) => pipeline.exists(keyOf(id)));
      return ids.filter((_, at) => exist[at] === 1);
    },
    /** Removes all documents. @returns their number */
    async clear(): Promise<number> {
      const ids = await redis.zrange(index, '0', '-1');
      await remove(ids);
      return ids.length;
    },
  };
}

function tooLarge(): MirrorError {
  return new MirrorError(message('document-too-large'), {
    actor: 'settings',
    code: 'document-too-large',
    retry: 'never',
    remedy: message('document-too-large.remedy'),
  });
}

/** Requests of one tenant that wait for a second administrator. */
export type ApprovalStore = ReturnType<typeof createApprovalStore>;

/**
 * Opens the requests of a tenant, encrypted with the identity key: an attacker with mere write access to Redis cannot impersonate the first
 * administrator.
 */
export function createApprovalStore(redis: RedisClient, tenant: string, identityKey: Uint8Array, clock: Clock) {
  const sealer = createProofSealer(identityKey, tenant);
  const requests = sealedTable<ApprovalRequest>(keys.approvals(tenant), { redis, sealer, kind: 'approvals' });
  return {
    /** Lists genuine, unexpired requests, oldest first. */
    async list(): Promise<ApprovalRequest[]> {
      const all = await requests.prune(({ expiresAt }) => expiresAt <= clock());
      return [...all.values()].sort((one, other) => one.at - other.at);
    },
    /** Stores a request; an existing request stays. */
    async put(request: ApprovalRequest): Promise<void> {
      await requests.add(request.id, request);
    },
    /** Ends a request. @returns whether the request existed: of several callers, one succeeds */
    take: async (id: string) => (await requests.remove([id])) === 1,
  };
}
