import type { ConfigurationServices } from '../features/managed-tenants/managed-tenants.ts';
import { inPieces } from '../jobs/in-pieces.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import type { Composition } from './compose.ts';

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
