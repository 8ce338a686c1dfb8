import { connectionSubject, healthByTenant, needsPerson, type Problem } from '../../core/model/problems.ts';
import { shellWord } from '../../core/model/text.ts';
import type { Instant } from '../../core/model/time.ts';
import { forTenant, type Message, message, type Text } from '../../messages/message.ts';
import { ALL_MANAGED } from '../../settings/managed-tenant.ts';
import { CLINIC_CONNECTION } from '../../settings/tenant-schema.ts';
import { DAMAGED } from '../../state/damaged.ts';
import { damageProblem } from './damage.ts';
import { forecastsOfInstallation, forecastsOfLogin, forecastsOfTarget } from './forecasts.ts';
import { isFolded, problemOf } from './incidents.ts';
import { ofLoss, problemsOfHost } from './installation-problems.ts';
import type { ConnectionStatus, Incident, Status, TenantStatus } from './status-schemas.ts';
import { ofReplaced, ofStorage, ofTarget, type Source } from './target-problems.ts';

const STATE = message('subject.state');
const CLINIC = message('subject.clinic');
const CONFIGURATION = message('subject.configuration');
const CLINIC_LOGIN = connectionSubject(CLINIC_CONNECTION);

/** Returns the problems of a status: action required now, action required later, then by tenant. */
export function problemsOf(status: Omit<Status, 'problems'>, source: Source): Problem[] {
  const { at, incidents } = status;
  const ofHost = problemsOfHost(status);
  const isWithoutDaemon = ofHost.some(({ code }) => code === 'daemon-not-running');
  const found = [
    ...ofHost,
    ...ofLoss(status.tenants),
    ...ofInstallation(status),
    ...incidents.map(problemOf),
    ...status.tenants.flatMap((tenant) =>
      tenant.paused ? ofErasures(tenant) : ofTenant(tenant, at, incidents, source),
    ),
    ...forecastsOfInstallation(status).filter(({ code }) => !isWithoutDaemon || code !== 'no-cycles'),
  ];
  const rank = ({ health, breaksAt }: Problem) =>
    health === 'retrying' ? 2 : Number(breaksAt !== null && breaksAt > status.at);
  const healths = healthByTenant(status.tenants, found);
  const syncStates = new Map(
    status.tenants.map(({ tenant, sync, health }) => [tenant, { sync, health: healths.get(tenant) ?? health }]),
  );
  return (
    found
      // A due attempt has no time: the work already waits for its turn.
      .map((problem) => ({
        ...problem,
        nextTryAt: (problem.nextTryAt ?? 0) > at ? problem.nextTryAt : null,
        syncHealth: syncStates.get(problem.tenant ?? '') ?? null,
      }))
      .sort((one, other) => rank(one) - rank(other))
  );
}

function ofInstallation({
  state,
  unusable,
  refused,
  awaitsRestart,
  alertFailures,
  damaged,
  unkept,
}: Omit<Status, 'problems'>): Problem[] {
  const check = 'clinic-mirror config check';
  const problems: Problem[] = unusable.map(({ tenant, faults }) =>
    tenant === ALL_MANAGED
      ? managedLost()
      : needsPerson({
          tenant,
          subject: CONFIGURATION,
          code: 'tenant-set-aside',
          sentence: message('tenant-set-aside', { count: faults }),
          next: check,
        }),
  );
  for (const { tenant, sinceAt } of refused) {
    const report = message('file-refused');
    problems.push({
      ...needsPerson({ tenant, subject: CONFIGURATION, code: 'file-refused', sentence: report, next: check }),
      sinceAt,
    });
  }
  if (awaitsRestart.length > 0) {
    const settings = awaitsRestart.join(', ');
    const report = message('restart-awaited', { settings });
    problems.push(
      needsPerson({
        tenant: null,
        subject: CONFIGURATION,
        code: 'restart-awaited',
        sentence: report,
        next: message('restart-awaited.remedy'),
      }),
    );
  }
  for (const { channel, code, remedy, sinceAt } of alertFailures) {
    const report = message('alerts-failing');
    const next = remedy ?? message('alerts-failing.remedy');
    problems.push({
      ...needsPerson({ tenant: null, subject: message('subject.alerts', { channel }), code, sentence: report, next }),
      sinceAt,
    });
  }
  problems.push(...damaged.map(damageProblem));
  if (unkept !== null)
    problems.push(
      needsPerson({
        tenant: null,
        subject: STATE,
        code: unkept.code,
        sentence: unkept.texts.message,
        next: unkept.texts.remedy,
      }),
    );
  if (state.durability === 'late') {
    const report = message('redis-late');
    problems.push({
      ...needsPerson({ tenant: null, subject: STATE, code: 'redis-late', sentence: report, next: null }),
      health: 'retrying',
    });
  }
  return problems;
}

