import { z } from 'zod';
import { requireTenant } from '../../control/installation.ts';
import { operation } from '../../operations/operation.ts';
import { changed, instant, tenant } from '../../operations/schemas.ts';
import type { AllBackups } from './backups.ts';

declare module '../../operations/operation.ts' {
  interface Services {
    backups(): Promise<AllBackups>;
  }
}

/** Largest encrypted backup as text. */
const BACKUP_LIMIT_BYTES = 33_554_432;

/** Operations on data that cannot be rebuilt. */
export const BACKUP_OPERATIONS = {
  backUp: operation({
    summary: 'make a sealed copy of what of a tenant can not be rebuilt',
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: z.object({ backup: z.string() }),
    http: { method: 'POST', path: '/tenants/{tenant}/backup' },
    commands: [
      {
        words: 'credentials backup <tenant>',
        about: 'print, sealed: logins, tombstones, receipts, opt-outs, rejections, and what was put back by hand',
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
    summary: 'restore what is missing of a backup; nothing that exists is replaced',
    level: 'owner',
    input: z.strictObject({ tenant, backup: z.string() }),
    output: z.object({
      restored: z.array(z.string()).describe('Logins'),
      unchanged: z.array(z.string()).describe('Logins that stay, since newer ones exist'),
      protections: z.number().describe('Tombstones, receipts and opt-outs'),
      pins: z.number(),
      rejections: z.number(),
      at: instant.describe('When the backup was made'),
    }),
    http: { method: 'POST', path: '/tenants/{tenant}/restore', bodyLimit: BACKUP_LIMIT_BYTES },
    commands: [
      {
        words: 'credentials restore <tenant> [file]',
        about: 'restore what a backup (a file, else standard input) holds and what is missing; nothing is replaced',
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
    summary: 'write and send of people again after the state was lost: nobody is known any more who must be kept out',
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
