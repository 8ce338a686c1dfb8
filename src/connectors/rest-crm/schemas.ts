import { z } from 'zod';
import { issueText, message } from '../../messages/message.ts';
import { allowedKeys, baseAddress } from '../../settings/common-schemas.ts';
import { type CrmDescription, descriptionSchema, type WrittenDescription } from './description.ts';
import { SEARCH_LAG_SECONDS } from './limits.ts';
import { dolibarr } from './profiles/dolibarr.ts';
import { espocrm } from './profiles/espocrm.ts';
import { twenty } from './profiles/twenty.ts';
import { zohoLike } from './profiles/zoho-like.ts';
import { isObject, type JsonObject, newObject } from './templates.ts';

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
  automations: 'run' | 'held';
}

/** CRM-specific part of a target in the tenant file. */
export const settingsSchema: z.ZodType<RestCrmSettings> = z
  .strictObject({
    baseUrl: baseAddress.describe("Where the CRM's API begins, such as https://crm.example.com/api/v1"),
    profile: z
      .enum(Object.keys(profiles) as [string, ...string[]])
      .optional()
      .describe('A description that comes with the program; without one, description is the whole'),
    description: z
      .record(z.string(), z.unknown())
      .default({})
      .describe("How the CRM's API is called, or what is otherwise than in the profile; null takes a part away"),
    searchLagSeconds: z
      .int()
      .min(0)
      .max(3_600)
      .default(SEARCH_LAG_SECONDS)
      .describe(
        'How late a search of this CRM may show what was written: a write whose answer was lost is looked for, and sent again, only after it',
      ),
    automations: z
      .enum(['run', 'held'])
      .default('run')
      .describe(
        "Whether the CRM's workflows run on what is written; held for a first load, where the description says how, and run after it",
      ),
  })
  .transform(({ baseUrl, profile, description, searchLagSeconds, automations }, context) => {
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
  if (!isObject(base) || !isObject(over)) return over;
  // A template is replaced as a whole: merged bodies of two templates would be a body that no author wrote.
  const result: JsonObject = Object.assign(newObject(), base);
  for (const [name, value] of Object.entries(over)) {
    if (value === null && name !== 'body') delete result[name];
    else
      result[name] =
        name === 'body' || name === 'paging' || !Object.hasOwn(result, name) ? value : overlay(result[name], value);
  }
  return result;
}
