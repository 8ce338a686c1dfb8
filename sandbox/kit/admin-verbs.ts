import type { FastifyInstance } from 'fastify';
import { ADMIN_PREFIX } from './admin.ts';

/** Input of a verb over HTTP; the verb validates the shapes. */
export interface VerbRequest {
  /** Parsed JSON; an empty object without a body. */
  body: unknown;
  /** What the pattern of the path names, decoded. */
  params: unknown;
  query: unknown;
}

/** What happens at a method and path below `/__sandbox/`, such as `POST calendars/:calendarId/events`. */
export type AdminVerbs = Readonly<Record<`${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`, Verb>>;
type Verb = (request: VerbRequest) => unknown;

/** Adds a sandbox's verbs over HTTP, for one that runs on its own. Answers what a verb returns, or 204; where it throws, 500. */
export function addAdminVerbs(app: FastifyInstance, verbs: AdminVerbs): void {
  for (const [name, verb] of Object.entries(verbs)) {
    const [method = '', path = ''] = name.split(' ');
    app.route({
      method,
      url: `${ADMIN_PREFIX}${path}`,
      handler: async ({ body, params, query }, reply) => {
        const answer = await verb({ body: body ?? {}, params, query });
        return answer === undefined ? reply.status(204).send() : answer;
      },
    });
  }
}
