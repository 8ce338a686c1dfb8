import { createHash, randomUUID } from 'node:crypto';
import { MirrorError } from '../model/errors.ts';
import type { ManagedContent, ManagedTenant, ManagedTenants } from '../settings/managed-tenant.ts';
import type { AwaitDurable } from './durability.ts';
import { keys } from './keys.ts';
import { CHANGE, VERSION } from './managed-tenant-scripts.ts';
import type { RedisClient } from './redis.ts';
import { createSealer, type SealingKey } from './sealing.ts';

/** All managed tenants at one moment. */
export interface ManagedSnapshot {
  /** Another one after each change of any; null before the first. */
  version: string | null;
  tenants: ManagedTenants;
  /** Those that Redis lost since this was opened and does not name again: nobody removed them. */
  lost: ManagedTenants;
}

/** The managed tenants of an installation. Of two who change one at once, one does. */
export interface ManagedTenantStore {
  /**
   * Asks for what changed alone, and for one value when nothing did.
   * What was sealed with an old key is sealed again with the active one on the way. The same object when nothing changed.
   * @throws MirrorError `remote`, code `managed-tenants-lost`, when Redis had some since this was opened, and knows of none that ever was
   */
  read(): Promise<ManagedSnapshot>;
  /** One tenant, also where Redis lost it since this was opened; null when there is none. */
  find(id: string): Promise<ManagedTenant | null>;
  /**
   * Keeps a tenant sealed. On the disk when it returns, where Redis can tell.
   * @param expected revision that is replaced; null: there is none
   * @returns the revision; null when another one stands there
   */
  put(id: string, content: ManagedContent, expected: string | null): Promise<string | null>;
  /** @returns whether it was removed: false when another revision stands there */
  remove(id: string, expected: string): Promise<boolean>;
}

/** What the store works with. @see CredentialStoreOptions */
export interface ManagedTenantParts {
  redis: RedisClient;
  writer: RedisClient;
  awaitDurable: AwaitDurable;
  ring: readonly SealingKey[];
}

const CONTEXT = 'managed-tenant';

/** Opens the managed tenants. Each is sealed under its own name, so that one can't be put in another's place. */
export function createManagedTenants({ redis, writer, awaitDurable, ring }: ManagedTenantParts): ManagedTenantStore {
  const [revisions, tenants] = [keys.managedRevisions(), keys.managedTenants()];
  let last: ManagedSnapshot | null = null;
  let lost: ManagedTenants = new Map();
  const { seal, stored, isStale } = openDocuments(ring);

  async function change(id: string, expected: string | null, next: readonly string[]): Promise<boolean> {
    return (await writer.eval(CHANGE, 2, revisions, tenants, id, expected ?? '', randomUUID(), ...next)) === 1;
  }

  async function changeForGood(...given: Parameters<typeof change>): Promise<boolean> {
    if (!(await change(...given))) return false;
    await awaitDurable(revisions).catch(() => 'late');
    return true;
  }

  /** What an old key sealed is sealed with the active one, unless it does not open, which is told elsewhere. */
  async function sealedAnew(tenant: ManagedTenant, sealed: string): Promise<ManagedTenant> {
    if (!isStale(tenant.id, sealed)) return tenant;
    const content = contentOf(tenant);
    if (content === null) return tenant;
    const next = seal(tenant.id, content);
    // A Redis that takes no writes can be read all the same: the next process tries again.
    const isDone = await change(tenant.id, tenant.revision, [next.revision, next.sealed]).catch(() => false);
    return isDone ? stored(tenant.id, next.sealed) : tenant;
  }

  /** What stands in Redis; what is as it was before is not asked for. */
  async function standing(known: Readonly<Record<string, string>>, before?: ManagedTenants): Promise<ManagedTenants> {
    const { next, changed } = comparedWith(before, known);
    const texts = changed.length === 0 ? [] : await redis.hmget(tenants, ...changed);
    for (const [index, id] of changed.entries()) {
      const sealed = texts[index];
      // Removed just now: the next look tells.
      if (sealed) next.set(id, await sealedAnew(stored(id, sealed), sealed));
    }
    return next;
  }

  async function read(): Promise<ManagedSnapshot> {
    const before = last;
    if (before !== null && (await redis.hget(revisions, VERSION)) === before.version) return before;
    const { [VERSION]: version = null, ...known } = await redis.hgetall(revisions);
    const isEmptied = typeof before?.version === 'string' && firstOf(before.version) !== firstOf(version);
    if (isEmptied && version === null) throw tenantsLost();
    const missing = isEmptied ? new Map([...lost, ...before.tenants]) : lost;
    const next = await standing(known, before?.tenants);
    lost = new Map([...missing].filter(([id]) => !next.has(id)));
    last = { version, tenants: next, lost };
    return last;
  }

  return {
    read,
    async find(id) {
      try {
        const { tenants: there, lost: gone } = await read();
        return there.get(id) ?? gone.get(id) ?? null;
      } catch (error) {
        if (!isLoss(error)) throw error;
        return last?.tenants.get(id) ?? lost.get(id) ?? null;
      }
    },
    async put(id, content, expected) {
      const { revision, sealed } = seal(id, content);
      return (await changeForGood(id, expected, [revision, sealed])) ? revision : null;
    },
    remove: (id, expected) => changeForGood(id, expected, []),
  };
}

/** Documents as they are stored. */
function openDocuments(ring: readonly SealingKey[]) {
  return {
    seal(id: string, content: ManagedContent): { revision: string; sealed: string } {
      const sealed = createSealer(ring, id).seal(JSON.stringify(content), CONTEXT);
      return { revision: revisionOf(sealed), sealed };
    },
    stored(id: string, sealed: string): ManagedTenant {
      const open = () => JSON.parse(createSealer(ring, id).open(sealed, CONTEXT)) as ManagedContent;
      return { id, revision: revisionOf(sealed), open };
    },
    /** Whether an old key sealed it. */
    isStale: (id: string, sealed: string): boolean => createSealer(ring, id).isStale(sealed),
  };
}

/** Those that are as they were, and the ids of the others. */
function comparedWith(before: ManagedTenants | undefined, known: Readonly<Record<string, string>>) {
  const next = new Map<string, ManagedTenant>();
  const changed: string[] = [];
  for (const [id, revision] of Object.entries(known)) {
    const same = before?.get(id);
    if (same?.revision === revision) next.set(id, same);
    else changed.push(id);
  }
  return { next, changed };
}

function contentOf(tenant: ManagedTenant): ManagedContent | null {
  try {
    return tenant.open();
  } catch {
    return null;
  }
}

/** With what a version begins. */
function firstOf(version: string | null): string | null {
  return version?.split(':')[0] ?? null;
}

/** Sealed anew the same is another text. */
function revisionOf(sealed: string): string {
  return createHash('sha256').update(sealed).digest('base64url').slice(0, 22);
}

function isLoss(error: unknown): boolean {
  return error instanceof MirrorError && error.code === 'managed-tenants-lost';
}

function tenantsLost(): MirrorError {
  return new MirrorError('Redis lost the managed tenants', {
    ...{ actor: 'remote', code: 'managed-tenants-lost', retry: 'later' },
    remedy: 'put them back with: clinic-mirror restore --all <file>',
  });
}
