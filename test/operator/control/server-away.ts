import { MirrorError, storedError } from '../../../src/core/model/errors.ts';
import { SECOND_MS } from '../../../src/core/model/time.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import type { WaitingWork } from '../../../src/state/outages.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { openOutages } from '../../tenant/open-tenant.ts';

/** The server that {@link openServerAway} has away. */
export const AWAY = 'dav.example:8443';

/** Has a server of an installation be away since some time, with a target of each tenant that waits for it. @returns what is woken, with the longest delay */
export async function openServerAway(
  redis: RedisClient,
  installation: Installation,
  { sinceMs = 0 } = {},
): Promise<{ woken: string[]; latestMs(): number }> {
  const woken: string[] = [];
  const delays: number[] = [];
  const wake = async ({ tenant, target }: WaitingWork, host: string, delayMs: number) => {
    woken.push(`${host} ${tenant}/${target}`);
    delays.push(delayMs);
  };
  const outages = openOutages(redis, () => installation.clock() - sinceMs, { wake });
  const now = openOutages(redis, installation.clock, { wake });
  Object.assign(installation, { outages: now });
  for (const tenant of installation.tenants.values()) {
    const [target = ''] = tenant.targets.keys();
    const error = new MirrorError('the server did not answer', { actor: 'remote', code: 'timeout', retry: 'later' });
    await outages.watch(async () => {
      outages.heard(AWAY, 'failed');
      await outages.wait(AWAY, { tenant: tenant.id, target }, error);
    });
    const sinceAt = installation.clock() - sinceMs;
    const pausedUntil = installation.clock() + 60 * SECOND_MS;
    await tenant.targetStore.write(target, { outage: AWAY, failure: { ...storedError(error), sinceAt }, pausedUntil });
  }
  return { woken, latestMs: () => Math.max(...delays) };
}
