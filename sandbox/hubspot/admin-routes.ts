import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AdminVerbs, addAdminVerbs } from '../kit/admin-verbs.ts';
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
  rowErrors: z.enum(['traced', 'created', 'never']).exactOptional(),
  meetingKeys: z.enum(['refused', 'unenforced', 'unique']).exactOptional(),
  editAssociations: z.boolean().exactOptional(),
  dataPrivacy: z.boolean().exactOptional(),
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

/** Serves the sandbox's verbs over HTTP, for a sandbox that runs in a separate process. Unknown names and ids answer 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => HubSpotSandbox): void {
  addAdminVerbs(app, {
    'POST access-tokens': ({ body }) => {
      const { kind, scopes } = accessToken.parse(body);
      const ofOAuth = (): string => sandbox().issueAccessToken(scopes === undefined ? {} : { scopes });
      return { access_token: kind === 'oauth' ? ofOAuth() : sandbox().issuePrivateToken(scopes) };
    },
    'PUT settings': ({ body }) => sandbox().configure(settings.parse(body)),
    'POST expire-access-tokens': () => sandbox().expireAccessTokens(),
    'POST uninstall': () => sandbox().uninstall(),
    'POST migrate': ({ body }) => sandbox().migrate(length.parse(body).lengthMs),
    ...recordVerbs(sandbox),
  });
}

function recordVerbs(sandbox: () => HubSpotSandbox): AdminVerbs {
  const objects = 'objects/:object';
  const record = 'objects/:object/records/:id';
  return {
    [`GET ${objects}/records`]: ({ params, query }) => {
      return { items: sandbox().records(atObject.parse(params).object, archivedToo.parse(query)) };
    },
    [`POST ${objects}/records`]: ({ params, body }) => {
      return { id: sandbox().add(atObject.parse(params).object, values.parse(body)) };
    },
    [`POST ${objects}/merge`]: ({ params, body }) => {
      const { primary, other } = merging.parse(body);
      return { id: sandbox().merge(atObject.parse(params).object, primary, other) };
    },
    [`POST ${objects}/lock`]: ({ params, body }) =>
      sandbox().lock(atObject.parse(params).object, length.parse(body).lengthMs),
    [`PATCH ${record}`]: ({ params, body }) => {
      const { object, id } = atRecord.parse(params);
      sandbox().edit(object, id, values.parse(body));
    },
    [`DELETE ${record}`]: ({ params }) => {
      const { object, id } = atRecord.parse(params);
      sandbox().archive(object, id);
    },
    [`POST ${record}/restore`]: ({ params }) => {
      const { object, id } = atRecord.parse(params);
      sandbox().restore(object, id);
    },
    [`DELETE ${objects}/properties/:id`]: ({ params }) => {
      const { object, id } = atRecord.parse(params);
      sandbox().removeProperty(object, id);
    },
  };
}
