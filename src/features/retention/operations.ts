import { z } from 'zod';
import { operation } from '../../operations/operation.ts';
import { instant, tenant } from '../../operations/schemas.ts';

/** Operations that report the retention of data. */
export const RETENTION_OPERATIONS = {
  reportRetention: operation({
    summary: 'show how long each kind of data is kept, how it ends, and what the last checks deleted',
    level: 'viewer',
    input: z.strictObject({ tenant }),
    output: z.object({
      tenant: z.string(),
      lastCheckAt: instant.nullable().describe('Last check of any daemon; null before the first'),
      nextCheckAt: instant.nullable(),
      kinds: z.array(
        z.object({
          kind: z.string(),
          ends: z
            .enum(['check', 'expiry', 'use', 'never'])
            .describe('By the hourly check; by expiry in Redis, not counted; with its object; never'),
          periodMs: z.number().nullable().describe('Null: no fixed period'),
          lastEndedAt: instant.nullable().describe('Last check that deleted some'),
          lastEnded: z.number().nullable().describe('Number of items that this check deleted'),
        }),
      ),
    }),
    http: { method: 'GET', path: '/tenants/{tenant}/retention' },
    commands: [{ words: 'retention <tenant>', isOfOneTenant: true }],
    async run({ tenant }, { services: { installation }, acting }) {
      const { reportRetention } = await import('./retention.ts');
      return reportRetention(installation, acting, tenant);
    },
    document: async () => (await import('./retention.ts')).retentionDocument,
    page: { path: '/retention', names: { en: 'Retention', it: 'Conservazione' } },
  }),
};
