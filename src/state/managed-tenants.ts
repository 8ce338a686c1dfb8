import { hash } from 'node:crypto';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import {
  ALL_MANAGED,
  type ManagedContent,
  type ManagedTenant,
  type ManagedTenants,
} from '../settings/managed-tenant.ts';
import {
  comparedWith,
  firstOf,
  type Looked,
  type ManagedLedger,
  type ManagedLedgerParts,
  meantBy,
  openManagedLedger,
  revisionShown,
} from './managed-ledger.ts';
import { createSealer, type SealingKey } from './sealing.ts';

/** All managed tenants at one moment. */
export interface ManagedSnapshot {
  /** Another one after each change of any; null before the first. */
  version: string | null;
  /** One that is not as clinic-mirror wrote it last does not open (`record-forged`). */
  tenants: ManagedTenants;
  /** Those that Redis lost since this was opened and does not name again: nobody removed them. */
  lost: ManagedTenants;
  /** Those that do not open, because who wrote them last was not clinic-mirror. */
  forged: readonly string[];
}

/** The managed tenants of an installation. Of two who change one at once, one does. */
export type ManagedTenantStore = ReturnType<typeof createManagedTenants>;

/** What the store works with. @see CredentialStoreOptions */
export interface ManagedTenantParts extends ManagedLedgerParts {
  ring: readonly SealingKey[];
}

const CONTEXT = 'managed-tenant';
/** Stale documents that are sealed anew in one step. */
const SEALED_AT_ONCE = 100;

/**
 * Opens the managed tenants. Each is sealed under its own name, so that one can't be put in another's place, and a sealed head names the
 * revision of each, so that no older one can be put back.
 */
export function createManagedTenants(parts: ManagedTenantParts) {
  const ledger = openManagedLedger(parts);
  const { seal, state } = openDocuments(parts, ledger);
  let last: (ManagedSnapshot & { marked: number }) | null = null;
  let lost: ManagedTenants = new Map();

  const change = (id: string, expected: string | null, next: Sealed | null) =>
    ledger.forGood(
      (now) => meantBy(now, id).includes(expected ?? ''),
      (now) => ledger.change(now, [{ id, next }]),
    );

  async function read(): Promise<ManagedSnapshot> {
    // Before Redis, which is never behind it.
    const marked = await ledger.marked();
    const before = last;
    if (before?.marked === marked && (await ledger.version()) === before.version) return before;
    const { now, documents } = await ledger.read(marked, before?.tenants);
    const isEmptied = typeof before?.version === 'string' && firstOf(before.version) !== firstOf(now.version);
    if (isEmptied && now.version === null) throw tenantsLost();
    const next = await state(now, documents, before?.tenants);
    const missing = isEmptied ? new Map([...lost, ...before.tenants]) : lost;
    lost = new Map([...missing].filter(([id]) => !next.has(id)));
    // The mark outside Redis tells that there were some, and not which.
    if (now.version === null && now.marked > 0) next.set(ALL_MANAGED, forgedTenant(ALL_MANAGED, now));
    last = {
      ...{ version: now.version, tenants: next, lost, marked: await ledger.raiseMark(marked) },
      forged: [...next.values()].flatMap(({ id, isForged = false }) => (isForged ? [id] : [])),
    };
    return last;
  }

  return {
    /** Asks for what changed alone; the same object when nothing did. What an old key sealed is sealed again. @throws as `tenantsLost` */
    read,
    /** One tenant, also where Redis lost it since this was opened; null when there is none. */
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
     * Keeps a tenant sealed. On the disk when it returns, where Redis can tell.
     * @param expected revision that is replaced, as it was read or as it was last written; null: there is none
     * @returns the revision; null when another one stands there
     */
    async put(id: string, content: ManagedContent, expected: string | null): Promise<string | null> {
      const next = seal(id, content);
      return (await change(id, expected, next)) ? next.revision : null;
    },
    /** @returns whether it was removed: false when another revision stands there */
    remove: (id: string, expected: string) => change(id, expected, null),
    /** Takes one as Redis has it, or has it no more: a person restored an older Redis. @returns false when it is not as it was read */
    accept: (id: string, expected: string) =>
      ledger.forGood(
        (now) => revisionShown(now, id) === expected,
        (now) => ledger.count(now, id),
      ),
    /** The highest counter of a change that this process has seen: of one that it made, its own unless another came at once. */
    counter: ledger.seen,
  };
}

