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
    help: 'Requests sent, by call and answer',
    labelNames: ['call', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'clinic_mirror_http_request_seconds',
    help: 'Time to a whole answer',
    labelNames: ['call'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const notifications = new Counter({
    name: 'clinic_mirror_notifications_total',
    help: 'Requests to the receiver of notifications, by connector and what became of them',
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
    help: 'Readings of the configuration that found changes, by whether all of them count',
    labelNames: ['result'],
    registers,
  });
  const takenUp = new Gauge({
    name: 'clinic_mirror_configuration_taken_up_timestamp_seconds',
    help: 'When files were last read of which all count',
    registers,
  });
  const refused = new Gauge({
    name: 'clinic_mirror_configuration_refused',
    help: 'Changed files of tenants, and settings with profiles together, that are not taken up',
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
  reported('clinic_mirror_telemetry_sent_total', 'Spans and log lines that the collector took', 'sent');
  reported('clinic_mirror_telemetry_dropped_total', 'Spans and log lines that had no room or were refused', 'dropped');
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
  age: ['clinic_mirror_target_age_seconds', 'Time since the target was last known to show what the clinic shows'],
  nearAge: [
    'clinic_mirror_target_near_age_seconds',
    'Time since what the clinic shows of the next 48 hours was last read and planned for the target',
  ],
  lag: ['clinic_mirror_target_lag_seconds', 'Time that the change due first has waited; 0 when nothing waits'],
  pending: ['clinic_mirror_target_pending', 'Changes decided and not yet acknowledged'],
  failing: ['clinic_mirror_target_failing', 'Changes whose last try failed'],
  held: ['clinic_mirror_target_held', 'Deletions that wait for a person'],
  unconfirmed: [
    'clinic_mirror_target_unconfirmed',
    "Records that the clinic's list lacks and that are not confirmed as gone yet",
  ],
  links: ['clinic_mirror_target_links', LINKS_COUNT.description],
  ambiguous: ['clinic_mirror_target_ambiguous', 'Objects with our owner tag that match no record for certain'],
  forged: [
    'clinic_mirror_target_forged',
    'Records of a target, or changes that wait for it, that were not as we wrote them; nothing was done by any',
  ],
  edited: ['clinic_mirror_target_edited', 'Objects that stand edited by hand'],
  removed: ['clinic_mirror_target_removed', 'Objects that stay deleted by hand'],
  churning: ['clinic_mirror_target_churning', 'Objects that are no longer restored today'],
  drifted: ['clinic_mirror_target_drifted', '1 while changes by hand wait for a person'],
  heard: ['clinic_mirror_target_heard', '1 while the vendor tells us of changes, 0 while only polling finds them'],
  egressStopped: [
    'clinic_mirror_target_egress_stopped',
    'Records kept back, since what would be written tells more of patients than the target may know',
  ],
  serverAway: [
    'clinic_mirror_target_server_away',
    '1 while a server is away that the target, or its clinic, waits for',
  ],
  stopped: ['clinic_mirror_target_stopped', '1 while the whole target stands still'],
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
      'Both syncHealth of where a clinic stands, all targets together; always 1',
      ['tenant', ...SYNC_HEALTH_LABELS],
    ),
    targetState: gauge('clinic_mirror_target_state', 'Both syncHealth of where a target stands; always 1', [
      ...['tenant', 'target', ...SYNC_HEALTH_LABELS],
    ]),
    outcomes: gauge('clinic_mirror_target_outcomes', 'What the target was given since its state began', [
      'tenant',
      'target',
      'effect',
    ]),
    tokenExpiry: gauge('clinic_mirror_token_expiry_seconds', 'Time until the access token ends', [
      'tenant',
      'connection',
    ]),
    needsLogin: gauge('clinic_mirror_needs_login', '1 while a person must log in, or confirm the account', [
      'tenant',
      'connection',
    ]),
    problems: gauge('clinic_mirror_problems', 'What is the matter, as status tells it, by who ends it and code', [
      'tenant',
      'health',
      'code',
    ]),
    serverAway: gauge('clinic_mirror_server_away_seconds', 'For how long a server is away that clinics wait for', [
      'host',
    ]),
    serverAwayClinics: gauge('clinic_mirror_server_away_clinics', 'Clinics that wait for a server that is away', [
      'host',
    ]),
    serverAwayReportedAfter: gauge(
      'clinic_mirror_server_away_told_after_seconds',
      'After how long alerts tell that a server is away',
      [],
    ),
    breaksIn: gauge('clinic_mirror_breaks_in_seconds', 'Time until what is seen coming does harm', ['tenant', 'code']),
    unusable: gauge('clinic_mirror_rows_set_aside', 'Rows of the last cycle that could not be used', [
      'tenant',
      'code',
    ]),
    unread: gauge(
      'clinic_mirror_values_unread',
      'Values of the last cycle that could not be read, by stream and field',
      ['tenant', 'field'],
    ),
    withheld: gauge('clinic_mirror_catalogue_withheld', '1 while a part of the catalogue may not be read', [
      'tenant',
      'part',
    ]),
    superseded: gauge('clinic_mirror_configuration_superseded', '1 while another process has a newer configuration', [
      'tenant',
    ]),
    lastRunFailed: gauge('clinic_mirror_last_cycle_failed', '1 when the last cycle ended early', ['tenant']),
    stateAge: gauge('clinic_mirror_state_age_seconds', 'Time since the figures of tenants were computed', []),
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
