import type { ChildProcess } from 'node:child_process';
import { connectors } from '../src/connectors/registry.ts';
import { silentLogger } from '../src/core/log/logger.ts';
import { compose } from '../src/daemon/compose.ts';
import { reminderChannels } from '../src/features/reminders/channels/registry.ts';
import { status } from '../src/operator/control/status.ts';
import type { Status } from '../src/operator/control/status-schemas.ts';
import { loadConfiguration } from '../src/settings/configuration-files.ts';
import type { World } from './world.ts';

/** Reads the daemon's own status, like `clinic-mirror status`. */
export interface Watch {
  status(): Promise<Status>;
  close(): Promise<void>;
}

/** Opens the state for looking; the daemon is another process. */
export function openWatch(world: Pick<World, 'configDir' | 'env'>): Watch {
  const configuration = loadConfiguration({
    dir: world.configDir,
    env: world.env,
    connectors,
    reminderChannels,
    mode: 'strict',
  });
  const composition = compose({ configuration, log: silentLogger, priority: 'background' });
  return { status: () => status(composition.installation), close: () => composition.close() };
}

/** Waits until every target is known to show what the clinic showed after `since`. Gives up after `timeoutMs`. @throws when the daemon ended */
export async function waitUntilInSync(
  watch: Watch,
  since: number,
  onLook: (view: Status) => void,
  daemon: ChildProcess,
  timeoutMs = 240_000,
): Promise<Status> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (daemon.exitCode !== null) throw new Error('the daemon ended unexpectedly');
    const view = await watch.status();
    onLook(view);
    const targets = view.tenants.flatMap((tenant) => tenant.targets);
    const settled = targets.every(({ sync, inSyncAsOf }) => sync === 'in-sync' && (inSyncAsOf ?? 0) >= since);
    if (settled || performance.now() > deadline) return view;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