/** A document as it is stored. */
interface Sealed {
  revision: string;
  sealed: string;
}

/** Documents as they are stored, each under its own name. */
function openDocuments({ ring }: ManagedTenantParts, ledger: ManagedLedger) {
  function seal(id: string, content: ManagedContent): Sealed {
    const sealed = createSealer(ring, id).seal(JSON.stringify(content), CONTEXT);
    return { revision: revisionOf(sealed), sealed };
  }

  function stored(id: string, sealed: string): ManagedTenant {
    const open = () => JSON.parse(createSealer(ring, id).open(sealed, CONTEXT)) as ManagedContent;
    return { id, revision: revisionOf(sealed), open };
  }

  /** What an old key sealed is sealed with the active one, unless it does not open, which is told elsewhere. */
  async function sealAnew(now: Looked, read: ReadonlyMap<string, string>, next: Map<string, ManagedTenant>) {
    const stale = [...read].flatMap(([id, sealed]) => {
      const content = createSealer(ring, id).isStale(sealed) ? contentOf(stored(id, sealed)) : null;
      return content === null ? [] : [{ id, next: seal(id, content) }];
    });
    for (let from = 0; from < stale.length; from += SEALED_AT_ONCE) {
      const steps = stale.slice(from, from + SEALED_AT_ONCE);
      // A Redis that takes no writes can be read all the same: the next process tries again.
      const isDone = await ledger.change(from === 0 ? now : await ledger.look(now.marked), steps).catch(() => false);
      if (!isDone) return;
      for (const { id, next: anew } of steps) next.set(id, stored(id, anew.sealed));
    }
  }

  /** Tenants as Redis has them. @param documents those that are other ones than before */
  async function readCurrent(now: Looked, documents: ReadonlyMap<string, string>, before: ManagedTenants | undefined) {
    const { same, forged, others } = comparedWith(before, now);
    const next = new Map(same);
    for (const id of forged) next.set(id, forgedTenant(id, now));
    const read = new Map<string, string>();
    for (const id of others) {
      const sealed = documents.get(id) ?? '';
      const tenant = stored(id, sealed);
      const isWhole = tenant.revision === now.revisions.get(id);
      if (isWhole) read.set(id, sealed);
      next.set(id, isWhole ? tenant : forgedTenant(id, now));
    }
    await sealAnew(now, read, next);
    return next;
  }

  return { seal, state: readCurrent };
}

/** In place of a tenant that is not as clinic-mirror wrote it last. */
function forgedTenant(id: string, now: Looked): ManagedTenant {
  const isMissing = !now.revisions.has(id);
  const isOfAll = id === ALL_MANAGED;
  const text = isOfAll
    ? message('managed-forged.all')
    : message(isMissing ? 'managed-forged.missing' : 'managed-forged');
  return {
    ...{ id, revision: revisionShown(now, id), isForged: true, isMissing },
    open() {
      throw new MirrorError(text, {
        actor: 'contract',
        code: 'record-forged',
        retry: 'never',
        remedy: isOfAll ? message('managed-forged.all-remedy') : message('managed-forged.remedy', { id }),
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

/** Sealed anew the same is another text. */
function revisionOf(sealed: string): string {
  return hash('sha256', sealed, 'base64url').slice(0, 22);
}

function isLoss(error: unknown): boolean {
  return error instanceof MirrorError && error.code === 'managed-tenants-lost';
}

/** Redis had some since the store was opened, and knows of none that ever was. */
function tenantsLost(): MirrorError {
  return new MirrorError(message('managed-tenants-lost'), {
    ...{ actor: 'remote', code: 'managed-tenants-lost', retry: 'later' },
    remedy: message('managed-lost.remedy'),
  });
}
