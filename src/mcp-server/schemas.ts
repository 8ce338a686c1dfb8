import { z } from 'zod';

const tenant = z.string().describe('Id of a clinic in the configuration');
const target = z.string().describe('Id of a target of the clinic');
const at = z.iso.datetime().nullable();
const count = z.number().int();
const counts = z.record(z.string(), count);

/** What most tools are asked with. */
export const oneTenant = { tenant: tenant.optional().describe('Id of a clinic; all of them when left out') };
/** What `explain` is asked with. */
export const explainInput = {
  tenant,
  appointment: z.string().min(1).max(200).describe("The appointment's id in the clinic system"),
};
/** What `health` is asked with. */
export const healthInput = { tenant, target: target.optional().describe('Id of a target; all of them when left out') };

const axes = { inStep: z.string(), canGoOn: z.string() };
const firstSync = z
  .object({ written: count, of: count.nullable() })
  .nullable()
  .describe('With first-sync: how many objects stand there, and of how many');
const standing = { ...axes, inSyncAsOf: at, firstSync, pending: count, failing: count, held: count };
const targetStatus = z.object({
  ...{ target, connector: z.string(), state: z.string(), ...standing, code: z.string().nullable() },
});

/** Answer of `status`. */
export const status = {
  at: z.iso.datetime(),
  clinics: z.array(
    z.object({
      ...{ tenant, paused: z.boolean(), ...standing, lastCycleAt: at },
      ...{ targets: z.array(targetStatus), problems: count },
    }),
  ),
};

/** Answer of `problems`. */
export const problems = {
  at: z.iso.datetime(),
  problems: z.array(
    z.object({
      tenant: tenant.nullable().describe('Null for what concerns all clinics'),
      ...{ subject: z.string(), code: z.string(), sentence: z.string(), waiting: count },
      needs: z.enum(['person', 'time']).describe('Who ends it'),
      sinceAt: at,
      breaksAt: at.describe('When it begins to do harm, where it does not yet'),
      nextTryAt: at.describe('When it is tried again by itself'),
      next: z.string().nullable().describe('What a person does next'),
      clinics: z
        .array(z.object({ tenant, waiting: count }))
        .optional()
        .describe('Of one that several clinics may share: which ones'),
      stands: z.object(axes).nullable().describe('Where the clinic stands, all targets together'),
    }),
  ),
};

/** Answer of `explain`. */
export const explain = {
  tenant,
  appointment: z.string(),
  source: z.object({ state: z.string(), status: z.string().nullable(), code: z.string().nullable() }),
  targets: z.array(
    z.object({
      ...{ target, connector: z.string(), shown: z.boolean(), because: z.string(), isThere: z.boolean() },
      byHand: z.string().nullable().describe('What somebody did to the entry by hand'),
      pending: z
        .object({ reason: z.string(), want: z.string(), attempts: count, lastError: z.string().nullable(), dueAt: at })
        .nullable(),
      holds: z.array(z.string()),
      failure: z.string().nullable(),
    }),
  ),
};

/** Answer of `holds`. */
export const holds = {
  holds: z.array(
    z.object({
      ...{ tenant, target, id: z.string(), kind: z.string(), state: z.string(), changes: count },
      ...{ createdAt: at, expiresAt: at },
    }),
  ),
};

/** Answer of `health`. */
export const health = {
  tenant,
  asOf: z.iso.datetime(),
  targets: z.array(
    z.object({
      ...{ target, connector: z.string(), stream: z.string(), inSync: count, pending: count, held: count },
      ...{ changedByHand: count, excluded: counts, failing: counts, unread: z.string().nullable() },
    }),
  ),
};

/** Answer of `runs`. */
export const runs = {
  runs: z.array(z.object({ tenant, run: z.string(), at, updated: count, deleted: count })),
};
