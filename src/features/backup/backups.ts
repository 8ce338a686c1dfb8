import { createHash } from 'node:crypto';
import { type Installation, requireTenant } from '../../operator/control/installation.ts';
import { type Acting, recordAct } from '../../operator/control/recording.ts';
import type { ManagedContent } from '../../settings/managed-tenant.ts';
import type { Restored } from './schemas.ts';

/** Encrypted copies of tenant data that cannot be rebuilt. Both methods throw MirrorError `settings` for an unknown tenant. */
export interface Backups {
  backup(tenant: string): Promise<string>;
  /**
   * Restores missing data. Existing data is never replaced or removed. Ends the uncertainty after a lost state.
   * @throws MirrorError `settings`, code `state-damaged` or `identity-key-changed`
   */
  restore(tenant: string, backup: string): Promise<Restored>;
  /** Functions for managed tenants; absent in a process whose configuration did not come from files. */
  managed?: {
    /** Returns the configuration in a backup; null for a tenant with a file. @throws as `restore` */
    contentIn(tenant: string, backup: string): ManagedContent | null;
    /** Adds the tenant again with its previous configuration. */
    add(acting: Acting, tenant: string, content: ManagedContent): Promise<unknown>;
  };
}

/** Backups, and the encryption of a file of all tenants. */
export interface AllBackups extends Backups {
  /** Encrypts a part of a file of all tenants, so that damaged or changed parts are detected. */
  seal(text: string): string;
  /** @throws MirrorError `settings`, code `state-damaged` */
  open(sealed: string): string;
}

/**
 * Ends the uncertainty after a lost or reverted state. The operator confirms that no patient must be excluded, or has repeated the
 * erasures.
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
 * Restores the backup of a tenant. A removed managed tenant is first added with its previous configuration.
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
