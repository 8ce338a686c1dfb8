import { setTimeout as pause } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpObserver } from '../../core/http/client.ts';
import { asMirrorError, isRedisFault } from '../../core/model/errors.ts';
import type { Problem } from '../../core/model/problems.ts';
import type { SyncHealth } from '../../core/model/schemas.ts';
import type { OpenTenant } from '../../tenant/tenant.ts';
import type { Installation } from './installation.ts';
import { ofRedis } from './installation-problems.ts';
import { GAUGES, TARGET_GAUGES } from './metric-definitions.ts';
import type { NotificationResult } from './notifications.ts';
import type { Status } from './status-schemas.ts';
import { LONGEST_WAIT_MS, openStatuses, type Statuses } from './statuses.ts';

/** Metrics of the daemon. Labels are bounded: configured tenants, targets and connections, and constant call names. */
export interface Metrics {
  /** Counts each HTTP request. */
  observeHttp: HttpObserver;
  /** Counts each request to the notification receiver. @param connector known connector, or `none` */
  countNotification(connector: string, result: NotificationResult): void;
  /** Registry for metrics of features. */
  registry: Registry;
  /** Adds metrics of a feature, read at each scrape. */
  add(feature: FeatureMetrics): void;
  /** Counts each changed configuration. @param refusedFiles number of refused files */
  observeReload(result: 'applied' | 'refused', refusedFiles: number): void;
  /** Returns the problems of the metrics, with the age of the metrics. */
  problems(): Promise<readonly Problem[]>;
  /** Returns Prometheus' exposition format 0.0.4. Metrics from the state may be cached; a metric states their age. */
  render(): Promise<string>;
}

/** Metrics that a feature computes from the state of its tenants. */
export interface FeatureMetrics {
  /** Returns whether a tenant uses the feature. Other tenants are not opened. */
  isUsedBy(outline: Outline): boolean;
  /** Reads the metrics of the tenants. @returns a function that publishes the metrics together */
  read(tenants: Iterable<OpenTenant>): Promise<() => void>;
}

/** Request durations in seconds, from a loopback answer to the HTTP client's time limit. */
const DURATION_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

/**
 * Gauges of prom-client with the ending of counters, for which Prometheus would suggest `rate()`
 * (https://prometheus.io/docs/practices/naming/). The same numbers by type remain.
 */
const MISNAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

interface MetricsOptions {
  /** Telemetry counts, read at each scrape; absent without a collector. */
  telemetry?: HandedCounts;
  /** Default: the statuses of the process. */
  statuses?: Statuses;
}

/** @param installation called at each scrape; null until composition is complete */
export function createMetrics(installation: () => Installation | null, options: MetricsOptions = {}): Metrics {
  const { telemetry = {}, statuses = openStatuses() } = options;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
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
    help: 'Requests to the receiver of notifications, by result: hint (a change), upkeep (a subscription needs a check), opened (first message of a subscription), handshake (the vendor verifies the URL); ignored requests: unknown, wrong-secret, unreadable, limited',
    labelNames: ['connector', 'result'],
    registers: [registry],
  });
  const reloads = createReloadMetrics(registry);
  createTelemetryMetrics(registry, telemetry);
  countDamage(registry, installation);
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
    // A caller that stopped waiting does not handle a failure. The next caller computes again.
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

function countDamage(registry: Registry, installation: () => Installation | null): void {
  new Counter({
    name: 'clinic_mirror_state_damaged_total',
    help: 'Stored values that did not open (state-damaged), by kind of data',
    ...{ labelNames: ['kind'], registers: [registry] },
    collect() {
      this.reset();
      for (const [kind, count] of installation()?.damaged.counts ?? []) this.inc({ kind }, count);
    },
  });
}

