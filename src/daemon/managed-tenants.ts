import { inPieces } from '../core/pieces/in-pieces.ts';
import { type HeadMark, MANAGED_MARK } from '../features/managed-tenants/ledger.ts';
import type { ConfigurationServices } from '../features/managed-tenants/managed-tenants.ts';
import { createManagedTenants } from '../features/managed-tenants/store.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import type { ManagedTenants } from '../settings/managed-tenant.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { highestMark } from '../state/data-directory.ts';
import { connectRedis, createAwaitDurable } from '../state/redis.ts';
import { checkRedis } from '../state/redis-check.ts';
import type { Composition } from './compose.ts';
import { sealingRing } from './stores.ts';

/**
 * Reads the managed tenants over a separate Redis connection, because the composition requires them.
 * @param signal ends the wait for Redis
 * @param options.isPatient whether to wait for a Redis that refuses
 * @throws MirrorError as `checkRedis`
 */
export async function readManagedTenants(
  settings: Settings,
  signal: AbortSignal,
  { isPatient = true } = {},
): Promise<ManagedTenants> {
  const redis = connectRedis(settings.redis.place.reveal());
  const refused = new AbortController();
  if (!isPatient) redis.once('error', (error) => refused.abort(error));
  const awaitDurable = createAwaitDurable(redis, settings.redis);
  try {
    await checkRedis(redis, AbortSignal.any([signal, refused.signal]), settings.redis.place.readFrom);
    const identityKey = settings.secrets.identityKey.reveal();
    const parts = { redis, writer: redis, awaitDurable, ring: sealingRing(settings), identityKey, clock: Date.now };
    return (await createManagedTenants({ ...parts, mark: markIn(settings) }).read()).tenants;
  } finally {
    redis.disconnect();
  }
}

/** Reads only: the service for the directory is composed later, and reports an unusable directory. */
function markIn({ dataDirectory }: Settings): HeadMark {
  const counterIn = (directory: string) => highestMark(directory, MANAGED_MARK).then(({ counter }) => counter);
  const read = async () => (dataDirectory === undefined ? 0 : counterIn(dataDirectory).catch(() => 0));
  return { read, leave: async () => {} };
}

/**
 * Opens the tenant configurations.
 * @param follow makes this process apply a change at once; default: the process applies the change itself, for short-lived processes
 */
export function openConfigurationServices(
  composition: Composition,
  files: ConfigurationFiles,
  follow: () => Promise<void> = () => takeUpNow(composition, files),
): ConfigurationServices {
  return { files, store: composition.managedTenants, follow };
}

async function takeUpNow(composition: Composition, files: ConfigurationFiles): Promise<void> {
  const { tenants: managed } = await composition.managedTenants.read();
  const next = await inPieces(files.readAgain(await inPieces(files.readStamps()), { managed }));
  await composition.takeUp(next, new AbortController().signal);
}
