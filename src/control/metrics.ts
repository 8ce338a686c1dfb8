import { setTimeout as pause } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpObserver } from '../http/client.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError } from '../model/errors.ts';
import type { Problem } from '../model/problems.ts';
import { LINKS_COUNT, type SyncHealth } from '../model/sync-state.ts';
import type { Installation } from './installation.ts';
import type { NotificationResult } from './notifications.ts';
import { redisAway } from './problems.ts';
import type { Status } from './status-view.ts';
import { LONGEST_WAIT_MS, openStatuses, type Statuses } from './statuses.ts';

/** The daemon's figures. Labels are bounded: tenants, targets and connections of the configuration, and constant call names. */
export interface Metrics {
  /** To be told of every request. */
  observeHttp: HttpObserver;
  /** To be told of every request to the receiver of notifications. @param connector one of ours, or `none` */
  countNotification(connector: string, result: NotificationResult): void;
  /** Where features register their figures. */
  registry: Registry;
  /** Reads the figures of a feature with each scrape. */
  add(feature: FeatureMetrics): void;
  /** To be told of every reading of the configuration that found something else. @param refusedFiles that are not taken up now */
  observeReload(result: 'taken-up' | 'refused', refusedFiles: number): void;
  /** What is the matter, by the same figures: as old as those are. */
  problems(): Promise<readonly Problem[]>;
  /** Text in Prometheus' exposition format 0.0.4. What is computed from the state may be as old as it says. */
  render(): Promise<string>;
}

/** Figures that a feature computes from the state of its tenants. */
export interface FeatureMetrics {
  /** Whether a tenant has the feature: others are not opened for it. */
  isUsedBy(outline: Outline): boolean;
  /** Reads the figures of the tenants. @returns publishes all of them at once */
  read(tenants: Iterable<OpenTenant>): Promise<() => void>;
}

/** Request durations in seconds, from a loopback answer to the HTTP client's time limit. */
const DURATION_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

interface MetricsOptions {
  /** What was handed to the collector, asked for at each scrape; absent where there is none. */
  telemetry?: HandedCounts;
  /** The process's; default: its own. */
  statuses?: Statuses;
}

