import { z } from 'zod';
import { TASK_KINDS } from '../../model/kept-task.ts';
import { failure, instant } from '../../operations/schemas.ts';

/** What a caller is answered whose work takes longer. */
export const begunTask = z.object({
  task: z.string(),
  address: z.string().describe('Ask there how it stands; any process of the installation tells it, for an hour'),
});

/** Long work that somebody began. */
export const task = z.object({
  id: z.string(),
  kind: z.enum(TASK_KINDS),
  beganAt: instant,
  state: z
    .enum(['running', 'done', 'failed', 'lost'])
    .describe('`lost`: its process ended without a word; it is safe to begin it again'),
  step: z.string().nullable().describe('What it is at, or was last'),
  result: z.unknown().describe('What the route answers; null until it is done'),
  error: failure.nullable(),
});
