import { CompiledProfile } from '../clinic/schema/profile.ts';
import type { Tenants } from '../control/installation.ts';
import type { Configuration, TenantOutline } from '../settings/configuration.ts';
import { type ConfigurationChanges, changesBetween } from '../settings/configuration-changes.ts';
import { OnDemand } from '../settings/reading.ts';
import { type ConfigVersion, createConfigVersion, joinAll, takeLeases } from '../state/config-version.ts';
import { requireEntry } from './open-connection.ts';
import { type ComposedTenant, composeTenant, type Shared } from './tenant.ts';
import { createTenantCache, mayClose, type TenantCache } from './tenant-stores.ts';

/** All tenants of a process. */
export interface OpenTenants {
  /** Tenants are opened when they are asked for. */
  composed: ReadonlyMap<string, ComposedTenant>;
  /** Of every tenant, open or not: a process has one number of each for as long as its configuration stays the same. */
  configVersions: ReadonlyMap<string, ConfigVersion>;
  /** Does work for a tenant, which is not closed meanwhile, by its logins as they stand from now on. */
  whileOpen<Result>(tenant: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Goes on under another configuration. What did not change keeps what it has open and what is known of it. What changed is opened anew;
   * what is under way for it gets no lease any more. Waits until no token is in memory alone.
   * @throws the signal's reason
   */
  takeUp(next: Configuration, signal: AbortSignal): Promise<ConfigurationChanges>;
  /**
   * Makes the changes count among all processes: takes numbers for what was added or changed, and leases from what was removed. Safe to do again.
   * @param options.anew takes numbers for all others too, as a start does
   */
  register(changes: ConfigurationChanges, options: { anew: boolean }): Promise<void>;
  /** Waits for tokens that are on their way. */
  whenIdle(): Promise<void>;
}

/** For how many pieces of work each tenant is at work. */
class TenantsAtWork {
  readonly #counts = new Map<string, number>();

  has(tenant: string): boolean {
    return this.#counts.has(tenant);
  }

  /** @param open what is open of it already: its logins may be others by now */
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

/** How long is waited between two looks whether tokens are stored. */
const REST_LOOK_MS = 250;

/** Opens the tenants of `shared.configuration`. @param idleLimit how many stay open when nothing is done for them */
export function openTenants(shared: Omit<Shared, 'configVersions' | 'compiled'>, idleLimit: number): OpenTenants {
  const { redis, clock } = shared;
  const configVersionOf = (outline: TenantOutline) => openConfigVersion(outline, { redis, clock });
  const { outlines: startOutlines } = shared.configuration;
  const configVersions = new Map([...startOutlines].map(([id, outline]) => [id, configVersionOf(outline)]));
  const all: Shared = { ...shared, configVersions, compiled: compiledOf(shared.configuration.profiles) };
  const tenantCaches = new Map<string, TenantCache>();
  const atWork = new TenantsAtWork();
  /** Opened under a configuration of before, and still at work: tokens that it refreshes are stored before the process ends. */
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
    async register({ added, changed, removed }, { anew }) {
      const taken = [...added, ...changed].filter((id) => configVersions.has(id));
      const some = anew ? configVersions : new Map(taken.map((id) => [id, requireEntry(configVersions, id)]));
      await joinAll(redis, some, { anew });
      for (const id of removed) if (!configVersions.has(id)) await takeLeases(redis, id);
    },
    async whenIdle() {
      for (const { connections } of [...composed.values(), ...retired]) {
        for (const { tokens } of connections.values()) await tokens?.refresher.whenIdle();
      }
    },
  };
}

function openConfigVersion({ id, hash, targets }: TenantOutline, { redis, clock }: Pick<Shared, 'redis' | 'clock'>) {
  return createConfigVersion({ redis, tenant: id, hash, targets: targets.map((target) => target.id), clock });
}

/** Tenants as the verbs see them. */
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

/** Waits until no token of these tenants is in memory alone. @throws the signal's reason */
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

/** What is made of a profile stays with it. */
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
