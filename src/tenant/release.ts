import type { Logger } from '../core/log/logger.ts';
import { asMirrorError } from '../core/model/errors.ts';
import { type Clock, HOUR_MS, type Instant, MINUTE_MS } from '../core/model/time.ts';
import { SUPERSEDED } from '../engine/store.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { PLAN_LEASE } from '../state/config-version.ts';
import type { RemovablePart } from '../state/keys.ts';
import type { Leases } from '../state/leases.ts';
import { KeySizes } from '../state/tenant-storage.ts';
import type { KeyHolders, RemovedStore } from './removed.ts';
import type { EndedKind, UpkeepStore } from './upkeep.ts';

/** Dependencies of releasing removed targets, connections and tenants. */
export interface ReleaseParts {
  tenants: ReadonlyMap<string, TenantOutline>;
  /** Opens a tenant with removed parts. */
  open(tenant: string): { leases: Leases; log: Logger };
  /** Tenants with invalid files: they are not removed, and their former ids are unknown. */
  unusable: readonly { id: string }[];
  removed: RemovedStore;
  /** How long keys remain after they are first found unconfigured. */
  retentionMs: number;
  /** Data of tenants that the check deletes after its period. `key`: kind of the keys. `end` returns the number of deleted items. */
  expiring: readonly { kind: EndedKind; key: string; end(tenant: string): Promise<number> }[];
  /** Deletes old records of the audit log. @returns their number */
  trimAuditLog(): Promise<number>;
  upkeep: Pick<UpkeepStore, 'record'>;
  /** Leases of a tenant that is not configured here. */
  leasesOf(tenant: string): Leases;
  clock: Clock;
  log: Logger;
}

/** Interval of checks. */
export const RELEASE_EVERY_MS = HOUR_MS;
/** How long the release of a tenant waits for a running cycle. */
const LEASE_WAIT_MS = MINUTE_MS;
const NOTHING_SPARED: ReadonlySet<string> = new Set();

/** Releases the keys of removed parts. */
export interface Releasing {
  /** Starts an additional check. */
  check(): void;
  end(): Promise<void>;
}

/**
 * Checks now and every hour. Each daemon checks its own configuration: a configured part remains, whatever other daemons have.
 * @param parts called at each check, because the configuration may have changed
 */
export function releaseRegularly(parts: () => ReleaseParts): Releasing {
  const end = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const check = () => {
    // Without Redis nothing is released; another component reports the outage.
    running = running.then(() => releaseRemoved(parts(), end.signal)).catch(() => {});
  };
  check();
  const timer = setInterval(check, RELEASE_EVERY_MS).unref();
  return {
    check,
    async end() {
      clearInterval(timer);
      end.abort();
      await running;
    },
  };
}

/**
 * Counts the memory of tenants, records unconfigured parts with keys, deletes keys and data after their retention period, and records the
 * check. Remote calendars and CRMs are unchanged. A process with an older configuration releases nothing. One failure does not prevent other
 * releases.
 */
export async function releaseRemoved(parts: ReleaseParts, signal: AbortSignal): Promise<void> {
  const sizes = new KeySizes();
  const holders = await parts.removed.holders(sizes);
  await parts.removed.recordSizes(parts.tenants.keys(), sizes, parts.clock());
  const check = { at: parts.clock(), ended: 0 };
  const end = (tenant: string | null, kind: EndedKind, work: () => Promise<number>) =>
    attempt(parts, tenant, async () => {
      const ended = await work();
      check.ended += ended;
      if (ended > 0) await parts.upkeep.record(tenant, kind, { at: check.at, ended });
    });
  for (const tenant of parts.tenants.values()) {
    const held: KeyHolders = holders.get(tenant.id) ?? new Map();
    await end(tenant.id, 'removed', () => releaseParts(parts, tenant, held, signal));
    for (const { kind, key, end: work } of parts.expiring) {
      if (held.get(null)?.has(key)) await end(tenant.id, kind, () => work(tenant.id));
    }
  }
  await end(null, 'removed', () => releaseTenants(parts, holders, signal));
  await end(null, 'audit-log', parts.trimAuditLog);
  await parts.upkeep.record(null, 'check', check);
}

async function attempt({ log }: ReleaseParts, tenant: string | null, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { code } = asMirrorError(error);
    if (code !== SUPERSEDED)
      log.warn({ tenant, code }, 'data past its retention period could not be deleted; next attempt in an hour');
  }
}