/** @param installation asked for at each scrape; null until everything is composed */
export function createMetrics(installation: () => Installation | null, options: MetricsOptions = {}): Metrics {
  const { telemetry = {}, statuses = openStatuses() } = options;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'clinic_mirror_http_requests_total',
    help: 'Requests sent, by call and answer (2xx, 4xx, 5xx, none)',
    labelNames: ['call', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'clinic_mirror_http_request_seconds',
    help: 'Time until the whole answer has arrived',
    labelNames: ['call'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const notifications = new Counter({
    name: 'clinic_mirror_notifications_total',
    help: 'Requests to the receiver of notifications, by result: hint, upkeep, opened, handshake; ignored requests: unknown, wrong-secret, unreadable, limited',
    labelNames: ['connector', 'result'],
    registers: [registry],
  });
  const reloads = createReloadMetrics(registry);
  createTelemetryMetrics(registry, telemetry);
  const gauges = createGauges(registry);
  const features: FeatureMetrics[] = [];
  let filled: Status | null = null;
  let filling: Promise<void> | null = null;
  async function fillBy(open: Installation, reported: Status): Promise<void> {
    const publications: (() => void)[] = [];
    for (const { isUsedBy, read } of features) publications.push(await read(openSome(open, isUsedBy)));
    fill(gauges, { ...reported, outageAfterMs: open.outageAfterMs });
    for (const publish of publications) publish();
    filled = reported;
  }
  async function refresh(open: Installation): Promise<number> {
    const { status: reported, ageMs } = await statuses.read(open);
    if (reported === filled) return ageMs;
    filling ??= fillBy(open, reported).finally(() => {
      filling = null;
    });
    // Whoever stopped waiting leaves nobody who hears of a failure; the next one asks again.
    filling.catch(() => {});
    await (filled === null ? filling : Promise.race([filling, pause(LONGEST_WAIT_MS, undefined, { ref: false })]));
    return ageMs;
  }
  return {
    countNotification: (connector, result) => notifications.inc({ connector, result }),
    observeHttp(label, httpStatus, durationMs) {
      requests.inc({ call: label, status: httpStatus === 0 ? 'none' : `${Math.floor(httpStatus / 100)}xx` });
      durations.observe({ call: label }, durationMs / 1_000);
    },
    registry,
    add: (feature) => void features.push(feature),
    observeReload: reloads,
    async problems() {
      const open = installation();
      return open === null ? [] : (await statuses.read(open)).status.problems;
    },
    async render() {
      const open = installation();
      if (open !== null && !(await publishFigures(gauges, () => refresh(open)))) filled = null;
      return registry.metrics();
    },
  };
}

/** Without Redis nothing is known of tenants, and their figures are gone; that it is away is told all the same. */
async function publishFigures(gauges: Gauges, refresh: () => Promise<number>): Promise<boolean> {
  try {
    gauges.stateAge.set((await refresh()) / 1_000);
    return true;
  } catch (thrown) {
    const error = asMirrorError(thrown);
    if (error.code !== 'redis-unreachable') throw error;
    fill(gauges, { at: 0, tenants: [], problems: [redisAway(null)], incidents: [], outageAfterMs: null });
    gauges.stateAge.remove();
    return false;
  }
}

function createReloadMetrics(registry: Registry): Metrics['observeReload'] {
  const registers = [registry];
  const readings = new Counter({
    name: 'clinic_mirror_configuration_reloads_total',
    help: 'Configuration reloads with changes: taken-up if the daemon applied all changes, otherwise refused',
    labelNames: ['result'],
    registers,
  });
  const takenUp = new Gauge({
    name: 'clinic_mirror_configuration_taken_up_timestamp_seconds',
    help: 'Time of the last start or reload in which the daemon applied all files',
    registers,
  });
  const refused = new Gauge({
    name: 'clinic_mirror_configuration_refused',
    help: 'Changed files that the daemon refuses; settings and profiles count as one file',
    registers,
  });
  takenUp.setToCurrentTime();
  return (result, refusedFiles) => {
    readings.inc({ result });
    refused.set(refusedFiles);
    if (refusedFiles === 0) takenUp.setToCurrentTime();
  };
}

/** What was handed to a collector of traces and log lines, by what it was. */
type HandedCounts = Readonly<Record<string, { sent: number; dropped: number }>>;

function createTelemetryMetrics(registry: Registry, handed: HandedCounts): void {
  const reported = (name: string, help: string, which: 'sent' | 'dropped') =>
    new Counter({
      ...{ name, help, labelNames: ['signal'], registers: [registry] },
      collect() {
        this.reset();
        for (const [signal, counts] of Object.entries(handed)) this.inc({ signal }, counts[which]);
      },
    });
  reported(
    'clinic_mirror_telemetry_sent_total',
    'Spans (traces) and log lines (logs) that the collector accepted',
    'sent',
  );
  reported(
    'clinic_mirror_telemetry_dropped_total',
    'Spans (traces) and log lines (logs) that were dropped: the queue was full or the collector refused them',
    'dropped',
  );
}

type Outline = Installation['outlines'] extends ReadonlyMap<string, infer Each> ? Each : never;

/** Tenants of which there is something to tell, opened one after the other. */
function* openSome(
  { tenants, outlines }: Installation,
  isWanted: (outline: Outline) => boolean,
): Generator<OpenTenant> {
  for (const [id, outline] of outlines) {
    const tenant = isWanted(outline) ? tenants.get(id) : undefined;
    if (tenant !== undefined) yield tenant;
  }
}

const TARGET_GAUGES = {
  age: [
    'clinic_mirror_target_age_seconds',
    'Time since the target last matched the clinic; absent before the first match',
  ],
  nearAge: [
    'clinic_mirror_target_near_age_seconds',
    'Time since the next 48 hours of the clinic were last read and planned for the target; for a CRM, since all data was',
  ],
  lag: ['clinic_mirror_target_lag_seconds', 'Waiting time of the oldest due change; 0 if no change waits'],
  pending: ['clinic_mirror_target_pending', 'Planned changes that the target has not acknowledged yet'],
  failing: ['clinic_mirror_target_failing', 'Changes whose last attempt failed'],
  held: ['clinic_mirror_target_held', 'Changes that wait for a decision on a hold'],
  unconfirmed: [
    'clinic_mirror_target_unconfirmed',
    "Records that are missing in the clinic's list and whose removal is not confirmed yet",
  ],
  links: ['clinic_mirror_target_links', LINKS_COUNT.description],
  ambiguous: [
    'clinic_mirror_target_ambiguous',
    'Objects with the owner tag of clinic-mirror that match no single record',
  ],
  forged: [
    'clinic_mirror_target_forged',
    'Stored records of the target, or its waiting changes, that another program altered in Redis (record-forged), since the state began; the daemon ignores them',
  ],
  edited: ['clinic_mirror_target_edited', 'Objects that differ because of an edit by hand'],
  removed: ['clinic_mirror_target_removed', 'Objects that were deleted by hand and are not restored'],
  churning: [
    'clinic_mirror_target_churning',
    'Objects that the daemon no longer restores today, because it restored them too often',
  ],
  drifted: [
    'clinic_mirror_target_drifted',
    '1 while changes by hand require a decision (policy report, or restored too often today)',
  ],
  heard: [
    'clinic_mirror_target_heard',
    '1 while the vendor sends notifications of changes, 0 while only polling finds changes',
  ],
  egressStopped: ['clinic_mirror_target_egress_stopped', 'Records that the privacy check on outgoing data stopped'],
  serverAway: [
    'clinic_mirror_target_server_away',
    '1 while a server that the target or its clinic needs is unavailable',
  ],
  stopped: ['clinic_mirror_target_stopped', '1 while an error of the whole target stops all its changes'],
} as const;

type TargetGauge = keyof typeof TARGET_GAUGES;

interface Gauges {
  targets: Record<TargetGauge, Gauge>;
  tenantState: Gauge;
  targetState: Gauge;
  outcomes: Gauge;
  tokenExpiry: Gauge;
  needsLogin: Gauge;
  problems: Gauge;
  breaksIn: Gauge;
  serverAway: Gauge;
  serverAwayClinics: Gauge;
  serverAwayReportedAfter: Gauge;
  unusable: Gauge;
  unread: Gauge;
  withheld: Gauge;
  superseded: Gauge;
  lastRunFailed: Gauge;
  stateAge: Gauge;
}

const SYNC_HEALTH_LABELS = ['sync', 'health'];

function syncHealthOf({ sync, health }: SyncHealth) {
  return { sync: sync, health: health };
}

function createGauges(registry: Registry): Gauges {
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const targets = Object.fromEntries(
    Object.entries(TARGET_GAUGES).map(([key, [name, help]]) => [key, gauge(name, help, ['tenant', 'target'])]),
  ) as Record<TargetGauge, Gauge>;
  return {
    targets,
    tenantState: gauge(
      'clinic_mirror_tenant_state',
      'Sync and health of all targets of a clinic together; always 1, one series for each clinic',
      ['tenant', ...SYNC_HEALTH_LABELS],
    ),
    targetState: gauge(
      'clinic_mirror_target_state',
      'Sync and health of a target; always 1, one series for each target',
      [...['tenant', 'target', ...SYNC_HEALTH_LABELS]],
    ),
    outcomes: gauge(
      'clinic_mirror_target_outcomes',
      'Changes that the target accepted since its state began: created, updated, deleted, adopted',
      ['tenant', 'target', 'effect'],
    ),
    tokenExpiry: gauge(
      'clinic_mirror_token_expiry_seconds',
      'Time until the access token expires; the daemon refreshes the token before',
      ['tenant', 'connection'],
    ),
    needsLogin: gauge('clinic_mirror_needs_login', '1 while an administrator must log in or confirm the account', [
      'tenant',
      'connection',
    ]),
    problems: gauge(
      'clinic_mirror_problems',
      'Problems as in status --problems, by who must act and by code; an empty tenant means the installation',
      ['tenant', 'health', 'code'],
    ),
    serverAway: gauge('clinic_mirror_server_away_seconds', 'Duration of the outage of a server that clinics need', [
      'host',
    ]),
    serverAwayClinics: gauge(
      'clinic_mirror_server_away_clinics',
      'Number of clinics that wait for an unavailable server',
      ['host'],
    ),
    serverAwayReportedAfter: gauge(
      'clinic_mirror_server_away_told_after_seconds',
      'Outage duration after which alerts and the shipped rule report a server (alerts.outageAfterMinutes)',
      [],
    ),
    breaksIn: gauge(
      'clinic_mirror_breaks_in_seconds',
      'Time until a predicted problem takes effect; negative if it already has',
      ['tenant', 'code'],
    ),
    unusable: gauge('clinic_mirror_rows_set_aside', 'Rows from the clinic that the last cycle could not use', [
      'tenant',
      'code',
    ]),
    unread: gauge(
      'clinic_mirror_values_unread',
      'Values that the last cycle could not read and left empty, by stream and field',
      ['tenant', 'field'],
    ),
    withheld: gauge(
      'clinic_mirror_catalogue_withheld',
      '1 while the connection may not read this part (agendas, locations, treatments, patients), so that events lack its texts',
      ['tenant', 'part'],
    ),
    superseded: gauge(
      'clinic_mirror_configuration_superseded',
      '1 while another process has a newer configuration; this process then does no work for the tenant',
      ['tenant'],
    ),
    lastRunFailed: gauge('clinic_mirror_last_cycle_failed', '1 if the last cycle ended early', ['tenant']),
    stateAge: gauge('clinic_mirror_state_age_seconds', 'Age of the metrics that are computed from the state', []),
  };
}

/** What gauges are filled with. */
type ReportedStatus = Pick<Status, 'at' | 'incidents' | 'problems' | 'tenants'> & { outageAfterMs: number | null };

function fill(gauges: Gauges, { at, tenants, problems, incidents, outageAfterMs }: ReportedStatus): void {
  const { targets: ofTargets, ...others } = gauges;
  for (const gauge of [...Object.values(ofTargets), ...Object.values(others)]) gauge.reset();
  for (const health of ['action-required', 'retrying'] as const) {
    for (const tenant of ['', ...tenants.map((one) => one.tenant)])
      gauges.problems.set({ tenant, health, code: '' }, 0);
  }
  for (const { tenant, health, code } of problems) gauges.problems.inc({ tenant: tenant ?? '', health, code });
  if (outageAfterMs !== null) gauges.serverAwayReportedAfter.set(outageAfterMs / 1_000);
  for (const { host, sinceAt, clinics } of incidents) {
    gauges.serverAway.set({ host }, Math.max(0, at - sinceAt) / 1_000);
    gauges.serverAwayClinics.set({ host }, clinics.length);
  }
  // The soonest one of each is set last.
  const coming = problems
    .filter(({ breaksAt }) => breaksAt !== null)
    .sort((one, other) => (other.breaksAt ?? 0) - (one.breaksAt ?? 0));
  for (const { tenant, code, breaksAt } of coming) {
    gauges.breaksIn.set({ tenant: tenant ?? '', code }, ((breaksAt ?? at) - at) / 1_000);
  }
  for (const { tenant, targets, connections, lastRun, configuration, ...syncHealth } of tenants) {
    gauges.tenantState.set({ tenant, ...syncHealthOf(syncHealth) }, 1);
    const unread = incidents.some((incident) => incident.unread.includes(tenant));
    for (const each of targets) {
      const labels = { tenant, target: each.target };
      const { created, updated, deleted, adopted } = each;
      gauges.targetState.set({ ...labels, ...syncHealthOf(each) }, 1);
      if (each.inSyncAsOf !== null) gauges.targets.age.set(labels, (at - each.inSyncAsOf) / 1_000);
      if (each.soonAsOf !== null) gauges.targets.nearAge.set(labels, (at - each.soonAsOf) / 1_000);
      const waitedMs = each.oldestPendingAt === null ? 0 : Math.max(0, at - each.oldestPendingAt);
      gauges.targets.lag.set(labels, waitedMs / 1_000);
      for (const name of ['pending', 'failing', 'held', 'unconfirmed', 'links', 'ambiguous', 'forged'] as const) {
        gauges.targets[name].set(labels, each[name]);
      }
      for (const name of ['edited', 'removed', 'churning'] as const) {
        if (each.drift !== null) gauges.targets[name].set(labels, each.drift[name]);
      }
      gauges.targets.drifted.set(labels, each.state === 'drifted' ? 1 : 0);
      gauges.targets.heard.set(labels, each.notifications.untilAt === null ? 0 : 1);
      const stopped = each.gaps.find(({ code }) => code === 'egress-stopped');
      gauges.targets.egressStopped.set(labels, stopped?.count ?? 0);
      const isAway = unread || incidents.some(({ host }) => host === each.outage);
      gauges.targets.serverAway.set(labels, isAway ? 1 : 0);
      gauges.targets.stopped.set(labels, each.failure === null ? 0 : 1);
      for (const [effect, count] of Object.entries({ created, updated, deleted, adopted })) {
        gauges.outcomes.set({ ...labels, effect }, count);
      }
    }
    for (const { connection, state, accessExpiresAt } of connections) {
      if (accessExpiresAt !== null) {
        gauges.tokenExpiry.set({ tenant, connection }, (accessExpiresAt - at) / 1_000);
      }
      gauges.needsLogin.set(
        { tenant, connection },
        state === 'connected' || state === 'retrying' || state === 'static' ? 0 : 1,
      );
    }
    for (const [code, count] of Object.entries(lastRun?.unusable ?? {})) gauges.unusable.set({ tenant, code }, count);
    for (const [field, count] of Object.entries(lastRun?.unread ?? {})) gauges.unread.set({ tenant, field }, count);
    for (const { part } of lastRun?.withheld ?? []) gauges.withheld.set({ tenant, part }, 1);
    gauges.superseded.set({ tenant }, configuration.isOurs ? 0 : 1);
    gauges.lastRunFailed.set({ tenant }, lastRun?.error == null ? 0 : 1);
  }
}
