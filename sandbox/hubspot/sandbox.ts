import { createApp } from '../kit/app.ts';
import { SandboxKit } from '../kit/kit.ts';
import { listen } from '../kit/listen.ts';
import { seededRandom } from '../kit/random.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { addApiRoutes } from './api.ts';
import { bodyOfStatus } from './errors.ts';
import { Limits } from './limits.ts';
import { hubSpotOAuth, standardErrorBody } from './oauth.ts';
import { addOAuthRoutes } from './oauth-routes.ts';
import { type HubSpotSandboxOptions, toSettings } from './options.ts';
import { type HubSpotSandbox, toVerbs } from './verbs.ts';
import { World } from './world.ts';

const BODY_LIMIT_BYTES = 16 * 1024 * 1024;

/** Default body of an injected fault of the token endpoints. */
const TRANSIENT = { error: 'temporarily_unavailable', code: 'ERROR', description: 'Fault injected by the sandbox.' };

/** Starts the sandbox on loopback. Throws when the port is taken. */
export async function startHubSpotSandbox(options: HubSpotSandboxOptions = {}): Promise<HubSpotSandbox> {
  const settings = toSettings(options);
  const oauth = hubSpotOAuth(settings);
  const kit = new SandboxKit({
    seed: settings.seed,
    clientOf: ({ headers }) => oauth.findCaller(headers.authorization)?.clientId,
    faultBody: (status, path) => (path.startsWith('/oauth/') ? standardErrorBody(TRANSIENT) : bodyOfStatus(status)),
  });
  const world = new World(settings, kit.counts);
  const limits = new Limits(world);
  const app = createApp({ bodyLimitBytes: BODY_LIMIT_BYTES });
  kit.install(app);
  addOAuthRoutes(app, oauth, settings);
  addApiRoutes(app, { world, limits, oauth, faults: kit.faults, random: seededRandom(settings.seed) });
  addAdminRoutes(app, () => sandbox);
  const server = await listen(app, settings.port);
  const sandbox = toVerbs({ server, kit, world, settings, oauth, limits });
  return sandbox;
}
