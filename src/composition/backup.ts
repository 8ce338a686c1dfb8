import type { Backups } from '../control/backups.ts';
import { requireTenant } from '../control/installation.ts';
import { resumeTargets } from '../control/resume.ts';
import type { Instant } from '../model/time.ts';
import { openBackup, sealBackup } from '../state/backups.ts';
import type { Composition } from './compose.ts';
import { requireEntry } from './connections.ts';

/** Opens the backups of an installation. */
export function openBackups({ installation, composed, queues, epoch: { identity } }: Composition): Backups {
  return {
    async backup(id) {
      const { credentials, connections, sealer, tenant } = requireEntry(composed, requireTenant(installation, id).id);
      const logins = [...connections.values()].filter(({ tokens }) => tokens !== null).map((each) => each.id);
      const at = installation.clock();
      const pins: Record<string, Record<string, Instant>> = {};
      for (const target of tenant.targets.keys()) pins[target] = await tenant.journal.pins(target, at);
      const [stored, safeguards] = [await credentials.readAll(logins), await tenant.protection.read()];
      return sealBackup(sealer, { format: 2, at, identity, credentials: stored, safeguards, pins });
    },
    async restore(id, text) {
      const tenant = requireTenant(installation, id);
      const { credentials, sealer } = requireEntry(composed, id);
      const backup = openBackup(sealer, text, identity);
      const isWhole = backup.format === 2;
      // First of all: from here on a cycle may come at any time.
      const protections = isWhole ? await tenant.protection.restore(backup.safeguards) : null;
      let pins = 0;
      for (const [target, ends] of Object.entries(isWhole ? backup.pins : {})) {
        for (const [recordId, untilAt] of Object.entries(ends)) await tenant.journal.pin(target, [recordId], untilAt);
        pins += Object.keys(ends).length;
      }
      const logins = await credentials.restore(backup.credentials);
      await resumeTargets(tenant);
      await queues.pullNow(id);
      await queues.keepSubscriptions(id, { hurry: true });
      await tenant.triggers?.wake(0, { read: true });
      return { ...logins, protections, pins: isWhole ? pins : null, at: isWhole ? backup.at : null };
    },
  };
}
