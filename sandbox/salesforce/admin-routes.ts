import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ADMIN_PREFIX } from '../kit/admin.ts';
import type { SalesforceSandbox } from './verbs.ts';

const accessToken = z.object({ username: z.string().optional(), scopes: z.array(z.string()).optional() });
const settings = z.strictObject({
  oldestVersion: z.int().exactOptional(),
  newestVersion: z.int().exactOptional(),
  retiredStatus: z.literal([404, 410]).exactOptional(),
  dailyApiCalls: z.int().exactOptional(),
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

/** The sandbox's verbs over HTTP, for a sandbox that runs on its own. What doesn't exist answers 404, what is refused 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => SalesforceSandbox): void {
  const doing = (method: 'POST' | 'PUT' | 'DELETE', path: string, verb: (body: unknown) => void): void => {
    app.route({
      method,
      url: `${ADMIN_PREFIX}${path}`,
      handler: (request, reply) => {
        verb(request.body);
        return reply.status(204).send();
      },
    });
  };
  app.post(`${ADMIN_PREFIX}access-tokens`, async (request) => {
    const { username, scopes } = accessToken.parse(request.body ?? {});
    return { access_token: sandbox().issueAccessToken(username, scopes) };
  });
  app.post(`${ADMIN_PREFIX}move-instance`, async (request) => {
    return { instance_url: await sandbox().moveInstance(move.parse(request.body ?? {}).old) };
  });
  doing('PUT', 'settings', (body) => sandbox().configure(settings.parse(body)));
  doing('PUT', 'field-access', (body) => {
    const { object, field, access } = fieldAccess.parse(body);
    sandbox().setFieldAccess(object, field, access);
  });
  doing('POST', 'validation-rules', (body) => sandbox().addValidationRule(validationRule.parse(body)));
  doing('POST', 'duplicate-rules', (body) => sandbox().addDuplicateRule(duplicateRule.parse(body)));
  doing('DELETE', 'rules', () => sandbox().clearRules());
  doing('POST', 'spend-api-calls', (body) => sandbox().spendApiCalls(spending.parse(body).calls));
  doing('POST', 'end-sessions', () => sandbox().endSessions());
  doing('PUT', 'refusals', (body) => {
    const { username, description } = refusal.parse(body);
    sandbox().refuseUser(username, description);
  });
  doing('DELETE', 'recycle-bin', () => sandbox().emptyRecycleBin());
  addRecordRoutes(app, sandbox);
}

function addRecordRoutes(app: FastifyInstance, sandbox: () => SalesforceSandbox): void {
  const objects = `${ADMIN_PREFIX}objects/:object/records`;
  const record = `${ADMIN_PREFIX}records/:id`;
  app.get(objects, async (request) => {
    return { items: sandbox().records(ofObject.parse(request.params).object, binToo.parse(request.query)) };
  });
  app.post(objects, async (request) => {
    return sandbox().addByHand(ofObject.parse(request.params).object, anyObject.parse(request.body));
  });
  app.patch(record, async (request) => {
    return sandbox().editByHand(ofRecord.parse(request.params).id, anyObject.parse(request.body));
  });
  app.delete(record, (request, reply) => {
    sandbox().deleteByHand(ofRecord.parse(request.params).id);
    return reply.status(204).send();
  });
  app.post(`${record}/undelete`, (request, reply) => {
    sandbox().undelete(ofRecord.parse(request.params).id);
    return reply.status(204).send();
  });
  app.post(`${record}/merge`, async (request) => {
    const { losers, fields } = merging.parse(request.body);
    return sandbox().merge(ofRecord.parse(request.params).id, losers, fields);
  });
}
