import { CompiledProfile } from '../clinic/schema/profile.ts';
import type { Tenants } from '../operator/control/installation.ts';
import type { Configuration, TenantOutline } from '../settings/configuration.ts';
import { type ConfigurationChanges, changesBetween } from '../settings/configuration-changes.ts';
import { OnDemand } from '../settings/reading.ts';
import { type ConfigVersion, createConfigVersion, joinAll, takeLeases } from '../state/config-version.ts';
import { requireEntry } from './open-connection.ts';
import { type ComposedTenant, composeTenant, type Shared } from './tenant.ts';
import { createTenantCache, mayClose, type TenantCache } from './tenant-stores.ts';

/** All tenants of a process. */
export interface OpenTenants {
  /** Tenants are opened at first use. */
  composed: ReadonlyMap<string, ComposedTenant>;
  /** For every tenant, open or closed. A process keeps one number per tenant while the configuration is unchanged. */
  configVersions: ReadonlyMap<string, ConfigVersion>;
  /** Runs work for a tenant and keeps the tenant open, with the connections as of now. */
  whileOpen<Result>(tenant: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Applies another configuration. Unchanged tenants keep their open parts and caches. Changed tenants are reopened, and their active work
   * gets no further lease. Waits until no token is only in memory.
   * @throws the signal's reason
   */
  takeUp(next: Configuration, signal: AbortSignal): Promise<ConfigurationChanges>;
  /**
   * Publishes changes to all processes: takes numbers for added or changed tenants, and leases of removed tenants. Safe to repeat.
   * @param options.rejoins also takes new configuration numbers for all other tenants, as at startup
   */
  register(changes: ConfigurationChanges, options: { rejoins: boolean }): Promise<void>;
  /** Waits for tokens that are not stored yet. */
  whenIdle(): Promise<void>;
}

/** Number of active jobs per tenant. */
class TenantsAtWork {
  readonly #counts = new Map<string, number>();

  has(tenant: string): boolean {
    return this.#counts.has(tenant);
  }

  /** @param open the already opened tenant, whose connections possibly changed since */
  async during<Result>(
    tenant: string,
    work: () => Promise<Result>,
    open: Pick<ComposedTenant, 'credentials'> | undefined,
  ): Promise<Result> {
    open?.credentials.beginAnew();
    this.#counts.set(tenant, (this.#counts.get(tenant) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const remaining = (this.#counts.get(tenant) ?? 1) - 1;
      if (remaining > 0) this.#counts.set(tenant, remaining);
      else this.#counts.delete(tenant);
    }
  }
}

/** Interval of checks whether tokens are stored. */
const REST_LOOK_MS = 250;