/** Reports managed tenants deleted while no process was running. */
function managedLost(): Problem {
  const report = message('managed-lost');
  const next = message('restore-or', { command: 'clinic-mirror tenants accept --all' });
  return needsPerson({ tenant: null, subject: CONFIGURATION, code: DAMAGED.code, sentence: report, next });
}

function ofTenant(tenant: TenantStatus, now: Instant, incidents: readonly Incident[], source: Source): Problem[] {
  const { tenant: id, uncertainty, loss, configuration, connections, targets } = tenant;
  const problems = ofStorage(tenant, source);
  if (uncertainty?.code === DAMAGED.code) {
    const report = message('people-unknown');
    const next = message('restore-or', { command: `clinic-mirror accept-loss ${id}` });
    problems.push({
      ...needsPerson({ tenant: id, subject: STATE, code: uncertainty.code, sentence: report, next }),
      sinceAt: uncertainty.sinceAt,
    });
  }
  for (const { verb, what, by, at } of tenant.approvals) {
    const name = by.claimed ?? by.name;
    const report =
      typeof what.hold === 'string'
        ? message('hold-approval-awaited', { verb, hold: what.hold, name })
        : message('approval-awaited', { verb, name });
    const next = message('approval-awaited.remedy');
    problems.push({
      ...needsPerson({
        tenant: id,
        subject: message('subject.approvals'),
        code: 'approval-awaited',
        sentence: report,
        next,
      }),
      sinceAt: at,
    });
  }
  if (configuration.supersededAt !== null) {
    const report = message('configuration-superseded');
    const problem = needsPerson({
      tenant: id,
      subject: CONFIGURATION,
      code: 'configuration-superseded',
      sentence: report,
      next: null,
    });
    problems.push({ ...problem, health: 'retrying', sinceAt: configuration.supersededAt });
  }
  const logins = connections.flatMap((connection) => ofLogin(tenant, connection));
  const ofReading = ofClinic(tenant, logins);
  // An unreachable server is reported once for every clinic.
  const isReportedThere = incidents.some(({ unread }) => unread.includes(id));
  problems.push(
    ...logins.filter(({ code }) => loss === null || code !== 'not-connected'),
    ...(isReportedThere ? [] : ofReading),
    ...connections.flatMap((connection) => ofPause(tenant, connection)),
  );
  // Without a clinic read, every target is unchanged; the clinic's problem reports the cause.
  const isUnread =
    ofReading.length > 0 || logins.some(({ subject, code }) => subject === CLINIC_LOGIN && code !== 'scope-missing');
  for (const connection of connections) problems.push(...forecastsOfLogin(id, connection, now));
  const ended = new Set(logins.filter(({ code }) => code !== 'scope-missing').map(({ subject }) => subject));
  for (const target of targets) {
    // The connection or server reports work that waits for its recovery. The clinic reports missing reads.
    const isOfLogin = ended.has(connectionSubject(target.connection));
    const isReported = isOfLogin || isFolded(incidents, target) || (isUnread && target.reason === 'read-failed');
    problems.push(...ofTarget(id, target, { now, source, isReportedElsewhere: isReported }));
    if (!isOfLogin) problems.push(...ofReplaced(id, target, now), ...forecastsOfTarget(id, target, now));
  }
  return [...problems, ...ofErasures(tenant), ...ofReminders(tenant), ...ofWrong(tenant), ...ofTriggers(tenant)];
}

