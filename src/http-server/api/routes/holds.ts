import { z } from 'zod';
import { decideHold } from '../../../control/acts.ts';
import { listHolds, type TenantHold } from '../../../control/holds.ts';
import type { Installation } from '../../../control/installation.ts';
import { pageOf } from '../../../control/paging.ts';
import { MirrorError } from '../../../model/errors.ts';
import { HOLD_KINDS } from '../../../model/plan.ts';
import { maySee } from '../../visitors.ts';
import { paged, pageOfItems, type Route, route, withReason } from '../route.ts';
import { instant } from '../schemas/common.ts';

/** Ids of the items that a person chose may be many. */
const DECISION_LIMIT_BYTES = 4_194_304;

const hold = z.object({
  id: z.string(),
  tenant: z.string(),
  target: z.string(),
  kind: z.enum(HOLD_KINDS),
  state: z.enum(['open', 'approved', 'rejected']),
  partOf: z.string().nullable().describe('The hold of which this is a part that was decided'),
  items: z.number().describe('Records in it'),
  seen: z
    .string()
    .describe('Names what it keeps back; another one as soon as that changes. Give it with your decision'),
  linkCount: z.number().describe('Links of the target when it was held'),
  createdAt: instant,
  decidedAt: instant.nullable(),
  expiresAt: instant,
});

const choice = withReason.extend({
  decision: z.enum(['approved', 'rejected']),
  seen: z.string().nullable().default(null).describe('Only if it still keeps back what you saw'),
  only: z
    .array(z.string())
    .nullable()
    .default(null)
    .describe('Only these records; the others go on waiting. Of the kinds `cancelled` and `vanished`'),
});

/** What was held back, and a person's word about it. */
export const HOLD_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/holds',
    name: 'listHolds',
    summary: 'Holds of all tenants, by tenant and id',
    level: 'viewer',
    query: paged,
    reply: pageOfItems(hold),
    async handle({ desk, visitor, query }) {
      const all = await listHolds(desk.installation);
      const seen = all.filter(({ tenant }) => maySee(visitor, tenant));
      return withShown(pageOf(seen, query, ({ tenant, id }) => `${tenant}/${id}`));
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/holds',
    name: 'listHoldsOfTenant',
    summary: 'Holds of a tenant, by id',
    level: 'viewer',
    query: paged,
    reply: pageOfItems(hold),
    handle: async ({ desk, params, query }) =>
      withShown(pageOf(await listHolds(desk.installation, params.tenant), query, ({ id }) => id)),
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/holds/{hold}',
    name: 'readHold',
    summary: 'A hold with the ids of its records, in pages',
    level: 'viewer',
    query: paged,
    reply: z.object({ hold, records: z.array(z.string()), next: z.string().nullable() }),
    async handle({ desk, params, query }) {
      const found = await requireHold(desk.installation, params);
      const { items, next } = pageOf(found.recordIds, query, (recordId) => recordId);
      return { hold: shown(found), records: items, next };
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/holds/{hold}/decision',
    name: 'decideHold',
    summary:
      'Approve or reject a hold, whole or in part. A second person may have to want the same: 409 with the code second-person-needed',
    level: 'operator',
    body: choice,
    bodyLimit: DECISION_LIMIT_BYTES,
    reply: z.object({ hold, effectiveAt: instant }),
    async handle({ acting, desk, params, body: { decision, seen, only } }) {
      const choice = { seen, only: only === null ? null : new Set(only) };
      const decided = await decideHold(acting, desk.installation, params.tenant, params.hold, decision, choice);
      return { ...decided, hold: shown(decided.hold) };
    },
  }),
];

function shown({ recordIds, partOf, content, ...others }: TenantHold) {
  return { ...others, partOf: partOf ?? null, items: recordIds.length };
}

function withShown({ items, next }: { items: TenantHold[]; next: string | null }) {
  return { items: items.map(shown), next };
}

async function requireHold(
  installation: Installation,
  { tenant, hold: id }: { tenant: string; hold: string },
): Promise<TenantHold> {
  const found = (await listHolds(installation, tenant)).find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new MirrorError('there is no hold of that id', {
    actor: 'settings',
    code: 'no-such-hold',
    retry: 'never',
    remedy: `GET /api/v1/tenants/${tenant}/holds lists them`,
  });
}
