import { z } from 'zod';
import { maySee } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { HOLD_KINDS } from '../../core/model/plan.ts';
import { id, instant, pageOfItems, paging, tenant } from '../../core/model/schemas.ts';
import { message } from '../../messages/message.ts';
import { operation } from '../../operator/operations/operation.ts';
import type { TenantHold } from './holds.ts';
import { usualChanges } from './usual.ts';

/** An administrator may select many ids of a hold. */
const DECISION_LIMIT_BYTES = 4_194_304;

const hold = z.object({
  id: z.string(),
  tenant: z.string(),
  target: z.string(),
  kind: z.enum(HOLD_KINDS),
  state: z.enum(['open', 'approved', 'rejected']),
  partOf: z.string().nullable().describe('For a partly decided hold: id of the original hold'),
  items: z.number().describe('Number of records'),
  seen: z
    .string()
    .describe('Code for the current content of the hold; changes with the content. Pass this code with your decision'),
  linkCount: z.number().describe('Number of links of the target when the hold began'),
  limit: z
    .object({ count: z.number(), share: z.number() })
    .nullable()
    .describe('Number and share (0 to 1) of the objects above which such changes are held; null for other kinds'),
  exceededIn: z.string().describe('Target that exceeded the limit; the same read concerns the target of the hold'),
  createdAt: instant,
  decidedAt: instant.nullable(),
  expiresAt: instant,
});

const listedHold = hold.extend({
  usual: usualChanges
    .nullable()
    .describe(
      'Usual number of such changes in this target; null for a decided hold, and for kinds that are not counted',
    ),
});

function shown<Shown extends TenantHold>({ recordIds, partOf, content, exceededIn, ...others }: Shown) {
  return { ...others, partOf: partOf ?? null, items: recordIds.length, exceededIn: exceededIn ?? others.target };
}

/** Operations on holds. */
export const HOLD_OPERATIONS = {
  listHolds: operation({
    summary: 'list holds of every tenant, by tenant and id',
    level: 'viewer',
    input: z.strictObject({ tenant: tenant.optional(), ...paging }),
    output: pageOfItems(listedHold),
    http: { method: 'GET', path: '/holds', ofTenant: 'listHoldsOfTenant' },
    commands: [{ words: 'holds list [tenant]', about: 'list holds, open holds first' }],
    async run({ tenant, ...page }, { services: { installation }, rights }) {
      const [{ listHolds }, { pageOf }] = await Promise.all([
        import('./holds.ts'),
        import('../../operator/control/paging.ts'),
      ]);
      const holds = (await listHolds(installation, tenant)).filter((each) => maySee(rights, each.tenant)).map(shown);
      return pageOf(holds, page, ({ tenant, id }) => `${tenant}/${id}`);
    },
    assistants: [
      {
        name: 'holds',
        about: 'Removals and other changes that wait for approval',
        output: z.object({
          holds: z.array(
            hold
              .pick({ tenant: true, target: true, id: true, kind: true, state: true, createdAt: true, expiresAt: true })
              .extend({ changes: z.number() }),
          ),
        }),
        of: ({ items }) => ({ holds: items.map((each) => ({ ...each, changes: each.items })) }),
      },
    ],
  }),
  readHold: operation({
    summary: 'list the record ids of a hold',
    level: 'viewer',
    input: z.strictObject({ tenant, hold: id, ...paging }),
    output: z.object({ hold: listedHold, records: z.array(z.string()), next: z.string().nullable() }),
    http: { method: 'GET', path: '/tenants/{tenant}/holds/{hold}' },
    commands: [{ words: 'holds records <tenant> <hold>' }],
    async run({ tenant, hold, ...page }, { services: { installation } }) {
      const [{ listHolds }, { pageOf }] = await Promise.all([
        import('./holds.ts'),
        import('../../operator/control/paging.ts'),
      ]);
      const found = (await listHolds(installation, tenant)).find((each) => each.id === hold);
      if (found === undefined) throw noSuchHold(tenant);
      const { items, next } = pageOf(found.recordIds, page, (recordId) => recordId);
      return { hold: shown(found), records: items, next };
    },
  }),
  decideHold: operation({
    summary:
      'approve or reject a hold, completely or in part; dual control requires the same decision by a second administrator',
    level: 'operator',
    input: z.strictObject({
      tenant,
      hold: id,
      decision: z.enum(['approved', 'rejected']),
      seen: z.string().nullable().default(null).describe('Decide only if the hold still has this code'),
      only: z
        .array(z.string())
        .nullable()
        .default(null)
        .describe('Decide only these records, the other records wait; only for the kinds `cancelled` and `vanished`'),
    }),
    output: z.object({ hold, effectiveAt: instant }),
    http: { method: 'POST', path: '/tenants/{tenant}/holds/{hold}/decision', bodyLimit: DECISION_LIMIT_BYTES },
    commands: (
      [
        { verb: 'approve', decision: 'approved', about: 'carry out what the hold keeps back' },
        { verb: 'reject', decision: 'rejected', about: 'keep the objects, and send nothing' },
      ] as const
    ).map(({ verb, decision, about }) => ({
      words: `holds ${verb} <tenant> <hold>`,
      about,
      fixed: { decision },
      options: {
        seen: { flags: '--seen <code>', about: 'decide only if the hold still has this code, from the list of holds' },
        only: {
          flags: '--only <file>',
          about: 'decide only the records in this file, one id per line',
          fromFile: idsIn,
        },
      },
    })),
    audit: 'itself',
    async run({ tenant, hold: id, decision, seen, only }, { services: { installation }, acting }) {
      const { decideHold } = await import('./decide.ts');
      const choice = { seen, only: only === null ? null : new Set(only) };
      const { hold, effectiveAt } = await decideHold(acting, installation, { tenant, hold: id, decision }, choice);
      return { hold: shown(hold), effectiveAt };
    },
  }),
};

/** Returns ids, one per line. */
function idsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}

function noSuchHold(tenant: string): MirrorError {
  return new MirrorError(message('no-such-hold.of-tenant'), {
    actor: 'settings',
    code: 'no-such-hold',
    retry: 'never',
    remedy: message('no-such-hold.of-tenant.remedy', { tenant }),
  });
}
