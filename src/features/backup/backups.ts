import { createHash } from 'node:crypto';
import { type Installation, requireTenant } from '../../control/installation.ts';
import { type Acting, recordAct } from '../../control/recording.ts';
import type { Instant } from '../../model/time.ts';
import type { ManagedContent } from '../../settings/managed-tenant.ts';

/** What came of restoring a backup. */
export interface Restored {
  /** Logins that were put back, and those that stay because a newer one stands. */
  restored: string[];
  unchanged: string[];
  /** Tombstones, receipts and opt-outs, and records that a person put back, that were missing. */
  protections: number;
  pins: number;
  /** Decisions to keep what was asked to be removed. */
  rejections: number;
  /** When the backup was made; who was forgotten or opted out after that is not in it. */
  at: Instant;
}

/** Sealed copies of what of a tenant can't be rebuilt. Both throw MirrorError `settings` for an unknown tenant. */
export interface Backups {
  backup(tenant: string): Promise<string>;
  /**
   * Puts back what is missing; nothing that stands is replaced or removed. It ends the doubt of a state that was lost.
   * @throws MirrorError `contract`, code `seal-broken`; `settings`, code `identity-key-changed`
   */
  restore(tenant: string, backup: string): Promise<Restored>;
  /** Of managed tenants; absent in a process whose configuration came from no files. */
  managed?: {
    /** How one was configured; null for one of a file. @throws as `restore` */
    contentIn(tenant: string, backup: string): ManagedContent | null;
    /** Adds it again as it was. */
    add(acting: Acting, tenant: string, content: ManagedContent): Promise<unknown>;
  };
}

/** The same, and what a file of all tenants is sealed with. */
export interface AllBackups extends Backups {
  /** Seals what belongs to a file of all tenants, so that nobody else makes or changes one. */
  seal(text: string): string;
  /** @throws MirrorError `contract`, code `seal-broken` */
  open(sealed: string): string;
}

/**
 * Ends the doubt of a state that was lost or went back: a person knows that nobody has to be kept out, or had them forgotten again.
 * @throws MirrorError `settings`, code `no-such-tenant`
 */
export async function acceptLoss(
  installation: Installation,
  tenantId: string,
): Promise<{ tenant: string; changed: boolean }> {
  const changed = await requireTenant(installation, tenantId).protection.accept();
  if (changed) await installation.pullNow(tenantId);
  return { tenant: tenantId, changed };
}

/**
 * Restores the backup of a tenant. A managed tenant that is not there any more is added first, as it was.
 * @throws as {@link Backups.restore}
 */
export async function restoreBackup(
  acting: Acting,
  { installation, backups: open }: { installation: Installation; backups: Backups },
  id: string,
  text: string,
): Promise<Restored> {
  const isGone = installation.tenants.get(id) === undefined && !installation.unusable.some((each) => each.id === id);
  const lost = isGone ? (open.managed?.contentIn(id, text) ?? null) : null;
  if (lost !== null) await open.managed?.add(acting, id, lost);
  const backup = createHash('sha256').update(text).digest('base64url');
  const second = { subject: backup, isNeeded: (policy: { restore: boolean }) => policy.restore };
  const about = { verb: 'restore', tenant: requireTenant(installation, id).id, what: { backup }, second } as const;
  const factsOf = ({ restored, unchanged, protections, pins }: Restored) => ({
    ...{ logins: restored.length, unchanged: unchanged.length },
    ...{ protections, pins },
  });
  return recordAct(acting, about, () => open.restore(id, text), factsOf);
}
