import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { addAdminVerbs } from '../kit/admin-verbs.ts';
import type { SmsSandbox } from './types.ts';

const wanted = z.object({ to: z.string().optional() });
const atMessage = z.object({ sid: z.string() });
const change = z.strictObject({
  status: z.enum(['queued', 'sent', 'delivered', 'undelivered', 'failed']),
  errorCode: z.int().exactOptional(),
});
const incoming = z.strictObject({ from: z.string(), text: z.string(), address: z.url() });

/** The sandbox's verbs over HTTP, for a sandbox that runs on its own. An unknown message answers 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => SmsSandbox): void {
  addAdminVerbs(app, {
    'GET messages': ({ query }) => ({ items: sandbox().messages(wanted.parse(query).to) }),
    'DELETE messages': () => sandbox().clear(),
    // Sends the status report where the message asked for one.
    'POST messages/:sid/status': async ({ params, body }) => {
      const { status, errorCode } = change.parse(body);
      const report = sandbox().report(atMessage.parse(params).sid, status, errorCode);
      return { answered: report && (await sandbox().post(report)) };
    },
    'POST replies': async ({ body }) => {
      const { from, text, address } = incoming.parse(body);
      return { answered: await sandbox().post(sandbox().reply(from, text, address)) };
    },
  });
}
