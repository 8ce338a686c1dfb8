import { requireTenant } from '../control/installation.ts';
import { type Releasing, releaseRegularly } from '../jobs/release.ts';
import type { Logger } from '../log/logger.ts';
import { DAY_MS, SECOND_MS } from '../model/time.ts';
import type { StateEpoch } from '../state/epoch.ts';
import { createLeases } from '../state/leases.ts';
import type { Composition } from './compose.ts';

/** Between two looks whether Redis went back. */
const EPOCH_CHECK_MS = 5 * SECOND_MS;

/**
 * Refuses another identity key, says how decisions are kept, and looks regularly, and whenever Redis came back, whether it lost any.
 * @returns ends the looking
 * @throws MirrorError `settings`, code `identity-key-changed`
 */
export async function watchEpoch({ epoch, redis, log }: Composition): Promise<() => void> {
  await epoch.requireIdentity();
  await epoch.check();
  const look = () => void epoch.check().catch(() => {});
  const timer = setInterval(look, EPOCH_CHECK_MS);
  redis.on('ready', look);
  // The disk may take its time; the start does not wait for it.
  epoch.settle().then(
    () => tellHowKept(epoch, log),
    (error) => log.warn({ error }, 'whether decisions can be kept from being lost is not known yet'),
  );
  return () => {
    clearInterval(timer);
    redis.off('ready', look);
  };
}

/** Whatever was taken out of the configuration is let go in time. */
export function keepReleasing(composition: Composition): Releasing {
  const { installation, removed, redis, log } = composition;
  const { clock } = installation;
  return releaseRegularly(() => {
    const { settings, setAside, outlines } = composition.configuration;
    const keepMs = settings.removed.keepDays * DAY_MS;
    const leasesOf = (tenant: string) => createLeases(redis, tenant, settings.leases.ttlMs);
    const open = (tenant: string) => requireTenant(installation, tenant);
    return { tenants: outlines, open, setAside, removed, keepMs, leasesOf, clock, log };
  });
}

async function tellHowKept(epoch: StateEpoch, log: Logger): Promise<void> {
  const { durability, directory } = await epoch.view();
  if (durability !== 'durable') {
    log.warn(
      { durability },
      'this Redis does not tell when a decision is on its disk: a crash may lose the last second',
    );
  }
  if (directory !== 'kept') {
    log.warn({ directory }, 'nothing is kept outside Redis: what it loses while no daemon looks is not noticed');
  }
}
