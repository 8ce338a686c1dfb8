import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { addAdminVerbs } from '../kit/admin-verbs.ts';
import type { SalesforceSandbox } from './verbs.ts';

const accessToken = z.object({ username: z.string().optional(), scopes: z.array(z.string()).optional() });
const settings = z.strictObject({
  oldestVersion: z.int().exactOptional(),
  newestVersion: z.int().exactOptional(),
  keepsBin: z.boolean().exactOptional(),
  retiredStatus: z.literal([404, 410]).exactOptional(),
  dailyApiCalls: z.int().exactOptional(),
  concurrentCalls: z.int().exactOptional(),
  writeMs: z.number().exactOptional(),
  queryPageSize: z.int().min(1).exactOptional(),
  binKeepsKeys: z.boolean().exactOptional(),
  lowercaseEmails: z.boolean().exactOptional(),
  sessionTimeoutMs: z.number().exactOptional(),
  grantsPerUser: z.int().exactOptional(),
});
const fieldAccess = z.object({ object: z.string(), field: z.string(), access: z.enum(['edit', 'read', 'hidden']) });
const validationRule = z.object({ object: z.string(), field: z.string(), refuses: z.string(), message: z.string() });
const duplicateRule = z.object({
  object: z.string(),
  fields: z.array(z.string()).min(1),
  action: z.enum(['alert', 'block']),
});
const move = z.object({ old: z.enum(['unauthorized', 'redirect', 'closed']).optional() });
const spending = z.object({ calls: z.int().min(0) });
const refusal = z.object({ username: z.string(), description: z.string().optional() });
const anyObject = z.record(z.string(), z.unknown());
const merging = z.object({ losers: z.array(z.string()).min(1), fields: anyObject.default({}) });
const ofObject = z.object({ object: z.string() });
const ofRecord = z.object({ id: z.string() });
const binToo = z.object({ includeDeleted: z.stringbool().default(false) });

/**
 * Serves the sandbox's verbs over HTTP, for a sandbox that runs in a separate process. Unknown names and ids answer 404, refused actions
 * 500.
 */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => SalesforceSandbox): void {
  addAdminVerbs(app, {
    'POST access-tokens': ({ body }) => {
      const { username, scopes } = accessToken.parse(body);
      return { access_token: sandbox().issueAccessToken(username, scopes) };
    },
    'POST move-instance': async ({ body }) => ({ instance_url: await sandbox().moveInstance(move.parse(body).old) }),
    'PUT settings': ({ body }) => sandbox().configure(settings.parse(body)),
    'PUT field-access': ({ body }) => {
      const { object, field, access } = fieldAccess.parse(body);
      sandbox().setFieldAccess(object, field, access);
    },
    'POST validation-rules': ({ body }) => sandbox().addValidationRule(validationRule.parse(body)),
    'POST duplicate-rules': ({ body }) => sandbox().addDuplicateRule(duplicateRule.parse(body)),
    'DELETE rules': () => sandbox().clearRules(),
    'POST spend-api-calls': ({ body }) => sandbox().spendApiCalls(spending.parse(body).calls),
    'POST end-sessions': () => sandbox().endSessions(),
    'PUT refusals': ({ body }) => {
      const { username, description } = refusal.parse(body);
      sandbox().refuseUser(username, description);
    },
    'DELETE recycle-bin': () => sandbox().emptyRecycleBin(),
    'GET objects/:object/records': ({ params, query }) => {
      return { items: sandbox().records(ofObject.parse(params).object, binToo.parse(query)) };
    },
    'POST objects/:object/records': ({ params, body }) =>
      sandbox().addByHand(ofObject.parse(params).object, anyObject.parse(body)),
    'PATCH records/:id': ({ params, body }) => sandbox().editByHand(ofRecord.parse(params).id, anyObject.parse(body)),
    'DELETE records/:id': ({ params }) => sandbox().deleteByHand(ofRecord.parse(params).id),
    'POST records/:id/undelete': ({ params }) => sandbox().undelete(ofRecord.parse(params).id),
    'POST records/:id/merge': ({ params, body }) => {
      const { losers, fields } = merging.parse(body);
      return sandbox().merge(ofRecord.parse(params).id, losers, fields);
    },
  });
}
