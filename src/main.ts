import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { WRONG_USER } from './clinic/read/users.ts';
import { connectors as registry } from './connectors/registry.ts';
import { type Logger, noSpans, type Spans } from './core/log/logger.ts';
import { asMirrorError } from './core/model/errors.ts';
import { MINUTE_MS, SECOND_MS } from './core/model/time.ts';
import type { Telemetry } from './core/telemetry/telemetry.ts';
import { announceFirstSignIn, openAccess, publicUrlOf } from './daemon/access.ts';
import { BROWSER, recordSealingKeys } from './daemon/acts.ts';
import { type Composition, compose } from './daemon/compose.ts';
import { logAllowances, openWork, within } from './daemon/daemon-work.ts';
import { openConfigurationServices } from './daemon/managed-tenants.ts';
import { requireEntry } from './daemon/open-connection.ts';
import { createLoginServices, openOperatorServices } from './daemon/operator-services.ts';
import { logInvalidTenants, type Reloading } from './daemon/reload.ts';
import type { Connectors } from './daemon/targets.ts';
import { watchStateCounter } from './daemon/upkeep.ts';
import { showFeed } from './features/feeds/feeds.ts';
import { createFeedDirectory } from './features/feeds/store.ts';
import { addFeatureMetrics } from './features/metrics.ts';
import { createAnswerDirectory } from './features/reminders/answer-store.ts';
import { createAnswerServices } from './features/reminders/answers.ts';
import { takeReminderCallback } from './features/reminders/callbacks.ts';
import { clearTriggersIn } from './features/triggers/store.ts';
import { Turns } from './jobs/turns.ts';
import { message, render } from './messages/message.ts';
import { type Installation, requireTenant } from './operator/control/installation.ts';
import { byConfiguration, isLoss, ofRedis, problemsOfHost } from './operator/control/installation-problems.ts';
import { describeLoginLink, noPublicPort } from './operator/control/logins.ts';
import { createMetrics, type Metrics } from './operator/control/metrics.ts';
import { createNotificationReceiver } from './operator/control/notifications.ts';
import { does, type Role } from './operator/control/roles.ts';
import { openStatuses, type Statuses } from './operator/control/statuses.ts';
import { type ListeningServer, listen } from './operator/http-server/app.ts';
import { createOperatorServer } from './operator/http-server/operator-server.ts';
import { createPublicServer } from './operator/http-server/public-server.ts';
import type { LoginOutcome, LoginResult, NotReady, OperatorVerbs, PublicVerbs } from './operator/http-server/verbs.ts';
import type { Configuration } from './settings/configuration.ts';
import type { ConfigurationFiles } from './settings/configuration-files.ts';
import { joinAll } from './state/config-version.ts';
import { type RedisWatch, watchRedis } from './state/redis.ts';
import { checkRedis, checkRepeatedly } from './state/redis-check.ts';
import { createSubscriptionDirectory } from './tenant/subscription-store.ts';
import { repeatWork } from './tenant/work-queues.ts';

/** A running daemon. */
export interface Daemon {
  /** Port for metrics and probes. */
  operatorPort: number;
  /** Public port; null if not configured, or in another process's role. */
  publicPort: number | null;
  composition: Composition;
  /** Reads all configuration files again and makes the result the newest configuration; no effect without files. */
  reload(): void;
  /** Ends cleanly: the work within the grace time plus a second, then ports and connections. Decisions are stored in the outbox. */
  close(): Promise<void>;
}

/** Options of the start. */
export interface DaemonOptions {
  /** Default: all. */
  role?: Role;
  /** Default: the registry's connectors. */
  connectors?: Connectors;
  /** Files of the configuration, whose changes are applied. Absent: no reloads. */
  files?: ConfigurationFiles;
  /** Receives traces; the caller closes it. Default: no tracing. */
  telemetry?: Telemetry | null;
  /** Shows a text to the operator who started the daemon, outside of the log, which others also read. Absent: no text is shown. */
  report?: (text: string) => void;
}