async function releaseParts(
  { removed, retentionMs, clock, open }: ReleaseParts,
  tenant: TenantOutline,
  holders: KeyHolders,
  signal: AbortSignal,
): Promise<number> {
  const configured = partsOf(tenant);
  const spared = sparedParts(tenant, removed.readUnderFormerIds);
  const missing = [...holders].flatMap(([part, kinds]) =>
    part === null || configured.has(part) || isAllSpared(kinds, spared.get(part)) ? [] : [part],
  );
  // Earlier missing times are stored in a key of the tenant.
  const hasMissed = holders.get(null)?.has('removed') === true;
  const missedBefore = hasMissed ? await removed.parts(tenant.id) : new Map<RemovablePart, Instant>();
  const now = clock();
  const missed = missing.filter((part) => !missedBefore.has(part));
  const due = missing.filter((part) => (missedBefore.get(part) ?? now) <= now - retentionMs);
  const ended = [...missedBefore.keys()].filter((part) => !missing.includes(part));
  if (missed.length + due.length + ended.length === 0) return 0;
  const { leases, log } = open(tenant.id);
  const lease = await leases.take(PLAN_LEASE, LEASE_WAIT_MS, signal);
  let released = 0;
  try {
    await removed.recordParts(tenant.id, { missed, ended }, now, lease);
    for (const part of due) {
      const count = await removed.releasePart(tenant.id, part, spared.get(part) ?? NOTHING_SPARED, lease);
      await removed.recordParts(tenant.id, { missed: [], ended: [part] }, now, lease);
      released += count;
      log.info({ part, keys: count }, 'state of a removed part was deleted');
    }
    for (const part of missed)
      log.info(
        { part, releaseAt: now + retentionMs },
        'part is no longer configured: its state is kept until releaseAt',
      );
  } finally {
    await lease.release();
  }
  return released;
}

async function releaseTenants(
  parts: ReleaseParts,
  holders: ReadonlyMap<string, KeyHolders>,
  signal: AbortSignal,
): Promise<number> {
  const { removed, tenants, unusable, retentionMs, clock, log } = parts;
  const present = new Set([...tenants.keys(), ...unusable.map(({ id }) => id)]);
  const former = new Set([...tenants.values()].map(({ formerly }) => formerly));
  const sparedOf = (tenant: string) => (former.has(tenant) ? removed.readUnderFormerIds : NOTHING_SPARED);
  const missing = [...holders].flatMap(([tenant, held]) =>
    present.has(tenant) || [...held.values()].every((kinds) => isAllSpared(kinds, sparedOf(tenant))) ? [] : [tenant],
  );
  const missedBefore = await removed.tenants();
  const now = clock();
  const missed = missing.filter((tenant) => !missedBefore.has(tenant));
  const ended = [...missedBefore.keys()].filter((tenant) => !missing.includes(tenant));
  await removed.recordTenants({ missed, ended }, now);
  for (const tenant of missed)
    log.info(
      { tenant, releaseAt: now + retentionMs },
      'tenant is no longer configured: its state is kept until releaseAt',
    );
  // An invalid file does not show its tenant's former id.
  if (unusable.length > 0) return 0;
  let released = 0;
  for (const tenant of missing.filter((each) => (missedBefore.get(each) ?? now) <= now - retentionMs)) {
    await attempt(parts, tenant, async () => {
      const lease = await parts.leasesOf(tenant).take(PLAN_LEASE, LEASE_WAIT_MS, signal);
      try {
        const count = await removed.releaseTenant(tenant, sparedOf(tenant), lease);
        if (count === null) return;
        await removed.recordTenants({ missed: [], ended: [tenant] }, now);
        released += count;
        log.info({ tenant, keys: count }, 'state of a removed tenant was deleted');
      } finally {
        await lease.release();
      }
    });
  }
  return released;
}

/** Returns the configured parts of a tenant that may have keys. */
function partsOf({ targets, connections }: TenantOutline): Set<RemovablePart> {
  const targetParts = targets.map(({ id }): RemovablePart => `target/${id}`);
  const logins = [CLINIC_CONNECTION, ...connections].map((id): RemovablePart => `connection/${id}`);
  return new Set([...targetParts, ...logins]);
}

/** Returns keys of targets still used under their former ids. */
function sparedParts(
  { targets }: TenantOutline,
  readUnderFormerIds: ReadonlySet<string>,
): Map<RemovablePart, ReadonlySet<string>> {
  const former = targets.flatMap(({ formerly }) => formerly ?? []);
  return new Map(former.map((id) => [`target/${id}`, readUnderFormerIds]));
}

function isAllSpared(kinds: ReadonlySet<string>, spared: ReadonlySet<string> = NOTHING_SPARED): boolean {
  return [...kinds].every((kind) => spared.has(kind));
}
