import type { Credential } from '../model/credentials.ts';
import type { Hold } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import type { ManagedContent } from '../settings/managed-tenant.ts';
import type { Safeguards } from './data-directory.ts';
import { identityKeyChanged } from './epoch.ts';
import type { Sealer } from './sealing.ts';

/** What of a tenant can't be rebuilt from its targets. */
export interface TenantBackup {
  format: 3;
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
  /** How it is configured, where no file says so; absent in a backup of before there was such a tenant. */
  managed?: ManagedContent | null;
}

/** A backup of before rejections and the clinic's id were part of it. */
type EarlierBackup = Omit<TenantBackup, 'format' | 'rejections' | 'clinicTenant'> & { format: 2 };

/** A backup of before tombstones, opt-outs and pins were part of it: logins alone. */
export interface LoginsBackup {
  format: 1;
  credentials: Readonly<Record<string, Credential>>;
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
export function openBackup(sealer: Sealer, text: string, identity: string): TenantBackup | LoginsBackup {
  const opened = JSON.parse(sealer.open(text, CONTEXT)) as TenantBackup | EarlierBackup | LoginsBackup['credentials'];
  // A connection of that name would be an object.
  if (!('format' in opened) || (opened.format !== 2 && opened.format !== 3)) {
    return { format: 1, credentials: opened as LoginsBackup['credentials'] };
  }
  // The one of before had neither rejections nor the clinic's id.
  const stored = opened as TenantBackup | EarlierBackup;
  const backup: TenantBackup =
    stored.format === 3 ? stored : { ...stored, format: 3, rejections: [], clinicTenant: null };
  if (backup.identity !== identity) throw identityKeyChanged();
  return backup;
}