/** Longest wait of an administrator for an applied change; a longer check continues afterwards. */
const FOLLOW_MS = 4 * SECOND_MS;
/** Longest wait of readiness for a status that shows a loss. Less than the second that it waits for problems. */
const LOSS_WAIT_MS = SECOND_MS / 2;

/**
 * Starts the daemon: checks Redis, composes the parts, opens the ports and schedules the jobs of every tenant, within its role.
 * @param signal ends the wait for Redis during the start; `close` ends a running daemon
 * @throws MirrorError `settings` if Redis is not durable, or a port is unavailable or has no host; `remote` if Redis does not answer
 */
export async function startDaemon(
  configuration: Configuration,
  log: Logger,
  signal: AbortSignal,
  { role = 'all', connectors = registry, files, telemetry = null, report }: DaemonOptions = {},
): Promise<Daemon> {
  const { settings } = configuration;
  let installation: Installation | null = null;
  const statuses = openStatuses();
  const metrics = createMetrics(() => installation, { statuses, ...(telemetry && { telemetry: telemetry.counts }) });
  const spans = telemetry?.spans ?? noSpans;
  const turns = new Turns();
  // A failed start closes all opened parts, so that the process ends.
  await using opened = new AsyncDisposableStack();
  const composition = compose({
    ...{ configuration, log, connectors, actLines: process.stdout },
    priority: 'background',
    observe: metrics.observeHttp,
    observeLag: addFeatureMetrics(metrics),
    ...(telemetry === null ? {} : { spans }),
    whileInLine: turns.inLine,
  });
  installation = composition.installation;
  opened.defer(async () => void (await within(SECOND_MS, [composition.close()])));
  const { readFrom } = settings.redis.place;
  await checkRedis(composition.redis, signal, readFrom);
  opened.defer(checkRepeatedly(composition.redis, log, MINUTE_MS, readFrom));
  opened.defer(await watchStateCounter(composition));
  await recordSealingKeys(composition.acts, settings, log);
  const watch = watchRedis(composition.redis, log);
  opened.defer(() => watch.stop());
  let reloading: Reloading | null = null;
  // An administrator gets an answer in time, even if an active tenant delays the change.
  const follow = async () => void (await Promise.race([reloading?.look(), pause(FOLLOW_MS, null, { ref: false })]));
  const parts = { composition, metrics, statuses, watch, spans, files, follow, report };
  const operator = await openOperatorPort(parts);
  const ports: (() => Promise<void> | undefined)[] = [() => operator.close(SECOND_MS)];
  opened.defer(() => Promise.all(ports.map((close) => close())).then(() => {}));
  const outside = await openPublicPort(composition, metrics, role);
  ports.push(() => outside?.close(SECOND_MS));
  // In the order of configuration reads: the last started process is the newest.
  await joinAll(composition.redis, composition.configVersions);
  const { queues, redis, isNeedless } = composition;
  const { outlines, unusable, unchecked } = configuration;
  const clearTriggers = clearTriggersIn(redis);
  const work = { tenants: [...outlines.values()], queues, clearTriggers, isNeedless, log };
  if (does(role, 'scheduler') && unchecked.size === 0) await repeatWork(work, settings.schedule);
  const running = openWork({ composition, role, files, metrics, statuses, turns, spans, work });
  opened.defer(running.end);
  reloading = running.reloading;
  const listening = { operatorPort: operator.port, publicPort: outside?.port ?? null };
  log.info({ ...listening, role, tenants: outlines.size + unchecked.size }, 'daemon started');
  logInvalidTenants(unusable, log);
  logAllowances(outlines, log);
  const closing = opened.move();
  return {
    ...listening,
    composition,
    reload: () => reloading?.reload(),
    async close() {
      log.info({}, 'daemon is stopping');
      await closing.disposeAsync();
    },
  };
}

