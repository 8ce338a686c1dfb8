import type { ConfigurationServices } from '../features/managed-tenants/managed-tenants.ts';
import { inPieces } from '../jobs/in-pieces.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import type { ManagedTenants } from '../settings/managed-tenant.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { highestMark } from '../state/data-directory.ts';
import { type HeadMark, MANAGED_MARK } from '../state/managed-ledger.ts';
import { createManagedTenants } from '../state/managed-tenants.ts';
import { connectRedis, createAwaitDurable } from '../state/redis.ts';
import { checkRedis } from '../state/redis-check.ts';
import type { Composition } from './compose.ts';
import { sealingRing } from './stores.ts';

/**
 * Reads the managed tenants over a connection of its own: they are needed before anything can be composed.
 * @param signal ends the waiting for Redis
 * @param options.isPatient whether a Redis that refuses is waited for
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

/** Read alone: what looks after the directory is composed later, and tells where it can't be used. */
function markIn({ dataDirectory }: Settings): HeadMark {
  const read = async () => (dataDirectory === undefined ? 0 : highestMark(dataDirectory, MANAGED_MARK).catch(() => 0));
  return { read, leave: async () => {} };
}

/**
 * What tenants are configured with.
 * @param follow has this process take up a change at once; default: it takes up itself what it finds, which is for a process that ends soon
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
