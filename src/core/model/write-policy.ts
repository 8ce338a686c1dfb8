import { z } from 'zod';
import { type Message, message } from '../../messages/message.ts';

export const writePolicyView = z
  .object({
    name: z.enum(['upsert-only', 'create-only']),
    notRemoved: z.number().describe('Number of objects that remain although their records left the target'),
    notUpdated: z.number().describe('Number of objects with an earlier content than in the clinic'),
  })
  .describe('Policy of a target that withholds changes, with their number in the last plan; absent for `sync`');
/** Effect of a target's policy, except `sync`. */
export type WritePolicyView = z.infer<typeof writePolicyView>;

/** Returns the sentence about the withheld changes of a target. */
export function policySentence({ name, notRemoved, notUpdated }: WritePolicyView): Message {
  return message('write-policy', { name, notRemoved, notUpdated });
}
