import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ADMIN_PREFIX } from '../kit/admin.ts';
import { OBJECT_TYPES } from './object-types.ts';
import type { HubSpotSandbox } from './verbs.ts';

const objectName = z.enum(OBJECT_TYPES.map(({ name }) => name));
const values = z.record(z.string(), z.string());
const accessToken = z.strictObject({
  kind: z.enum(['oauth', 'private']).default('private'),
  scopes: z.array(z.string()).exactOptional(),
});
const settings = z.strictObject({
  timeZone: z.string().exactOptional(),
  tenSecondlyOAuth: z.number().exactOptional(),
  tenSecondlyPrivate: z.number().exactOptional(),
  dailyPrivate: z.number().exactOptional(),
  dailyOAuth: z.number().exactOptional(),
  searchesPerSecond: z.number().exactOptional(),
  retryAfterOn429: z.boolean().exactOptional(),
  rowsBeforeLock: z.number().exactOptional(),
  searchLagMs: z.number().exactOptional(),
  searchDepth: z.int().exactOptional(),
  rowErrors: z.enum(['traced', 'never']).exactOptional(),
  shuffleRows: z.boolean().exactOptional(),
  mergedKeys: z.enum(['nothing', 'winner']).exactOptional(),
  sensitiveData: z.boolean().exactOptional(),
  accessTokenLifetimeMs: z.number().exactOptional(),
  rotateRefreshTokens: z.boolean().exactOptional(),
  oauthErrors: z.enum(['standard', 'vendor']).exactOptional(),
});
const atObject = z.object({ object: objectName });
const atRecord = atObject.extend({ id: z.string() });
const archivedToo = z.object({ archived: z.stringbool().default(false) });
const merging = z.strictObject({ primary: z.string(), other: z.string() });
const length = z.strictObject({ lengthMs: z.number().positive() });

/** The sandbox's verbs over HTTP, for a sandbox that runs on its own. What doesn't exist answers 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => HubSpotSandbox): void {
  app.post(`${ADMIN_PREFIX}access-tokens`, async (request) => {
    const { kind, scopes } = accessToken.parse(request.body ?? {});
    const isOAuth = kind === 'oauth';
    const token = isOAuth
      ? sandbox().issueAccessToken(scopes === undefined ? {} : { scopes })
      : sandbox().issuePrivateToken(scopes);
    return { access_token: token };
  });
  app.put(`${ADMIN_PREFIX}settings`, (request, reply) => {
    sandbox().configure(settings.parse(request.body));
    return reply.status(204).send();
  });
  app.post(`${ADMIN_PREFIX}expire-access-tokens`, (_request, reply) => {
    sandbox().expireAccessTokens();
    return reply.status(204).send();
  });
  app.post(`${ADMIN_PREFIX}uninstall`, (_request, reply) => {
    sandbox().uninstall();
    return reply.status(204).send();
  });
  app.post(`${ADMIN_PREFIX}migrate`, (request, reply) => {
    sandbox().migrate(length.parse(request.body).lengthMs);
    return reply.status(204).send();
  });
  addRecordRoutes(app, sandbox);
}

function addRecordRoutes(app: FastifyInstance, sandbox: () => HubSpotSandbox): void {
  const objects = `${ADMIN_PREFIX}objects/:object`;
  const record = `${objects}/records/:id`;
  app.get(`${objects}/records`, async (request) => {
    const { object } = atObject.parse(request.params);
    return { items: sandbox().records(object, archivedToo.parse(request.query)) };
  });
  app.post(`${objects}/records`, async (request) => ({
    id: sandbox().add(atObject.parse(request.params).object, values.parse(request.body)),
  }));
  app.post(`${objects}/merge`, async (request) => {
    const { primary, other } = merging.parse(request.body);
    return { id: sandbox().merge(atObject.parse(request.params).object, primary, other) };
  });
  app.post(`${objects}/lock`, (request, reply) => {
    sandbox().lock(atObject.parse(request.params).object, length.parse(request.body).lengthMs);
    return reply.status(204).send();
  });
  app.patch(record, (request, reply) => {
    const { object, id } = atRecord.parse(request.params);
    sandbox().edit(object, id, values.parse(request.body));
    return reply.status(204).send();
  });
  app.delete(record, (request, reply) => {
    const { object, id } = atRecord.parse(request.params);
    sandbox().archive(object, id);
    return reply.status(204).send();
  });
  app.post(`${record}/restore`, (request, reply) => {
    const { object, id } = atRecord.parse(request.params);
    sandbox().restore(object, id);
    return reply.status(204).send();
  });
  app.delete(`${objects}/properties/:id`, (request, reply) => {
    const { object, id } = atRecord.parse(request.params);
    sandbox().removeProperty(object, id);
    return reply.status(204).send();
  });
}
