import { message } from '../messages/message.ts';
import type { ActFacts, ActVerb, Principal } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';
import { type Clock, HOUR_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { askEach } from './script.ts';
import { createProofSealer, type Sealer, sealedTable, sealedValue } from './sealing.ts';

/** What is kept so: plans that may be applied, and long work that somebody began and asks for. */
export type DocumentKind = 'plan' | 'task';

/** How long a document is kept after it was written last. */
export const DOCUMENT_RETENTION_MS = HOUR_MS;
/** Of more, the oldest go: a program that asks without end fills no memory. */
const MOST_DOCUMENTS: Readonly<Record<DocumentKind, number>> = { plan: 5, task: 20 };
/** Characters of a sealed document: a plan of some 60,000 lines. */
const MOST_CHARACTERS = 16_000_000;

/** Sealed documents of one tenant and kind, for an hour each. */
export type StoredDocuments<Content> = ReturnType<typeof createStoredDocuments<Content>>;

/** Opens a tenant's documents of a kind. */
export function createStoredDocuments<Content>(
  redis: RedisClient,
  tenant: string,
  kind: DocumentKind,
  { sealer, clock }: { sealer: Sealer; clock: Clock },
) {
  const index = keys.documents(tenant, kind);
  const keyOf = (id: string) => keys.document(tenant, kind, id);
  const documentOf = (id: string) => sealedValue<Content>(keyOf(id), { redis, sealer });
  const remove = async (ids: readonly string[]) => {
    if (ids.length > 0)
      await redis
        .pipeline()
        .zrem(index, ...ids)
        .unlink(...ids.map(keyOf))
        .exec();
  };
  return {
    /** Keeps a document, in the place of what stood under the id. @throws MirrorError `settings`, code `document-too-large` */
    async put(id: string, content: Content): Promise<void> {
      const sealed = documentOf(id).seal(content);
      if (sealed.length > MOST_CHARACTERS) throw tooLarge();
      const results = await redis
        .pipeline()
        .set(keyOf(id), sealed, 'PX', DOCUMENT_RETENTION_MS)
        .zadd(index, clock(), id)
        .pexpire(index, DOCUMENT_RETENTION_MS)
        .exec();
      for (const [error] of results ?? []) if (error !== null) throw error;
      await remove(await redis.zrange(index, '0', `${-MOST_DOCUMENTS[kind] - 1}`));
    },
    /** Null for one that there is not, that we did not put in, or whose sealing key is gone. */
    read: (id: string) => documentOf(id).get(),
    /** Ids, those that were written last first. */
    async ids(): Promise<string[]> {
      const ids = (await redis.zrange(index, '0', '-1')).reverse();
      const exist = await askEach<number>(redis, ids, (pipeline, id) => pipeline.exists(keyOf(id)));
      return ids.filter((_, at) => exist[at] === 1);
    },
    /** Removes all of them. @returns how many there were */
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

/** What one person wants and a second one has to want too. */
export interface ApprovalRequest {
  /** Keyed digest of what exactly is wanted: asked for anew, it is the same. */
  id: string;
  verb: ActVerb;
  what: ActFacts;
  by: Principal;
  at: Instant;
  expiresAt: Instant;
}

/** Requests of one tenant that wait for a second person. */
export type ApprovalStore = ReturnType<typeof createApprovalStore>;

/** Opens the requests of a tenant, sealed with the identity key: who can write into Redis alone can't stand for the first person */
export function createApprovalStore(redis: RedisClient, tenant: string, identityKey: Uint8Array, clock: Clock) {
  const sealer = createProofSealer(identityKey, tenant);
  const requests = sealedTable<ApprovalRequest>(keys.approvals(tenant), { redis, sealer });
  return {
    /** Those that have not expired and are as they were written, oldest first. */
    async list(): Promise<ApprovalRequest[]> {
      const all = await requests.prune(({ expiresAt }) => expiresAt <= clock());
      return [...all.values()].sort((one, other) => one.at - other.at);
    },
    /** Keeps a request; one for the same stays as it is. */
    async put(request: ApprovalRequest): Promise<void> {
      await requests.add(request.id, request);
    },
    /** Ends a request. @returns whether it was still there: of several who take it, one has it */
    take: async (id: string) => (await requests.remove([id])) === 1,
  };
}
