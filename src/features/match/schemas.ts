import { z } from 'zod';
import { instant } from '../../core/model/schemas.ts';

const duplicate = z.object({
  record: z.string(),
  /**
   * `lacks`: the managed object lacks a property, because the target allows the value in a single object. `copied`: the second object has
   * clinic-mirror's stamp, such as a manual copy. `alike`: a user created the second object, which resembles the patient.
   */
  kind: z.enum(['lacks', 'copied', 'alike']),
  /** Names of missing or equal properties, such as `email`. */
  by: z.array(z.string()),
  /** URL of the managed object's page, or null. */
  page: z.string().nullable(),
  /** The second object is managed too, such as a relative or a copy. If false, a user created the object. */
  isHeldByOurs: z.boolean(),
  /** Record of the second object; null if unmanaged or unknown. */
  heldBy: z.string().nullable(),
  /** URL of the second object's page. */
  heldOn: z.string().nullable(),
});
/** A second object for a record, or an object with a value that the managed object should have. Names and ids, never values. */
export type Duplicate = z.infer<typeof duplicate>;

export const duplicates = z.object({
  tenant: z.string(),
  asOf: instant,
  targets: z.array(z.object({ target: z.string(), connector: z.string(), duplicates: z.array(duplicate) })),
});
/** Duplicate contacts of a tenant. */
export type DuplicatesView = z.infer<typeof duplicates>;

export const decided = z.object({
  tenant: z.string(),
  target: z.string(),
  approved: z.number(),
  done: z.number().describe('Number of contacts linked to patients, or unlinked'),
  /** Contacts that needed no change. */
  already: z.number(),
  /** By line: patient id and reason, a code of `MatchRefusal` or of the CRM's refusal. */
  refused: z.array(z.object({ line: z.number(), record: z.string(), why: z.string() })),
});
/** Result of a match file. */
export type MatchResult = z.infer<typeof decided>;
