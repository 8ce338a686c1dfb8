import { z } from 'zod';
import { maySee } from '../../core/model/acts.ts';
import { FEED_CONNECTOR } from '../../core/model/feeds.ts';
import { id, tenant } from '../../core/model/schemas.ts';
import { requireTenant } from '../../operator/control/installation.ts';
import { type OperationContext, operation } from '../../operator/operations/operation.ts';
import { feedView } from './schemas.ts';

const ofFeed = z.strictObject({ tenant, target: id });

/** Returns the target of an action, or null if the target is not a feed. */
async function feedOf(input: z.output<typeof ofFeed>, { services }: OperationContext) {
  const { id, targets } = requireTenant(services.installation, input.tenant);
  const isFeed = targets.get(input.target)?.configuration.connector === FEED_CONNECTOR;
  return { tenant: id, what: { target: isFeed ? input.target : null } };
}

/** Operations on feeds. */
export const FEED_OPERATIONS = {
  listFeeds: operation({
    summary: 'list feeds with URL creation and last fetch',
    level: 'viewer',
    input: z.strictObject({ tenant: tenant.optional() }),
    output: z.object({
      feeds: z.array(feedView),
    }),
    http: { method: 'GET', path: '/feeds', ofTenant: 'listFeedsOfTenant' },
    commands: [{ words: 'feeds list [tenant]', isDefault: true }],
    async run({ tenant }, { services, rights }) {
      const { listFeeds } = await import('./feeds.ts');
      const feeds = await listFeeds(services.installation, tenant);
      return { feeds: feeds.filter((each) => maySee(rights, each.tenant)) };
    },
  }),
  rotateFeed: operation({
    summary: 'create a new URL for a feed and revoke the old URL; shown only once',
    level: 'operator',
    input: ofFeed,
    output: z.object({ url: z.string(), hadOne: z.boolean() }),
    // The URL grants access to the calendar, so only the operator's terminal shows the URL.
    http: null,
    commands: [{ words: 'feeds rotate <tenant> <target>' }],
    audit: async (input, context) => ({ verb: 'rotate-feed', ...(await feedOf(input, context)) }),
    async run({ tenant, target }, { services: { installation, publicUrl } }) {
      const { rotateFeed } = await import('./feeds.ts');
      return rotateFeed(installation, tenant, target, publicUrl);
    },
    auditResult: ({ hadOne }) => ({ hadOne }),
  }),
  withdrawFeed: operation({
    summary: 'revoke the URL of a feed',
    level: 'operator',
    input: ofFeed,
    output: z.object({ target: z.string(), hadOne: z.boolean() }),
    http: { method: 'POST', path: '/tenants/{tenant}/feeds/{target}/withdraw' },
    commands: [{ words: 'feeds withdraw <tenant> <target>' }],
    audit: async (input, context) => ({ verb: 'withdraw-feed', ...(await feedOf(input, context)) }),
    async run({ tenant, target }, { services }) {
      const { withdrawFeed } = await import('./feeds.ts');
      return { target, ...(await withdrawFeed(services.installation, tenant, target)) };
    },
    auditResult: ({ hadOne }) => ({ hadOne }),
  }),
};
