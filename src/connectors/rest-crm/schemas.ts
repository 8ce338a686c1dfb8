import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { newObject } from '../../described-api/templates.ts';
import { issueText, message } from '../../messages/message.ts';
import { allowedKeys, baseAddress } from '../../settings/common-schemas.ts';
import { type CrmDescription, descriptionSchema, type WrittenDescription } from './description.ts';
import { SEARCH_LAG_SECONDS } from './limits.ts';
import { dolibarr } from './profiles/dolibarr.ts';
import { espocrm } from './profiles/espocrm.ts';
import { twenty } from './profiles/twenty.ts';
import { zohoLike } from './profiles/zoho-like.ts';
import { renamedKeys } from './renamed-keys.ts';

/** Included descriptions, by their name in a target's settings. The schema validates them like other descriptions. */
export const profiles: Readonly<Record<string, WrittenDescription>> = {
  dolibarr,
  espocrm,
  twenty,
  'zoho-like': zohoLike,
};

/** Settings of one target, with the complete description. */
export interface RestCrmSettings {
  baseUrl: string;
  description: CrmDescription;
  searchLagSeconds: number;
  automations: 'run' | 'suspended';
}

/** CRM-specific part of a target in the tenant file. */
export const settingsSchema: z.ZodType<RestCrmSettings> = z
  .strictObject({
    baseUrl: baseAddress.meta({
      description: "Base URL of the CRM's API.",
      examples: ['https://crm.example.com/api/v1'],
    }),
    profile: z
      .enum(Object.keys(profiles) as [string, ...string[]])
      .optional()
      .describe('Name of a shipped profile. Without a profile, `description` must be complete.'),
    description: z
      .record(z.string(), z.unknown())
      .default({})
      .describe("Description of the CRM's API, or the differences from the profile. `null` removes a part."),
    searchLagSeconds: z
      .int()
      .min(0)
      .max(3_600)
      .default(SEARCH_LAG_SECONDS)
      .describe(
        'Seconds until a search of the CRM shows a write. After a lost response the daemon waits this long, searches, and writes again only if the search finds no object.',
      ),
    automations: z
      .enum(['run', 'suspended'])
      .default('run')
      .describe(
        "Whether the CRM's workflows run on writes. During a first load the daemon suspends workflows, if the description supports suspension, and runs the workflows afterwards.",
      ),
  })
  .transform(({ baseUrl, profile, description, searchLagSeconds, automations }, context) => {
    const renamed = renamedKeys(description);
    for (const { path, spelling } of renamed) {
      const text = issueText(message('description.renamed', { spelling }));
      context.addIssue({ code: 'custom', message: text, path: ['description', ...path] });
    }
    if (renamed.length > 0) return z.NEVER;
    const base = profile === undefined ? {} : (profiles[profile] ?? {});
    const checked = descriptionSchema.safeParse(overlay(base, description), { error: allowedKeys });
    if (checked.success && (automations === 'run' || checked.data.withoutAutomations !== undefined))
      return { baseUrl, description: checked.data, searchLagSeconds, automations };
    if (checked.success) {
      context.addIssue({
        code: 'custom',
        message: issueText(message('description.automations')),
        path: ['automations'],
      });
      return z.NEVER;
    }
    for (const issue of checked.error.issues) context.addIssue({ ...issue, path: ['description', ...issue.path] });
    return z.NEVER;
  });

/** Merges one description into another: objects are merged, other values are replaced, null removes a value. */
function overlay(base: unknown, over: unknown): unknown {
  if (!isJsonObject(base) || !isJsonObject(over)) return over;
  // A template is replaced as a whole: merged bodies of two templates would be a body that no author wrote. So is another style of paging.
  const isWhole = (name: string, value: unknown) =>
    name === 'body' || (name === 'paging' && isJsonObject(value) && Object.hasOwn(value, 'style'));
  const result: JsonObject = Object.assign(newObject(), base);
  for (const [name, value] of Object.entries(over)) {
    if (value === null && name !== 'body') delete result[name];
    else result[name] = isWhole(name, value) || !Object.hasOwn(result, name) ? value : overlay(result[name], value);
  }
  return result;
}
