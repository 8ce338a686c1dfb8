import type { Credential } from '../../model/credentials.ts';
import type { Hold } from '../../model/plan.ts';
import type { Instant } from '../../model/time.ts';
import type { ManagedContent } from '../../settings/managed-tenant.ts';
import type { Safeguards } from '../../state/data-directory.ts';
import type { Sealer } from '../../state/sealing.ts';
import { identityKeyChanged } from '../../state/state-counter.ts';

/** What of a tenant can't be rebuilt from its targets. */
export interface TenantBackup {
  at: Instant;
  /** Fingerprint of the identity key: with another one tombstones and opt-outs would protect nobody. */
  identity: string;
  credentials: Readonly<Record<string, Credential>>;
  safeguards: Safeguards;
  /** Records that a person put back, by target, each with its end. */
  pins: Readonly<Record<string, Readonly<Record<string, Instant>>>>;
  /** What a person decided to keep. An approval is asked for again: nothing is deleted by a word of before. */
  rejections: readonly Hold[];
  /** The clinic's own id of the tenant that all work was in; null before the first time. */
  clinicTenant: string | null;
  /** How it is configured, where no file says so; null for a tenant of a file. */
  managed: ManagedContent | null;
}

const CONTEXT = 'credentials-backup';

/** One sealed text that any Redis can take back, for this tenant only. */
export function sealBackup(sealer: Sealer, backup: TenantBackup): string {
  return sealer.seal(JSON.stringify(backup), CONTEXT);
}

/**
 * @param identity fingerprint of the identity key of today
 * @throws MirrorError `contract`, code `seal-broken`, when the text is another tenant's or was changed; `settings`, code
 *   `identity-key-changed`
 */
export function openBackup(sealer: Sealer, text: string, identity: string): TenantBackup {
  const backup = JSON.parse(sealer.open(text, CONTEXT)) as TenantBackup;
  if (backup.identity !== identity) throw identityKeyChanged();
  return backup;
}
