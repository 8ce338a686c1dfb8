import { createApp } from '../kit/app.ts';
import { SandboxKit } from '../kit/kit.ts';
import { listen, type RunningServer } from '../kit/listen.ts';
import { seededRandom } from '../kit/random.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { API_BASE, CalendarApi } from './api.ts';
import type { BatchOptions } from './batch.ts';
import { addCalendarRoutes, BATCH_PATH, watchConcurrency } from './calendar-routes.ts';
import { Channels } from './channels.ts';
import { bodyOfStatus } from './errors.ts';
import { googleOAuth } from './oauth.ts';
import { addOAuthRoutes } from './oauth-routes.ts';
import { type GoogleSandboxOptions, toSettings } from './options.ts';
import { Quotas } from './quotas.ts';
import { routes } from './routes.ts';
import { ServiceAccounts } from './service-accounts.ts';
import { type GoogleSandbox, toVerbs } from './verbs.ts';
import { World } from './world.ts';

const BODY_LIMIT_BYTES = 32 * 1024 * 1024;

/** Starts the sandbox on loopback. Throws when the port is taken. */
export async function startGoogleSandbox(options: GoogleSandboxOptions = {}): Promise<GoogleSandbox> {
  const settings = toSettings(options);
  const kit = new SandboxKit({
    seed: settings.seed,
    clientOf: ({ headers }): string | undefined => oauth.findCaller(headers.authorization)?.account,
    faultBody: (status, path) => (isCalendarPath(path) ? bodyOfStatus(status) : { error: 'internal_failure' }),
  });
  const world = new World(settings, kit.counts);
  const channels = new Channels(world, kit.faults);
  const serviceAccounts = new ServiceAccounts(world, settings);
  let server: RunningServer | undefined;
  const oauth = googleOAuth(world, settings, serviceAccounts, () => server?.url ?? '');
  const table = routes(channels);
  const api = new CalendarApi(world, kit.faults, new Quotas(world), oauth.findCaller, table);
  const batch: BatchOptions = {
    api,
    faults: kit.faults,
    random: seededRandom(settings.seed),
    maxSize: () => settings.maxBatchSize,
  };

  const app = createApp({ bodyLimitBytes: BODY_LIMIT_BYTES });
  watchConcurrency(app, kit.counts, batch);
  kit.install(app);
  addOAuthRoutes(app, oauth);
  addCalendarRoutes(app, table, kit.counts, batch);
  addAdminRoutes(app, () => sandbox);
  server = await listen(app, settings.port);
  const sandbox = toVerbs({ server, kit, world, settings, oauth, channels, serviceAccounts });
  return sandbox;
}

function isCalendarPath(path: string): boolean {
  return path.startsWith(API_BASE) || path.startsWith(BATCH_PATH);
}
