import { z } from 'zod';
import { instant } from '../../core/model/schemas.ts';
import { STORED_KINDS } from './texts.ts';

export type StoredKind = keyof typeof STORED_KINDS;

export const retention = z.object({
  tenant: z.string(),
  lastCheckAt: instant.nullable().describe('Last check of any daemon; null before the first'),
  nextCheckAt: instant.nullable(),
  kinds: z.array(
    z.object({
      kind: z.enum(Object.keys(STORED_KINDS) as StoredKind[]),
      ends: z
        .enum(['check', 'expiry', 'use', 'never'])
        .describe('By the hourly check; by expiry in Redis, not counted; with its object; never'),
      periodMs: z.number().nullable().describe('Null: no fixed period'),
      lastEndedAt: instant.nullable().describe('Last check that deleted some'),
      lastEnded: z.number().nullable().describe('Number of items that this check deleted'),
    }),
  ),
});
/** Retention of the data of a tenant, with the last check of any daemon. */
export type RetentionReport = z.infer<typeof retention>;