/** Reports data of forgotten patients in paused targets or tenants, where no other problem is reported. */
function ofErasures({ tenant, paused, targets }: TenantStatus): Problem[] {
  return targets.flatMap(({ target, pausedErasures: count, failure }) => {
    if (count === 0) return [];
    const report = message('erasures-wait', { count });
    // A paused tenant writes nothing. Otherwise the daemon retries the failed target.
    const next = paused ? message('erasures-wait.remedy') : forTenant(failure?.texts.remedy, tenant);
    const health = paused || (failure !== null && isForPerson(failure.actor)) ? 'action-required' : 'retrying';
    return [
      {
        ...needsPerson({
          tenant,
          subject: message('subject.target', { id: target }),
          code: 'erasures-wait',
          sentence: report,
          next,
        }),
        health,
        waiting: count,
      } as const,
    ];
  });
}

function ofLogin({ tenant, targets }: TenantStatus, connection: ConnectionStatus): Problem[] {
  const { connection: id, state, reason, account, sinceAt, nextTryAt, missingScopes } = connection;
  const waiting = targets.filter((target) => target.connection === id).reduce((sum, { pending }) => sum + pending, 0);
  const subject = message('subject.login', { id });
  const again = `clinic-mirror login ${tenant} ${id}`;
  const report = (code: string, text: Message, next: Text): Problem[] => [
    { ...needsPerson({ tenant, subject, code, sentence: text, next }), sinceAt, waiting },
  ];
  switch (state) {
    case 'needs-login':
      if (reason === DAMAGED.code || reason === 'sealing-key-unknown') {
        const key = reason === DAMAGED.code ? reason : 'sealing-key-changed';
        return report(reason, message(key), message(`${key}.remedy`));
      }
      return report(reason ?? 'login-ended', message('login-ended'), again);
    case 'never':
      return report('not-connected', message('not-connected'), again);
    case 'no-tenant':
      return report(reason ?? 'tenant-not-allowed', message('tenant-not-allowed'), again);
    case 'unconfirmed': {
      const accept = `clinic-mirror accept-account ${tenant} ${id} <account>`;
      const text =
        account === null ? message('account-unconfirmed') : message('account-unconfirmed.named', { account });
      return report('account-unconfirmed', text, accept);
    }
    case 'connected':
      if (missingScopes.length === 0) return [];
      return report('scope-missing', message('scope-missing', { permissions: missingScopes.join(' ') }), again);
    case 'retrying': {
      const text = message('login-refused-once');
      return [
        {
          ...needsPerson({ tenant, subject, code: 'login-refused-once', sentence: text, next: null }),
          health: 'retrying',
          sinceAt,
          nextTryAt,
        },
      ];
    }
    case 'static':
      return [];
  }
}

/** Reports a rate-limit pause of the clinic, or of a vendor without a target problem. */
function ofPause({ tenant, targets }: TenantStatus, { connection: id, pause }: ConnectionStatus): Problem[] {
  const rests = targets.some(({ connection, reason }) => connection === id && reason === 'backing-off');
  if (pause === null || rests) return [];
  const { code, sinceAt, untilAt: nextTryAt } = pause;
  const subject = id === CLINIC_CONNECTION ? CLINIC : message('subject.login', { id });
  const report = needsPerson({ tenant, subject, code, sentence: message(code), next: null });
  return [{ ...report, health: 'retrying', sinceAt, nextTryAt }];
}

/** Reports a failed last cycle, except for connection errors. */
function ofClinic({ tenant, lastRun }: TenantStatus, logins: readonly Problem[]): Problem[] {
  if (lastRun?.error == null || logins.some(({ subject }) => subject === CLINIC_LOGIN)) return [];
  const { code, actor, texts } = lastRun.error;
  const health = isForPerson(actor) ? 'action-required' : 'retrying';
  const report = message('cycle-failed', { cause: texts.message });
  return [
    {
      ...needsPerson({ tenant, subject: CLINIC, code, sentence: report, next: forTenant(texts.remedy, tenant) }),
      health,
    },
  ];
}

