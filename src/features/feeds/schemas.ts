import { z } from 'zod';
import { instant } from '../../operations/schemas.ts';

export const feedView = z.object({
  tenant: z.string(),
  target: z.string(),
  access: z
    .object({ madeAt: instant, fetchedAt: instant.nullable(), fetches: z.number() })
    .nullable()
    .describe('Null if the feed has no URL'),
});
/** A feed and its use. */
export type FeedView = z.infer<typeof feedView>;
