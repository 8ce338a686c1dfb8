import { z } from 'zod';

/** What a caller is answered whose work takes longer. */
export const begunTask = z.object({
  task: z.string(),
  address: z.string().describe('Ask there how it stands; any process of the installation tells it, for an hour'),
});