function ofReminders({ tenant, reminders }: TenantStatus): Problem[] {
  const closed = (reminders?.closedChannels ?? []).map(({ channel, code, at }) => {
    const next = message('reopen', {
      command: `clinic-mirror reminders reopen ${tenant} ${channel}`,
    });
    const report = message('channel-closed');
    return {
      ...needsPerson({ tenant, subject: message('subject.reminders', { id: channel }), code, sentence: report, next }),
      sinceAt: at,
      waiting: reminders?.waiting ?? 0,
    };
  });
  if (reminders?.replies != null) {
    const { count, sinceAt } = reminders.replies;
    const subject = message('subject.all-reminders');
    const sentence = message('patients-replied', { count });
    const next = `clinic-mirror reminders replies ${tenant}`;
    closed.push({ ...needsPerson({ tenant, subject, code: 'patients-replied', sentence, next }), sinceAt, waiting: 0 });
  }
  if (reminders?.hold == null) return closed;
  const { appointments, sinceAt } = reminders.hold;
  const report = message('corrections-held', {
    count: appointments,
  });
  const next = `clinic-mirror holds list ${tenant}`;
  const held = {
    ...needsPerson({
      tenant,
      subject: message('subject.all-reminders'),
      code: 'corrections-held',
      sentence: report,
      next,
    }),
    sinceAt,
    waiting: appointments,
  };
  return [...closed, held];
}

/** Reports patients with wrong information or without any, one per line, so that the clinic can call the patients. Patients of one hold share a line. */
function ofWrong({ tenant, reminders }: TenantStatus): Problem[] {
  const alone = (reminders?.wrong ?? []).filter(
    ({ reason }) => reason !== 'corrections-held' || reminders?.hold == null,
  );
  const byAppointment = Map.groupBy(alone, ({ appointmentId }) => appointmentId);
  return [...byAppointment].map(([id, all]) => {
    const uncorrected = all.filter(({ correctsAt }) => correctsAt === null);
    const channels = [...new Set(all.map(({ channel }) => channel))].join(', ');
    const reasons = [...new Set(uncorrected.map(({ reason }) => reason))].join(', ');
    const isUntold = all.every((one) => one.isUntold === true);
    const { code } = isUntold ? ({ code: 'patient-untold' } as const) : ({ code: 'patient-misinformed' } as const);
    const report =
      uncorrected.length === 0 ? message('correction-due', { channels }) : message(code, { channels, reasons });
    const next = `clinic-mirror reminders explain ${tenant} ${shellWord(id)}`;
    return {
      ...needsPerson({
        tenant,
        subject: message('subject.appointment', { id }),
        code,
        sentence: report,
        next,
      }),
      health: uncorrected.length === 0 ? 'retrying' : 'action-required',
      sinceAt: Math.min(...all.map(({ sinceAt }) => sinceAt)),
    };
  });
}

function ofTriggers({ tenant, triggers }: TenantStatus): Problem[] {
  const { closed = [], off = [], refusing = [], waiting = 0 } = triggers ?? {};
  const problems = closed.map(({ endpoint, code, at }): Problem => {
    const next = message('reopen', {
      command: `clinic-mirror triggers reopen ${tenant} ${endpoint}`,
    });
    const report = message('endpoint-closed');
    return {
      ...needsPerson({ tenant, subject: message('subject.triggers', { id: endpoint }), code, sentence: report, next }),
      sinceAt: at,
      waiting,
    };
  });
  for (const { endpoint, event, code, texts } of off) {
    const report = message('trigger-off', { event });
    problems.push(
      needsPerson({
        tenant,
        subject: message('subject.triggers', { id: endpoint }),
        code,
        sentence: report,
        next: forTenant(texts.remedy, tenant),
      }),
    );
  }
  for (const { endpoint, code, texts, sinceAt } of refusing) {
    const report = message('signature-refused');
    problems.push({
      ...needsPerson({
        tenant,
        subject: message('subject.triggers', { id: endpoint }),
        code,
        sentence: report,
        next: texts.remedy,
      }),
      sinceAt,
      waiting,
    });
  }
  return problems;
}

/** Returns whether an error requires action, by actor. */
export function isForPerson(actor: string): boolean {
  return actor === 'settings' || actor === 'authorization' || actor === 'contract' || actor === 'guard';
}