async function openOperatorPort(parts: {
  composition: Composition;
  metrics: Metrics;
  statuses: Statuses;
  watch: RedisWatch;
  spans: Spans;
  files: ConfigurationFiles | undefined;
  /** Applies an administrator's change before the next check. */
  follow(): Promise<void>;
  report: DaemonOptions['report'];
}): Promise<ListeningServer> {
  const { composition, metrics, statuses, watch, spans, files, follow, report } = parts;
  const configurations = files === undefined ? null : openConfigurationServices(composition, files, follow);
  const { operator } = composition.configuration.settings;
  const token = operator.token?.reveal() ?? null;
  const verbs: OperatorVerbs = {
    metrics: metrics.render,
    async readiness() {
      const failure = watch.failure();
      const away = failure === null ? [] : [{ what: 'redis', why: render(failure.why), code: failure.error.code }];
      const ofHost = failure === null ? await notReadyOf(composition, statuses) : [];
      return [...away, ...ofHost, ...starting(composition.configuration)];
    },
    async problems() {
      const failure = watch.failure();
      return failure === null ? metrics.problems() : [ofRedis(failure.error, null)];
    },
  };
  let port: number | null = null;
  // Called by requests to the port, so the port is already known.
  const publicUrl = () => publicUrlOf(composition, port) ?? '';
  const access = openAccess(composition, publicUrl);
  const administrators = { services: openOperatorServices(composition, statuses, configurations, access), publicUrl };
  const isForPeople = operator.access !== undefined;
  const serverOptions = {
    token,
    log: composition.log,
    spans,
    administrators: isForPeople ? administrators : null,
    trustedProxies: () => composition.configuration.settings.http.trustedProxies,
  };
  const server = await listen(createOperatorServer(verbs, serverOptions), 'operator', operator);
  ({ port } = server);
  if (isForPeople && report !== undefined) await announceFirstSignIn(composition, access, report);
  return server;
}

/**
 * Returns the problems of Redis and of this host that prevent work, with a loss of Redis data until an operator decides. Of different
 * configurations, only an older one does: otherwise an update of a deployment would wait for ever.
 */
async function notReadyOf({ installation, stateCounter }: Composition, statuses: Statuses): Promise<NotReady[]> {
  const [redis, state] = [await installation.redis(), await stateCounter.view()];
  const daemons = (await installation.reloads()).flatMap(({ running }) => running ?? []);
  const isNewest = byConfiguration(daemons)[0]?.names.includes(`${hostname()} (pid ${process.pid})`);
  const problems = problemsOfHost({ at: installation.clock(), redis, state, tenants: [], daemons });
  const losses = (await statuses.readSoFar(installation, LOSS_WAIT_MS)).problems.filter(({ code }) => isLoss(code));
  return [...problems, ...losses]
    .filter(({ code }) => code !== 'configurations-differ' || isNewest !== true)
    .map(({ subject, sentence, code }) => ({ what: subject, why: sentence, code }));
}

/** Returns the unfinished checks of a start, including tenants with faults. */
function starting({ outlines, unusable, unchecked }: Configuration): NotReady[] {
  if (unchecked.size === 0) return [];
  const checked = outlines.size + unusable.length;
  const why = render(message('start.checked', { checked, total: checked + unchecked.size }));
  return [{ what: 'tenants', why }];
}

/** Null without a configured public port, or in another process's role. */
async function openPublicPort(composition: Composition, metrics: Metrics, role: Role): Promise<ListeningServer | null> {
  const { host, port, publicUrl } = composition.configuration.settings.http;
  if (port === null && role === 'http') throw noPublicPort(message('port.no-work'));
  if (port === null || !does(role, 'http')) return null;
  // The port is fixed at the start; its public URL can change.
  const today = () => composition.configuration.settings.http.publicUrl ?? publicUrl;
  const app = createPublicServer(publicVerbs(composition, metrics), {
    publicUrl: today,
    log: composition.log,
    trustedProxies: () => composition.configuration.settings.http.trustedProxies,
    isStarting: () => composition.configuration.unchecked.size > 0,
  });
  return listen(app, 'http', { host, port });
}

