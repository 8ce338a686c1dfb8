import { z } from 'zod';
import { instant } from '../../core/model/schemas.ts';

export const restored = z.object({
  restored: z.array(z.string()).describe('Logins'),
  unchanged: z.array(z.string()).describe('Connections that were not restored because newer connections exist'),
  protections: z.number().describe('Number of tombstones, receipts and opt-outs'),
  pins: z.number(),
  /** Decisions to keep objects despite a planned deletion. */
  rejections: z.number(),
  /** Later erasures and opt-outs are missing. */
  at: instant.describe('Time of the backup'),
});
/** Result of restoring a backup. */
export type Restored = z.infer<typeof restored>;
