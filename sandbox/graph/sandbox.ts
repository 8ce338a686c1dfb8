import { createApp } from '../kit/app.ts';
import { SandboxKit } from '../kit/kit.ts';
import { listen } from '../kit/listen.ts';
import { seededRandom } from '../kit/random.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { API_BASE, GraphApi } from './api.ts';
import { DeltaFeed } from './delta.ts';
import { bodyOfStatus } from './errors.ts';
import { addGraphRoutes, limitConcurrency } from './graph-routes.ts';
import { graphOAuth } from './oauth.ts';
import { addOAuthRoutes } from './oauth-routes.ts';
import { ENTRA_WORDS, errorBody } from './oauth-words.ts';
import { type GraphSandboxOptions, toSettings } from './options.ts';
import { routes } from './routes.ts';
import { SubscriptionRoutes } from './subscription-routes.ts';
import { Subscriptions } from './subscriptions.ts';
import { Throttling } from './throttling.ts';
import { type GraphSandbox, toVerbs } from './verbs.ts';
import { World } from './world.ts';

const BODY_LIMIT_BYTES = 4 * 1024 * 1024;

/** Starts the sandbox on loopback. Throws when the port is taken. */
export async function startGraphSandbox(options: GraphSandboxOptions = {}): Promise<GraphSandbox> {
  const settings = toSettings(options);
  const kit = new SandboxKit({
    seed: settings.seed,
    clientOf: ({ headers }): string | undefined => {
      const caller = oauth.findCaller(headers.authorization);
      return caller?.account ?? caller?.clientId;
    },
    faultBody: (status, path) => (path.startsWith(API_BASE) ? bodyOfStatus(status) : errorBody(ENTRA_WORDS.transient)),
  });
  const { faults, counts } = kit;
  const world = new World(settings, counts);
  const oauth = graphOAuth(world);
  const subscriptions = new Subscriptions(world, faults);
  const table = routes(new DeltaFeed(), new SubscriptionRoutes(subscriptions));
  const throttling = new Throttling(world);
  const api = new GraphApi({ world, faults, throttling, oauth, routes: table });
  const batch = { api, oauth, faults, throttling, settings, random: seededRandom(settings.seed) };

  const app = createApp({ bodyLimitBytes: BODY_LIMIT_BYTES });
  limitConcurrency(app, api, throttling, () => settings.latencyMs);
  kit.install(app);
  addOAuthRoutes(app, oauth, world);
  addGraphRoutes(app, table, counts, batch);
  addAdminRoutes(app, () => sandbox);
  const server = await listen(app, settings.port);
  const sandbox = toVerbs({ server, kit, world, settings, oauth, subscriptions });
  return sandbox;
}
