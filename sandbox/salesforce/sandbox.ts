import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendAnswer } from '../kit/answer.ts';
import { createApp } from '../kit/app.ts';
import { SandboxKit } from '../kit/kit.ts';
import { listen } from '../kit/listen.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { answerRequest, DATA_PATH, versions } from './api.ts';
import { COMPOSITE_PATH } from './composite.ts';
import type { ApiParts } from './dispatch.ts';
import { bodyOfStatus } from './errors.ts';
import { Instance } from './instance.ts';
import { oauthErrorBody, salesforceOAuth } from './oauth.ts';
import { addOAuthRoutes } from './oauth-routes.ts';
import { type SalesforceSandboxOptions, toSettings } from './options.ts';
import { QueryRoutes } from './query-routes.ts';
import { routes } from './routes.ts';
import { addSoapRoutes } from './soap-routes.ts';
import { Usage } from './usage.ts';
import { type SalesforceSandbox, toVerbs } from './verbs.ts';
import { World } from './world.ts';

/** Far above the largest expected body (200 rows of 2,000 characters). */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;
/** The HTTP server accepts a URL that is too long, so that the sandbox can refuse the URL with the vendor's error body. */
const MAX_HEADER_BYTES = 128 * 1024;

/** Starts the sandbox on loopback. Throws if the port is in use, or if a custom field is invalid. */
export async function startSalesforceSandbox(options: SalesforceSandboxOptions = {}): Promise<SalesforceSandbox> {
  const settings = toSettings(options);
  const kit = new SandboxKit({
    seed: settings.seed,
    clientOf: ({ headers }): string | undefined => oauth.findSession(headers.authorization)?.account,
    faultBody: (status, path) =>
      path.startsWith(DATA_PATH)
        ? bodyOfStatus(status)
        : oauthErrorBody({ error: 'unknown_error', description: 'retry your request' }),
  });
  const world = new World(settings, kit.counts, kit.faults);
  const usage = new Usage(world);
  const queries = new QueryRoutes();
  const app = createApp({
    bodyLimitBytes: BODY_LIMIT_BYTES,
    maxHeaderBytes: MAX_HEADER_BYTES,
    ignoreTrailingSlash: true,
  });
  const instance = new Instance((request, response) => app.routing(request, response));
  const oauth = salesforceOAuth(world, instance);
  const api = { world, oauth, usage, routes: routes(queries, usage) };
  kit.install(app);
  addOAuthRoutes(app, oauth, world);
  addSoapRoutes(app, oauth, world);
  addApiRoutes(app, api, instance);
  addAdminRoutes(app, () => sandbox);
  const server = await listen(app, settings.port);
  const sandbox = toVerbs({ server, kit, world, oauth, usage, queries, instance });
  return sandbox;
}

/** Adds each call of the API as a separate route, so that the counts distinguish the calls. */
function addApiRoutes(app: FastifyInstance, api: ApiParts, instance: Instance): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    answer(api, instance, request, reply);
  app.get(DATA_PATH, (_request, reply) => reply.send(versions(api.world)));
  for (const { method, path } of api.routes) {
    app.route({ method, url: `${DATA_PATH}/:version${path}`, handler });
  }
  app.post(`${DATA_PATH}/:version${COMPOSITE_PATH}`, handler);
  app.setNotFoundHandler(handler);
}

async function answer(
  api: ApiParts,
  instance: Instance,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { method, url, headers } = request;
  switch (instance.metAt(request.raw.socket.localPort)) {
    case 'closed':
      request.raw.socket.destroy();
      return reply.hijack();
    case 'redirect':
      return reply.redirect(`${instance.url}${url}`, 302);
    case 'unauthorized':
      return reply.status(401).send(bodyOfStatus(401));
    case undefined: {
      const body = typeof request.body === 'string' ? request.body : '';
      return sendAnswer(reply, await answerRequest(api, { method, url, headers, body }));
    }
  }
}
