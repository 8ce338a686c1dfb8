import { z } from 'zod';
import { configurationFault } from '../../core/model/schemas.ts';
import type { ConfigurationFault } from '../../settings/faults.ts';

export const source = z.object({
  tenant: z.string(),
  source: z.enum(['file', 'managed']).describe('Where the tenant is configured; a tenant from a file is read-only'),
  file: z.string().nullable().describe('Configuration file; null for a managed tenant'),
  revision: z.string().nullable().describe('Also the ETag; null for a file'),
});
/** Place of a tenant's configuration. A change requires its revision. */
export type TenantSource = z.infer<typeof source>;

export const configuration = source.extend({
  yaml: z.string().nullable().describe('Original text; null if the text is not readable'),
  secrets: z.array(z.string()).describe('Names of the encrypted values'),
  /** With faults, the tenant does not run, or runs with its previous configuration. */
  faults: z.array(configurationFault).describe('Faults that prevent this configuration'),
});
/** Configuration of a tenant. Its faults have their texts in all languages. */
export type TenantDocument = Omit<z.infer<typeof configuration>, 'faults'> & { faults: readonly ConfigurationFault[] };

export const changed = z.object({
  tenant: z.string(),
  /** Null: the tenant was removed. */
  revision: z.string().nullable(),
  file: z.string().nullable().describe('A file for the same tenant; used when the tenant is no longer managed'),
});
/** Result of a change. */
export type TenantChanged = z.infer<typeof changed>;
