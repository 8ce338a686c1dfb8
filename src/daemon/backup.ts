import type { Instant } from '../core/model/time.ts';
import { createClinicTenantStore } from '../domain/clinic-tenant.ts';
import type { AllBackups } from '../features/backup/backups.ts';
import { openBackup, sealBackup } from '../features/backup/seal.ts';
import { type ConfigurationServices, changeTenant, planAddition } from '../features/managed-tenants/managed-tenants.ts';
import { requireTenant } from '../operator/control/installation.ts';
import { resumeTargets } from '../operator/control/resume.ts';
import type { ManagedContent } from '../settings/managed-tenant.ts';
import { createProofSealer, createSealer } from '../state/sealing.ts';
import type { Composition } from './compose.ts';
import { requireEntry } from './open-connection.ts';
import { sealingRing } from './stores.ts';

export function openBackups(composition: Composition, configurations: ConfigurationServices | null = null): AllBackups {
  const { installation, composed, queues, redis, stateCounter, managedTenants } = composition;
  const { identity } = stateCounter;
  const { seal, open } = fileSealer(composition);
  const identityKey = composition.configuration.settings.secrets.identityKey.reveal();
  const clinicTenantOf = (id: string) => createClinicTenantStore(redis, id, createProofSealer(identityKey, id));
  /** A missing tenant has no separate encryption key. */
  function contentIn(id: string, text: string): ManagedContent | null {
    return openBackup(createSealer(sealingRing(composition.configuration.settings), id), text, identity).managed;
  }
  return {
    seal,
    open,
    async backup(id) {
      const { credentials, connections, sealer, tenant } = requireEntry(composed, requireTenant(installation, id).id);
      const logins = [...connections.values()].filter(({ tokens }) => tokens !== null).map((each) => each.id);
      const at = installation.clock();
      const pins: Record<string, Record<string, Instant>> = {};
      for (const target of tenant.targets.keys()) pins[target] = await tenant.journal.pins(target, at);
      const [stored, safeguards] = [await credentials.readAll(logins), await tenant.protection.read()];
      const rejections = (await tenant.holds.list()).filter(({ state }) => state === 'rejected');
      const clinicTenant = await clinicTenantOf(tenant.id).read();
      const managed = (await managedTenants.find(id))?.open() ?? null;
      const facts = { at, identity, credentials: stored, safeguards, pins, rejections, clinicTenant, managed };
      return sealBackup(sealer, facts);
    },
    ...(configurations !== null && {
      managed: {
        contentIn,
        add: async (acting, tenant, content) =>
          changeTenant(acting, configurations, 'add-tenant', await planAddition(configurations, tenant, content)),
      },
    }),
    async restore(id, text) {
      const tenant = requireTenant(installation, id);
      const { credentials, sealer } = requireEntry(composed, id);
      const backup = openBackup(sealer, text, identity);
      // Protections come first, because a cycle can begin at any time afterwards.
      const protections = await tenant.protection.restore(backup.safeguards);
      let pins = 0;
      for (const [target, ends] of Object.entries(backup.pins)) {
        for (const [recordId, untilAt] of Object.entries(ends)) await tenant.journal.pin(target, [recordId], untilAt);
        pins += Object.keys(ends).length;
      }
      const rejections = await tenant.holds.putBack(backup.rejections, installation.clock());
      // Must precede a connection or a cycle, which would choose a clinic tenant automatically.
      if (backup.clinicTenant !== null) await clinicTenantOf(id).bind(backup.clinicTenant, false);
      const logins = await credentials.restore(backup.credentials);
      await resumeTargets(tenant);
      await queues.pullNow(id);
      await queues.renewSubscriptions(id, { hurry: true });
      await tenant.triggers?.wake(0, { read: true });
      return { ...logins, protections, rejections, pins, at: backup.at };
    },
  };
}

/** Not a possible tenant id. */
const ALL_TENANTS = '*';
const CONTEXT = 'backup-file';

function fileSealer({ configuration: { settings } }: Composition): Pick<AllBackups, 'seal' | 'open'> {
  const sealer = createSealer(sealingRing(settings), ALL_TENANTS);
  return { seal: (text) => sealer.seal(text, CONTEXT), open: (sealed) => sealer.open(sealed, CONTEXT) };
}