/** Opens the tenants of `shared.configuration`. @param idleLimit maximum number of idle open tenants */
export function openTenants(shared: Omit<Shared, 'configVersions' | 'compiled'>, idleLimit: number): OpenTenants {
  const { redis, clock } = shared;
  const configVersionOf = (outline: TenantOutline) => openConfigVersion(outline, { redis, clock });
  const { outlines: startOutlines } = shared.configuration;
  const configVersions = new Map([...startOutlines].map(([id, outline]) => [id, configVersionOf(outline)]));
  const all: Shared = { ...shared, configVersions, compiled: compiledOf(shared.configuration.profiles) };
  const tenantCaches = new Map<string, TenantCache>();
  const atWork = new TenantsAtWork();
  /** Tenants of an earlier configuration that are still active. Their refreshed tokens must be stored before the process ends. */
  const retired = new Set<ComposedTenant>();
  const composed = new OnDemand<ComposedTenant>(
    startOutlines.keys(),
    (id) => {
      const { tenants, outlines } = all.configuration;
      const own = tenantCaches.get(id) ?? createTenantCache(requireEntry(outlines, id), null, all);
      tenantCaches.set(id, own);
      return composeTenant(requireEntry(tenants, id), own, all);
    },
    { capacity: idleLimit, mayGo: (entry) => !atWork.has(entry.tenant.id) && mayClose(entry) },
  );

  function replace(changes: ConfigurationChanges, next: Configuration): void {
    const { configuration: before } = all;
    const { added, changed, reopened, removed } = changes;
    for (const entry of retired) if (areTokensStored(entry) && !atWork.has(entry.tenant.id)) retired.delete(entry);
    for (const id of [...changed, ...reopened, ...removed]) {
      const entry = composed.peek(id);
      if (entry !== undefined && atWork.has(id)) retired.add(entry);
    }
    for (const id of [...changed, ...removed]) configVersions.get(id)?.end();
    for (const id of changed) {
      const [outline, earlier] = [requireEntry(next.outlines, id), tenantCaches.get(id)];
      const isSameName = before.outlines.get(id)?.formerly === outline.formerly;
      if (earlier !== undefined && isSameName) tenantCaches.set(id, createTenantCache(outline, earlier, all));
      else tenantCaches.delete(id);
    }
    for (const id of removed) {
      tenantCaches.delete(id);
      configVersions.delete(id);
    }
    for (const id of [...added, ...changed]) configVersions.set(id, configVersionOf(requireEntry(next.outlines, id)));
    all.compiled = compiledOf(next.profiles, { profiles: before.profiles, compiled: all.compiled });
    all.configuration = next;
    composed.change(next.outlines.keys(), [...changed, ...reopened]);
  }

  return {
    composed,
    configVersions,
    whileOpen: (id, work) => atWork.during(id, work, composed.peek(id)),
    async takeUp(next, signal) {
      const changes = changesBetween(all.configuration, next);
      await untilAtRest(composed, [...changes.changed, ...changes.reopened, ...changes.removed], signal);
      replace(changes, next);
      return changes;
    },
    async register({ added, changed, removed }, { rejoins }) {
      const taken = [...added, ...changed].filter((id) => configVersions.has(id));
      const some = rejoins ? configVersions : new Map(taken.map((id) => [id, requireEntry(configVersions, id)]));
      await joinAll(redis, some, { rejoins });
      for (const id of removed) if (!configVersions.has(id)) await takeLeases(redis, id);
    },
    async whenIdle() {
      // A tenant that is not open was closed with all its tokens stored.
      for (const { connections } of [...composed.cachedValues(), ...retired]) {
        for (const { tokens } of connections.values()) await tokens?.refresher.whenIdle();
      }
    },
  };
}

function openConfigVersion({ id, hash, targets }: TenantOutline, { redis, clock }: Pick<Shared, 'redis' | 'clock'>) {
  return createConfigVersion({ redis, tenant: id, hash, targets: targets.map((target) => target.id), clock });
}

/** Returns the tenants for the verbs. */
export function tenantsOf(composed: ReadonlyMap<string, ComposedTenant>): Tenants {
  return {
    get size() {
      return composed.size;
    },
    keys: () => composed.keys(),
    get: (id) => composed.get(id)?.tenant,
    *values() {
      for (const { tenant } of composed.values()) yield tenant;
    },
  };
}

/** Waits until no token of these tenants is only in memory. @throws the signal's reason */
async function untilAtRest(
  composed: OnDemand<ComposedTenant>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  while (ids.some((id) => !areTokensStored(composed.peek(id)))) {
    await new Promise((resolve) => setTimeout(resolve, REST_LOOK_MS));
    signal.throwIfAborted();
  }
}

function areTokensStored(entry: ComposedTenant | undefined): boolean {
  return [...(entry?.connections.values() ?? [])].every(({ tokens }) => tokens?.refresher.isAtRest() ?? true);
}

/** Caches the compiled form with its profile. */
function compiledOf(
  profiles: Configuration['profiles'],
  before?: { profiles: Configuration['profiles']; compiled: Shared['compiled'] },
): Shared['compiled'] {
  return new Map(
    [...profiles].map(([name, profile]) => {
      const existing = before?.profiles.get(name) === profile ? before.compiled.get(name) : undefined;
      return [name, existing ?? new CompiledProfile(profile)];
    }),
  );
}
