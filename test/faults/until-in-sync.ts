import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Watch } from '../../demo/watch.ts';
import type { Status } from '../../src/control/status.ts';

/**
 * Waits until every target, CRMs included, is known to show what the clinic showed after `since`. Gives up after `timeoutMs`: then the
 * view tells what is not in sync.
 * @param since epoch ms
 * @throws Error when the daemon ended by itself
 */
export async function untilInSync(
  watch: Pick<Watch, 'status'>,
  since: number,
  daemon: ChildProcess,
  timeoutMs: number,
): Promise<Status> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (daemon.exitCode !== null) throw new Error('the daemon ended by itself');
    const view = await watch.status();
    const isFresh = view.tenants.every(({ targets }) =>
      targets.every(({ state, inSyncAsOf }) => state === 'in-sync' && (inSyncAsOf ?? 0) >= since),
    );
    if (isFresh || performance.now() > deadline) return view;
    await delay(250);
  }
}
