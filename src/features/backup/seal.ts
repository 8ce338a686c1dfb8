import type { Credential } from '../../core/model/credentials.ts';
import type { Hold } from '../../core/model/plan.ts';
import type { Instant } from '../../core/model/time.ts';
import type { ManagedContent } from '../../settings/managed-tenant.ts';
import type { Safeguards } from '../../state/data-directory.ts';
import type { Sealer } from '../../state/sealing.ts';
import { identityKeyChanged } from '../../state/state-counter.ts';

/** Tenant data that cannot be rebuilt from its targets. */
export interface TenantBackup {
  at: Instant;
  /** Fingerprint of the identity key. With a different key, tombstones and opt-outs would match no patient. */
  identity: string;
  credentials: Readonly<Record<string, Credential>>;
  safeguards: Safeguards;
  /** Pinned records by target, with the end of each pin. */
  pins: Readonly<Record<string, Readonly<Record<string, Instant>>>>;
  /** Decisions to keep objects. Approvals are not in the backup, so that an old approval cannot delete objects. */
  rejections: readonly Hold[];
  /** Tenant id in the clinic API used so far; null before the first use. */
  clinicTenant: string | null;
  /** Configuration of a managed tenant; null for a tenant with a file. */
  managed: ManagedContent | null;
}

const CONTEXT = 'credentials-backup';

/** Returns an encrypted text that any Redis can restore, only for this tenant. */
export function sealBackup(sealer: Sealer, backup: TenantBackup): string {
  return sealer.seal(JSON.stringify(backup), CONTEXT);
}

/**
 * @param identity fingerprint of the present identity key
 * @throws MirrorError `settings`, code `state-damaged` for a changed text or a different tenant, or `identity-key-changed`
 */
export function openBackup(sealer: Sealer, text: string, identity: string): TenantBackup {
  const backup = JSON.parse(sealer.open(text, CONTEXT)) as TenantBackup;
  if (backup.identity !== identity) throw identityKeyChanged();
  return backup;
}
