import { hash } from 'node:crypto';
import { MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';
import {
  ALL_MANAGED,
  type ManagedContent,
  type ManagedTenant,
  type ManagedTenants,
} from '../../settings/managed-tenant.ts';
import { DAMAGED, reportDamaged } from '../../state/damaged.ts';
import { createSealer, type SealingKey } from '../../state/sealing.ts';
import {
  comparedWith,
  firstOf,
  type Looked,
  type ManagedLedger,
  type ManagedLedgerParts,
  type ManagedStep,
  meantBy,
  openManagedLedger,
  revisionShown,
} from './ledger.ts';

export interface ManagedSnapshot {
  /** Changes with every tenant; null before the first. */
  version: string | null;
  /** A tenant that differs from clinic-mirror's last write cannot be opened (`state-damaged`). */
  tenants: ManagedTenants;
  /** Tenants that Redis lost since the store was opened: no operator removed them. */
  lost: ManagedTenants;
  /** Tenants that cannot be opened because of a foreign write. */
  damaged: readonly string[];
}

/** Managed tenants of an installation. Of two concurrent changes of a tenant, one succeeds. */
export type ManagedTenantStore = ReturnType<typeof createManagedTenants>;

/** @see CredentialStoreOptions */
export interface ManagedTenantParts extends ManagedLedgerParts {
  ring: readonly SealingKey[];
}

const CONTEXT = 'managed-tenant';
/** Stale documents that are encrypted again in one step. */
const SEALED_AT_ONCE = 100;

/**
 * Opens the managed tenants. Each document is encrypted under its name, so that documents cannot be swapped. An encrypted head names each
 * revision, so that older documents cannot be restored unnoticed.
 */
export function createManagedTenants(parts: ManagedTenantParts) {
  const ledger = openManagedLedger(parts);
  const { seal, state } = openDocuments(parts, ledger);
  let last: (ManagedSnapshot & { marked: number }) | null = null;
  let lost: ManagedTenants = new Map();

  const change = (id: string, expected: string | null, step: Omit<ManagedStep, 'id'>) =>
    ledger.forGood(
      (now) => meantBy(now, id).includes(expected ?? ''),
      (now) => ledger.change(now, [{ id, ...step }]),
    );

  async function read(): Promise<ManagedSnapshot> {
    // Read before Redis, which is never behind the mark.
    const marked = await ledger.marked();
    const before = last;
    if (before?.marked === marked && (await ledger.isUnchanged(before.version))) return before;
    const { now, documents } = await ledger.read(marked, before?.tenants);
    const isEmptied = typeof before?.version === 'string' && firstOf(before.version) !== firstOf(now.version);
    if (isEmptied && now.version === null) throw tenantsLost();
    const next = await state(now, documents, before?.tenants);
    const missing = isEmptied ? new Map([...lost, ...before.tenants]) : lost;
    lost = new Map([...missing].filter(([id]) => !next.has(id)));
    // The mark outside Redis proves that tenants existed, without their names.
    if (now.version === null && now.marked > 0) next.set(ALL_MANAGED, damagedTenant(ALL_MANAGED, now));
    last = {
      ...{ version: now.version, tenants: next, lost, marked: await ledger.raiseMark(marked) },
      damaged: [...next.values()].flatMap(({ id, isDamaged = false }) => (isDamaged ? [id] : [])),
    };
    return last;
  }

  return {
    /**
     * Reads only changes, and returns an identical object without changes. Documents under an old key are encrypted again. @throws as
     * `tenantsLost`
     */
    read,
    /** Returns one tenant, also if Redis lost the tenant since the store was opened; null if absent. */
    async find(id: string): Promise<ManagedTenant | null> {
      try {
        const { tenants: there, lost: gone } = await read();
        return there.get(id) ?? gone.get(id) ?? null;
      } catch (error) {
        if (!isLoss(error)) throw error;
        return last?.tenants.get(id) ?? lost.get(id) ?? null;
      }
    },
    /**
     * Stores an encrypted tenant. Durable on return if Redis supports confirmation.
     * @param expected replaced revision, as read or last written; null: absent
     * @param isGuarded whether the document requires a second operator for some commands
     * @returns the revision; null if a different revision is stored
     */
    async put(id: string, content: ManagedContent, expected: string | null, isGuarded = false): Promise<string | null> {
      const next = seal(id, content);
      return (await change(id, expected, { next, isGuarded })) ? next.revision : null;
    },
    /** @returns false if a different revision is stored */
    remove: (id: string, expected: string) => change(id, expected, { next: null }),
    /** Accepts a tenant as stored or missing in Redis, after an operator restored an older Redis. @returns false if the revision differs */
    accept: (id: string, expected: string) =>
      ledger.forGood(
        (now) => revisionShown(now, id) === expected,
        (now) => ledger.count(now, id),
      ),
    /** Highest counter that this process has seen: after its own change, the counter of the change unless a concurrent change followed. */
    counter: ledger.seen,
  };
}

/** Stored document. */
interface Sealed {
  revision: string;
  sealed: string;
}

/** Seals and opens documents, each under its name. */
function openDocuments({ ring }: ManagedTenantParts, ledger: ManagedLedger) {
  function seal(id: string, content: ManagedContent): Sealed {
    const sealed = createSealer(ring, id).seal(JSON.stringify(content), CONTEXT);
    return { revision: revisionOf(sealed), sealed };
  }

  function stored(id: string, sealed: string): ManagedTenant {
    const open = () => JSON.parse(createSealer(ring, id).open(sealed, CONTEXT)) as ManagedContent;
    return { id, revision: revisionOf(sealed), open };
  }

  /** Seals documents under old keys again with the active key. Documents that cannot be opened are reported elsewhere. */
  async function sealAnew(now: Looked, read: ReadonlyMap<string, string>, next: Map<string, ManagedTenant>) {
    const stale = [...read].flatMap(([id, sealed]) => {
      const content = createSealer(ring, id).isStale(sealed) ? contentOf(stored(id, sealed)) : null;
      return content === null ? [] : [{ id, next: seal(id, content) }];
    });
    for (let from = 0; from < stale.length; from += SEALED_AT_ONCE) {
      const steps = stale.slice(from, from + SEALED_AT_ONCE);
      // A read-only Redis stays readable: the next process tries again.
      const isDone = await ledger.change(from === 0 ? now : await ledger.look(now.marked), steps).catch(() => false);
      if (!isDone) return;
      for (const { id, next: anew } of steps) next.set(id, stored(id, anew.sealed));
    }
  }

  /** Returns the current tenants. @param documents changed documents */
  async function readCurrent(now: Looked, documents: ReadonlyMap<string, string>, before: ManagedTenants | undefined) {
    const { same, damaged, others } = comparedWith(before, now);
    const next = new Map(same);
    for (const id of damaged) next.set(id, damagedTenant(id, now));
    const read = new Map<string, string>();
    for (const id of others) {
      const sealed = documents.get(id) ?? '';
      const tenant = stored(id, sealed);
      const isWhole = tenant.revision === now.revisions.get(id);
      if (isWhole) read.set(id, sealed);
      next.set(id, isWhole ? tenant : damagedTenant(id, now));
    }
    await sealAnew(now, read, next);
    return next;
  }

  return { seal, state: readCurrent };
}

/** Replaces a tenant that differs from clinic-mirror's last write. */
function damagedTenant(id: string, now: Looked): ManagedTenant {
  reportDamaged(id, 'managed-tenants');
  const isMissing = !now.revisions.has(id);
  const isOfAll = id === ALL_MANAGED;
  const text = message(isOfAll ? 'managed-damaged.all' : 'managed-damaged');
  return {
    ...{ id, revision: revisionShown(now, id), isDamaged: true, isMissing, isGuarded: now.head.guarded.has(id) },
    open() {
      throw new MirrorError(text, {
        actor: DAMAGED.actor,
        code: DAMAGED.code,
        retry: 'never',
        remedy: isOfAll ? message('managed-damaged.all-remedy') : message('managed-damaged.remedy', { id }),
      });
    },
  };
}

function contentOf(tenant: ManagedTenant): ManagedContent | null {
  try {
    return tenant.open();
  } catch {
    return null;
  }
}

/** Encrypting equal content again gives a different text. */
function revisionOf(sealed: string): string {
  return hash('sha256', sealed, 'base64url').slice(0, 22);
}

function isLoss(error: unknown): boolean {
  return error instanceof MirrorError && error.code === 'managed-tenants-lost';
}

/** Redis had tenants since the store was opened, and now has no knowledge of any. */
function tenantsLost(): MirrorError {
  return new MirrorError(message('managed-tenants-lost'), {
    ...{ actor: 'remote', code: 'managed-tenants-lost', retry: 'later' },
    remedy: message('managed-lost.remedy'),
  });
}