function publicVerbs(composition: Composition, metrics: Metrics): PublicVerbs {
  const { installation, redis, composed } = composition;
  const promptClinic = ({ id }: { id: string }) => requireEntry(composed, id).promptClinic;
  const feeds = createFeedDirectory(redis);
  const answers = createAnswerServices({
    installation,
    directory: createAnswerDirectory(redis),
    clinicOf: promptClinic,
  });
  return {
    takeNotification: openReceiver(composition, metrics),
    takeReminderCallback: (report) => takeReminderCallback(composition.installation, report),
    showFeed: (token, caller, cachedTag) => showFeed({ installation, directory: feeds }, token, caller, cachedTag),
    showAnswer: answers.show,
    takeAnswer: answers.take,
    ...loginVerbs(composition),
  };
}

function loginVerbs(composition: Composition): Pick<PublicVerbs, 'describeLogin' | 'beginLogin' | 'completeLogin'> {
  const acting = { who: BROWSER, why: null, actServices: composition.acts };
  const languageOf = (tenant: string) => requireTenant(composition.installation, tenant).configuration.language;
  return {
    async describeLogin(ticket) {
      try {
        return await describeLoginLink(createLoginServices(composition), ticket);
      } catch (error) {
        loginFailure(composition, error);
        return null;
      }
    },
    async beginLogin(ticket) {
      try {
        // Loaded at the first connection, because the module imports every verb.
        const { openRemoteLogin } = await import('./operator/control/acts.ts');
        const { tenant, url, browserKey } = await openRemoteLogin(acting, createLoginServices(composition), ticket);
        return { url, browserKey, language: languageOf(tenant) };
      } catch (error) {
        return loginFailure(composition, error);
      }
    },
    async completeLogin({ url, browserKey }) {
      try {
        const { completeRemoteLogin } = await import('./operator/control/acts.ts');
        const signal = AbortSignal.timeout(60 * SECOND_MS);
        const loginServices = createLoginServices(composition);
        const result = await completeRemoteLogin(acting, loginServices, { callback: new URL(url), browserKey }, signal);
        const connected = result.isUnconfirmed ? 'unconfirmed' : 'connected';
        const outcome = result.missingScopes.length > 0 ? 'missing-permissions' : connected;
        return { outcome, language: languageOf(result.tenant) };
      } catch (error) {
        return loginFailure(composition, error);
      }
    },
  };
}

/** The user sees a constant sentence; the log contains the code. */
function loginFailure({ log }: Composition, thrown: unknown): LoginResult {
  const { code } = asMirrorError(thrown);
  log.warn({ code }, 'sign-in by link was refused');
  return { outcome: loginOutcome(code), language: 'en' };
}

function openReceiver(composition: Composition, { countNotification }: Metrics) {
  const { installation, queues, redis } = composition;
  const readers = [...registry].flatMap(([name, { readNotification }]) =>
    readNotification === undefined ? [] : [[name, readNotification] as const],
  );
  return createNotificationReceiver({
    readers: new Map(readers),
    directory: createSubscriptionDirectory(
      redis,
      composition.configuration.settings.secrets.identityKey.reveal(),
      installation.clock,
    ),
    checkTarget(tenant, target, { whole }) {
      const { settleMs: quietMs } = composition.configuration.settings.notifications;
      return queues.checkTarget(tenant, target, { delayMs: quietMs, whole });
    },
    renewSubscriptions: (tenant) => queues.renewSubscriptions(tenant),
    count: countNotification,
    clock: installation.clock,
  });
}

/** Refusals that an administrator of the provider or of the settings must solve. */
const NOT_SET_UP = new Set(['client-rejected', 'client-not-allowed', 'scope-rejected', 'application-not-approved']);

function loginOutcome(code: string): LoginOutcome {
  if (code === 'login-refused') return 'denied';
  if (code === 'interaction-required') return 'interrupted';
  if (code === 'provider-failed' || code === 'token-error-unknown') return 'provider-failed';
  if (NOT_SET_UP.has(code)) return 'not-set-up';
  if (code === 'login-unknown') return 'expired';
  if (code === 'login-other-browser') return 'other-browser';
  if (WRONG_USER.has(code) || code === 'wrong-account' || code === 'account-unknown') return 'wrong-account';
  return 'failed';
}