/** Without Redis, tenant metrics are removed. The Redis outage is still reported. */
async function publishFigures(gauges: Gauges, refresh: () => Promise<number>): Promise<boolean> {
  try {
    gauges.stateAge.set((await refresh()) / 1_000);
    return true;
  } catch (thrown) {
    const error = asMirrorError(thrown);
    if (!isRedisFault(error.code)) throw error;
    fill(gauges, { at: 0, tenants: [], problems: [ofRedis(error, null)], incidents: [], outageAfterMs: null });
    gauges.stateAge.remove();
    return false;
  }
}

function createReloadMetrics(registry: Registry): Metrics['observeReload'] {
  const registers = [registry];
  const readings = new Counter({
    name: 'clinic_mirror_configuration_reloads_total',
    help: 'Configuration reloads with changes: applied if the daemon applied all changes, otherwise refused',
    labelNames: ['result'],
    registers,
  });
  const applied = new Gauge({
    name: 'clinic_mirror_configuration_applied_timestamp_seconds',
    help: 'Time of the last start or reload in which the daemon applied all files',
    registers,
  });
  const refused = new Gauge({
    name: 'clinic_mirror_configuration_refused',
    help: 'Changed files that the daemon refuses; settings and profiles count as one file',
    registers,
  });
  applied.setToCurrentTime();
  return (result, refusedFiles) => {
    readings.inc({ result });
    refused.set(refusedFiles);
    if (refusedFiles === 0) applied.setToCurrentTime();
  };
}

/** Counts of traces and log lines sent to a collector, by kind. */
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

/** Yields tenants with metrics, opened one at a time. */
function* openSome(
  { tenants, outlines }: Installation,
  isWanted: (outline: Outline) => boolean,
): Generator<OpenTenant> {
  for (const [id, outline] of outlines) {
    const tenant = isWanted(outline) ? tenants.get(id) : undefined;
    if (tenant !== undefined) yield tenant;
  }
}

type TargetGauge = keyof typeof TARGET_GAUGES;

type Gauges = { targets: Record<TargetGauge, Gauge> } & Record<keyof typeof GAUGES, Gauge>;

function syncHealthOf({ sync, health }: SyncHealth) {
  return { sync, health };
}

function createGauges(registry: Registry): Gauges {
  const gauge = (name: string, help: string, labelNames: readonly string[]) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
  const targets = Object.entries(TARGET_GAUGES).map(([key, [name, help]]) => [
    key,
    gauge(name, help, ['tenant', 'target']),
  ]);
  const others = Object.entries(GAUGES).map(([key, definition]) => [
    key,
    gauge(definition[0], definition[1], definition[2]),
  ]);
  return { targets: Object.fromEntries(targets), ...Object.fromEntries(others) } as Gauges;
}

/** Part of the status that metrics use. */
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
  for (const { host, sinceAt, tenants } of incidents) {
    gauges.serverAway.set({ host }, Math.max(0, at - sinceAt) / 1_000);
    gauges.serverAwayClinics.set({ host }, tenants.length);
  }
  // Sets the earliest value of each label last, because the last value remains.
  const coming = problems
    .filter(({ breaksAt }) => breaksAt !== null)
    .sort((one, other) => (other.breaksAt ?? 0) - (one.breaksAt ?? 0));
  for (const { tenant, code, breaksAt } of coming) {
    gauges.breaksIn.set({ tenant: tenant ?? '', code }, ((breaksAt ?? at) - at) / 1_000);
  }
  for (const { tenant, targets, connections, lastRun, configuration, storage, ...syncHealth } of tenants) {
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
      for (const name of ['pending', 'failing', 'held', 'unconfirmed', 'links', 'ambiguous'] as const) {
        gauges.targets[name].set(labels, each[name]);
      }
      for (const name of ['edited', 'removed', 'churning'] as const) {
        if (each.drift !== null) gauges.targets[name].set(labels, each.drift[name]);
      }
      gauges.targets.drifted.set(labels, each.reason === 'manual-changes' ? 1 : 0);
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
    if (storage.bytes !== null) gauges.tenantRedisBytes.set({ tenant }, storage.bytes);
    gauges.lastRunFailed.set({ tenant }, lastRun?.error == null ? 0 : 1);
  }
}
