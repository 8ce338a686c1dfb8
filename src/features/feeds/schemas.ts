import { z } from 'zod';
import { feedAccess } from '../../core/model/state-schemas.ts';

export const feedView = z.object({
  tenant: z.string(),
  target: z.string(),
  access: feedAccess.nullable().describe('Null if the feed has no URL'),
});
/** A feed and its use. */
export type FeedView = z.infer<typeof feedView>;
