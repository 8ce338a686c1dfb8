import type { Refusal } from '../../model/refusals.ts';

/** Fields by which people refuse: of contacts, and of accounts of one person (Object Reference, Contact and Account). */
export const REFUSALS: readonly Refusal[] = ['HasOptedOutOfEmail', 'HasOptedOutOfFax', 'DoNotCall'].flatMap(
  (property) => [
    { property, by: null },
    { property: `Person${property}`, by: null },
  ],
);
