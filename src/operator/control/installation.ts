import type { ApprovalRequest } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { slices } from '../../core/model/pieces.ts';
import type { RedisReadings } from '../../core/model/state-schemas.ts';
import type { Clock } from '../../core/model/time.ts';
import type { Outages } from '../../jobs/outages.ts';
import type { ShownQueue } from '../../jobs/queues.ts';
import { message } from '../../messages/message.ts';
import {
  type InvalidTenant,
  type RefusedChange,
  type TenantOutline,
  uncheckedError,
} from '../../settings/configuration.ts';
import type { DamagedStore } from '../../state/damaged.ts';
import type { StateCounter } from '../../state/state-counter.ts';
import type { RemovedStore } from '../../tenant/removed.ts';
import type { OpenTenant } from '../../tenant/tenant.ts';
import type { UpkeepStore } from '../../tenant/upkeep.ts';
import type { ReloadReport } from './reload-reports.ts';
import type { ConnectionStatus, Forecast, Status } from './status-schemas.ts';

/** Tenants by id, opened on first access. Iteration opens one tenant at a time. */
export interface Tenants {
  readonly size: number;
  keys(): Iterable<string>;
  get(id: string): OpenTenant | undefined;
  values(): Iterable<OpenTenant>;
}

/** Installation on which operator commands work, built by `main.ts`. */
export interface Installation {
  tenants: Tenants;
  /** Outline of each tenant, available without opening the tenant. */
  outlines: ReadonlyMap<
    string,
    Pick<TenantOutline, 'name' | 'zone' | 'formerly' | 'hasReminders' | 'triggersEveryMinutes'>
  >;
  /** Tenants without a configuration file. */
  managed: ReadonlySet<string>;
  /** Tenants that this process has not checked since startup. Unchecked tenants do not run. */
  unchecked: ReadonlySet<string>;
  /** Tenants with an unusable configuration. */
  unusable: readonly InvalidTenant[];
  /** Changed files with faults that this process refused. The previous content remains active. */
  refused: readonly RefusedChange[];
  connections(tenant: { id: string }): Promise<ConnectionStatus[]>;
  /** Detects loss of decisions in Redis. */
  stateCounter: Pick<StateCounter, 'view'>;
  /** Writes a short-lived key to Redis and reads its clock. @throws errors of a Redis that does not answer */
  redis(): Promise<RedisReadings>;
  /** Returns changed files that running daemons refused. */
  reloads(): Promise<ReloadReport[]>;
  /** Damaged data that any process found, and the counts of this process. */
  damaged: Pick<DamagedStore, 'counts' | 'list'>;
  /** Returns the last failure of each alert channel that failed. */
  alertFailures(): Promise<Status['alertFailures']>;
  /** Returns known future risks. */
  forecast(): Promise<Forecast>;
  /** Returns actions of a tenant that wait for approval by a second user. */
  approvals(tenant: string): Promise<ApprovalRequest[]>;
  /** Data of tenants and parts removed from the configuration. */
  removed: Pick<RemovedStore, 'parts' | 'tenants'> & { retentionMs: number };
  /** Checks of the daemons that delete data after its period. */
  upkeep: Pick<UpkeepStore, 'read'> & { auditLogMs(): number };
  /** Returns waiting, active and failed jobs of each queue, at most `jobs` per state. */
  queues(jobs: number): Promise<ShownQueue[]>;
  /** Unreachable servers, and a way to retry their work now. */
  outages: Pick<Outages, 'list' | 'tryNow'>;
  /** Duration after which an unreachable server is reported. */
  outageAfterMs: number;
  /** Asks a running daemon to pull a tenant now. */
  pullNow(tenant: string): Promise<void>;
  clock: Clock;
}

/**
 * @throws MirrorError `settings`, code `no-such-tenant` with the existing tenants, or `tenant-set-aside`; `remote`, code `tenant-unchecked`
 */
export function requireTenant(installation: Installation, id: string): OpenTenant {
  const tenant = installation.tenants.get(id);
  if (tenant !== undefined) return tenant;
  if (installation.unchecked.has(id)) throw uncheckedError(id);
  const broken = installation.unusable.some((invalid) => invalid.id === id);
  throw new MirrorError(message(broken ? 'tenant-faulty' : 'no-such-tenant', { id }), {
    actor: 'settings',
    code: broken ? 'tenant-set-aside' : 'no-such-tenant',
    retry: 'never',
    remedy: broken
      ? message('tenant-faulty.remedy')
      : message('no-such-tenant.remedy', { ids: [...installation.tenants.keys()].join(', ') || message('none') }),
  });
}

/** Tenants that one request opens at the same time: all of them would be in memory together. Other work runs between batches. */
export const TENANTS_AT_ONCE = 25;

/**
 * Returns what is read of each tenant, in the order of the tenants.
 * @param only one tenant; default: all
 * @throws MirrorError as {@link requireTenant}
 */
export async function readTenants<Read>(
  installation: Installation,
  only: string | undefined,
  read: (tenant: OpenTenant) => Promise<Read>,
): Promise<Read[]> {
  if (only !== undefined) return [await read(requireTenant(installation, only))];
  const all: Read[] = [];
  for (const ids of slices([...installation.tenants.keys()], TENANTS_AT_ONCE)) {
    const open = ids.flatMap((id) => installation.tenants.get(id) ?? []);
    all.push(...(await Promise.all(open.map(read))));
  }
  return all;
}

/**
 * Returns the place of a tenant's configuration for remedies: the file, or for a managed tenant the export and import commands. Contains
 * only commands and paths, so that the text fits into a sentence of any language.
 */
export function settingsLocation({ managed }: Pick<Installation, 'managed'>, id: string): string {
  if (!managed.has(id)) return `tenants/${id}.yaml`;
  const file = `${id}.yaml`;
  return `${file} (clinic-mirror tenants export ${id} > ${file}; clinic-mirror tenants replace ${id} ${file})`;
}

/** Returns the error of a command on a paused tenant. */
export function pausedError(installation: Installation, id: string): MirrorError {
  return new MirrorError(message('tenant-paused', { id }), {
    actor: 'settings',
    code: 'tenant-paused',
    retry: 'never',
    remedy: message('tenant-paused.remedy', { place: settingsLocation(installation, id) }),
  });
}
