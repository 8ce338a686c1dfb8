import { z } from 'zod';
import { changed, tenant } from '../../core/model/schemas.ts';
import { requireTenant } from '../../operator/control/installation.ts';
import { operation } from '../../operator/operations/operation.ts';
import type { AllBackups } from './backups.ts';
import { restored } from './schemas.ts';

declare module '../../operator/operations/operation.ts' {
  interface Services {
    backups(): Promise<AllBackups>;
  }
}

/** Largest encrypted backup as text. */
const BACKUP_LIMIT_BYTES = 33_554_432;

/** Operations on data that cannot be rebuilt. */
export const BACKUP_OPERATIONS = {
  backUp: operation({
    summary: "create an encrypted backup of a tenant's state that cannot be rebuilt",
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: z.object({ backup: z.string() }),
    http: { method: 'POST', path: '/tenants/{tenant}/backup' },
    commands: [
      {
        words: 'credentials backup <tenant>',
        about: "print an encrypted backup of one tenant's protected state",
        isText: true,
      },
    ],
    audit: ({ tenant }, { services: { installation } }) => ({
      verb: 'backup',
      tenant: requireTenant(installation, tenant).id,
    }),
    async run({ tenant }, { services }) {
      return { backup: await (await services.backups()).backup(tenant) };
    },
  }),
  restore: operation({
    summary: 'restore missing state from a backup; replaces nothing',
    level: 'owner',
    input: z.strictObject({ tenant, backup: z.string() }),
    output: restored,
    http: { method: 'POST', path: '/tenants/{tenant}/restore', bodyLimit: BACKUP_LIMIT_BYTES },
    commands: [
      {
        words: 'credentials restore <tenant> [file]',
        about: 'restore missing state from a backup (file or standard input); replaces nothing',
        reads: { field: 'backup', argument: 'file' },
      },
    ],
    // A removed managed tenant is added first, with a second audit record.
    audit: 'itself',
    async run({ tenant, backup }, { services, acting }) {
      const { restoreBackup } = await import('./backups.ts');
      return restoreBackup(
        acting,
        { installation: services.installation, backups: await services.backups() },
        tenant,
        backup.trim(),
      );
    },
  }),
  acceptLoss: operation({
    summary: 'resume writing and sending patient data after the list of forgotten patients was lost',
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: z.object({ tenant: z.string(), ...changed.shape }),
    http: { method: 'POST', path: '/tenants/{tenant}/accept-loss' },
    commands: [{ words: 'accept-loss <tenant>' }],
    audit: ({ tenant }, { services: { installation } }) => ({
      verb: 'accept-loss',
      tenant: requireTenant(installation, tenant).id,
    }),
    async run({ tenant }, { services }) {
      const { acceptLoss } = await import('./backups.ts');
      return acceptLoss(services.installation, tenant);
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
};
