import type { Outages } from '../jobs/outages.ts';
import type { ShownQueue } from '../jobs/queues.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import { message } from '../messages/message.ts';
import { type ErrorTexts, MirrorError } from '../model/errors.ts';
import type { Ending, QuotaStatus } from '../model/problems.ts';
import type { Clock, Instant } from '../model/time.ts';
import {
  type InvalidTenant,
  type RefusedChange,
  type TenantOutline,
  uncheckedError,
} from '../settings/configuration.ts';
import type { RemovedStore } from '../state/removed.ts';
import type { AlertStore, ReloadReport } from '../state/reports.ts';
import type { StateCounter } from '../state/state-counter.ts';
import type { ApprovalRequest } from '../state/stored-documents.ts';

/** Where one login stands, in the same words on every surface. */
export interface ConnectionStatus {
  connection: string;
  kind: string;
  /**
   * `static`: a login without tokens, such as a CalDAV password. `never`: nobody logged in yet. `no-tenant`: the clinic takes the login,
   * and its user may not work in the tenant, by the last cycle. `unconfirmed`: nobody has said that the account is the right one. `retrying`:
   * the provider refused the login once, and is asked again at `nextTryAt` before that is believed.
   */
  state: 'connected' | 'retrying' | 'unconfirmed' | 'needs-login' | 'no-tenant' | 'never' | 'static';
  reason: string | null;
  /** Whose login it is, as the vendor tells or the settings say; `unknown` where it does not tell, null for one without a user. */
  account: string | null;
  sinceAt: Instant | null;
  nextTryAt: Instant | null;
  /** Nothing is asked through it before then, since the server refused requests for haste; null when it may be asked. */
  pause: ConnectionPause | null;
  accessExpiresAt: Instant | null;
  refreshExpiresAt: Instant | null;
  /** Whether that end stays where it is however often the login is used. */
  isEndFixed: boolean;
  /** When a person logged in, and when its tokens were last given; null without tokens. */
  obtainedAt: Instant | null;
  usedAt: Instant | null;
  missingScopes: readonly string[];
}

/** A server has refused requests for haste. */
export interface ConnectionPause {
  /** `rate-limited`, or `client-rate-limited` where all who share the client wait. */
  code: 'rate-limited' | 'client-rate-limited';
  sinceAt: Instant;
  untilAt: Instant;
}

/** What concerns the whole installation and may come to harm all of it. */
export interface Forecast {
  /** Certificates of servers, as they were last seen, and secrets whose end the settings name. */
  endings: Ending[];
  /** What clients have used of their budgets. */
  quotas: QuotaStatus[];
  /** Why Redis may lose what it keeps, as it is set up now; null when it does not. */
  unkept: { code: string; sentence: string; next: string | null; texts: ErrorTexts } | null;
}

/** Tenants by id, opened when they are asked for. Whoever goes through all of them has them opened one after the other. */
export interface Tenants {
  readonly size: number;
  keys(): Iterable<string>;
  get(id: string): OpenTenant | undefined;
  values(): Iterable<OpenTenant>;
}

/** What the operator's verbs work on; put together by `main.ts`. */
export interface Installation {
  tenants: Tenants;
  /** What is known of the same tenants without opening them. */
  outlines: ReadonlyMap<
    string,
    Pick<TenantOutline, 'name' | 'zone' | 'formerly' | 'hasReminders' | 'triggersEveryMinutes'>
  >;
  /** Which of them no file configures. */
  managed: ReadonlySet<string>;
  /** Tenants that this process has not checked since it started: they are not run yet. */
  unchecked: ReadonlySet<string>;
  /** Tenants whose configuration can't be used. */
  unusable: readonly InvalidTenant[];
  /** Files with faults that this process did not take up: what they held before counts. */
  refused: readonly RefusedChange[];
  connections(tenant: Pick<OpenTenant, 'id'>): Promise<ConnectionStatus[]>;
  /** How decisions are kept from being lost. */
  stateCounter: Pick<StateCounter, 'view'>;
  /** What running daemons did not take up of the files as they are. */
  reloads(): Promise<ReloadReport[]>;
  /** What ways of telling remember, and why they failed last. */
  alerts: Pick<AlertStore, 'read'>;
  /** What is known of what may come. */
  forecast(): Promise<Forecast>;
  /** What waits in a tenant for a second person. */
  approvals(tenant: string): Promise<ApprovalRequest[]>;
  /** What was taken out of the configuration and still has keys. */
  removed: Pick<RemovedStore, 'parts' | 'tenants'> & { retentionMs: number };
  /** What waits in every queue of work, is under way and failed; `jobs` of each sort at most are named. */
  queues(jobs: number): Promise<ShownQueue[]>;
  /** Which servers are away, and how what waits for one tries it now. */
  outages: Pick<Outages, 'list' | 'tryNow'>;
  /** After how long it is told that one is away. */
  outageAfterMs: number;
  /** Tells the running daemon, if there is one, to pull a tenant now. */
  pullNow(tenant: string): Promise<void>;
  clock: Clock;
}

/** @throws MirrorError `settings`, code `no-such-tenant`, that lists the ones there are, or `tenant-set-aside`; `remote`, code `tenant-unchecked` */
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

/**
 * Where a person changes how a tenant is configured, as remedies name it: its file, or for a managed tenant an export with the commands that
 * write it and take it back. It holds no words, so that it stands in a sentence of any language.
 */
export function settingsLocation({ managed }: Pick<Installation, 'managed'>, id: string): string {
  if (!managed.has(id)) return `tenants/${id}.yaml`;
  const file = `${id}.yaml`;
  return `${file} (clinic-mirror tenants export ${id} > ${file}; clinic-mirror tenants replace ${id} ${file})`;
}

/** The error of a verb that was asked to work on a paused tenant. */
export function pausedError(installation: Installation, id: string): MirrorError {
  return new MirrorError(message('tenant-paused', { id }), {
    actor: 'settings',
    code: 'tenant-paused',
    retry: 'never',
    remedy: message('tenant-paused.remedy', { place: settingsLocation(installation, id) }),
  });
}
