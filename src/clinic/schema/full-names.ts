import { z } from 'zod';
import { path } from './paging.ts';

/** Where a row holds a whole name in one field, and how its parts stand there. */
export const fullName = z
  .strictObject({
    path,
    order: z.enum(['given-first', 'family-first']).describe('Mario De Luca, or De Luca Mario.'),
    separator: z
      .string()
      .min(1)
      .default(',')
      .describe('Stands behind the family name where a name has it: Rossi, Mario.'),
  })
  .nullable()
  .default(null)
  .describe('A name in one field, parted where a row tells neither first nor last name; null = there is none.');

/** The same, as a profile has it. */
export type FullName = NonNullable<z.infer<typeof fullName>>;
