import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { addAdminVerbs } from '../kit/admin-verbs.ts';
import type { RestCrmSandbox } from './types.ts';

const settings = z.strictObject({
  requestsPerMinute: z.number().positive().exactOptional(),
  searchLagMs: z.number().min(0).exactOptional(),
  notWritable: z.array(z.string()).exactOptional(),
  emptyListIs404: z.boolean().exactOptional(),
});
const ofKind = z.object({ kind: z.string() });
const ofRecord = ofKind.extend({ id: z.string() });
const values = z.record(z.string(), z.unknown());

/** Adds the sandbox's control functions as HTTP endpoints, for a sandbox in a separate process. An unknown object is answered with 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => RestCrmSandbox): void {
  addAdminVerbs(app, {
    'PUT settings': ({ body }) => sandbox().configure(settings.parse(body)),
    'GET objects/:kind/records': ({ params }) => ({ items: sandbox().records(ofKind.parse(params).kind) }),
    'POST objects/:kind/records': ({ params, body }) =>
      sandbox().addByHand(ofKind.parse(params).kind, values.parse(body)),
    'PATCH objects/:kind/records/:id': ({ params, body }) => {
      const { kind, id } = ofRecord.parse(params);
      sandbox().editByHand(kind, id, values.parse(body));
    },
    'POST objects/:kind/records/:id/duplicate': ({ params }) => {
      const { kind, id } = ofRecord.parse(params);
      return sandbox().duplicateByHand(kind, id);
    },
    'DELETE objects/:kind/records/:id': ({ params }) => {
      const { kind, id } = ofRecord.parse(params);
      sandbox().deleteByHand(kind, id);
    },
  });
}
