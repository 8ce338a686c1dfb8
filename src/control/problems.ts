import { forTenant, redisUnreachable } from '../model/errors.ts';
import type { Problem } from '../model/problems.ts';
import { HOUR_MS, type Instant } from '../model/time.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { TargetGap } from '../state/target-gaps.ts';
import { forecastsOfInstallation, forecastsOfLogin, forecastsOfTarget } from './forecasts.ts';
import type { ConnectionStatus } from './installation.ts';
import type { Status, TargetStatus, TenantStatus } from './status-view.ts';

/** An entry that fails for so long needs a person: most of what passes has passed by then. Our choice. */
const FAILING_LONG_MS = HOUR_MS;
const CLINIC_LOGIN = `login ${CLINIC_CONNECTION}`;

/** What is the matter by a status: what needs a person now first, then what will, then in the order of tenants. */
export function problemsOf(status: Omit<Status, 'problems'>): Problem[] {
  const found = [
    ...ofInstallation(status),
    ...status.tenants.flatMap((tenant) => (tenant.paused ? [] : ofTenant(tenant, status.at))),
    ...forecastsOfInstallation(status),
  ];
  const rank = ({ needs, breaksAt }: Problem) =>
    needs === 'time' ? 2 : Number(breaksAt !== null && breaksAt > status.at);
  return found.sort((one, other) => rank(one) - rank(other));
}

/** All that can be told while Redis does not answer. @param sinceAt null where it is not known */
export function redisAway(sinceAt: Instant | null): Problem {
  const { message, code, remedy = null } = redisUnreachable(null);
  return { ...needsPerson(null, 'state', code, message, remedy), sinceAt };
}

function ofInstallation({
  state,
  setAside,
  refused,
  awaitsRestart,
  alertFailures,
  unkept,
}: Omit<Status, 'problems'>): Problem[] {
  const check = 'clinic-mirror config check';
  const problems: Problem[] = setAside.map(({ tenant, faults }) =>
    needsPerson(
      tenant,
      'configuration',
      'tenant-set-aside',
      `it is not run: ${count(faults, 'fault')} in its file`,
      check,
    ),
  );
  for (const { tenant, sinceAt } of refused) {
    const sentence = 'a changed file is refused, and what it held before goes on';
    problems.push({ ...needsPerson(tenant, 'configuration', 'file-refused', sentence, check), sinceAt });
  }
  if (awaitsRestart.length > 0) {
    const sentence = `changed settings wait for a restart: ${awaitsRestart.join(', ')}`;
    problems.push(needsPerson(null, 'configuration', 'restart-awaited', sentence, 'restart the daemon'));
  }
  for (const { channel, code, sinceAt } of alertFailures) {
    const next = 'check "alerts" in clinic-mirror.yaml, and the server that it names';
    problems.push({
      ...needsPerson(null, `alerts by ${channel}`, code, 'nobody can be told of problems', next),
      sinceAt,
    });
  }
  if (unkept !== null) problems.push(needsPerson(null, 'state', unkept.code, unkept.sentence, unkept.next));
  if (state.durability === 'late') {
    const sentence = 'Redis did not confirm the last decision in time: reminders wait';
    problems.push({ ...needsPerson(null, 'state', 'redis-late', sentence, null), needs: 'time' });
  }
  return problems;
}

function ofTenant(tenant: TenantStatus, now: Instant): Problem[] {
  const { tenant: id, doubt, configuration, connections, targets } = tenant;
  const problems: Problem[] = [];
  if (doubt !== null) {
    const sentence = 'it is not known who was forgotten or opted out, so nothing is written or sent of people';
    const next = `restore a backup, or: clinic-mirror accept-loss ${id}`;
    problems.push({ ...needsPerson(id, 'state', doubt.code, sentence, next), sinceAt: doubt.sinceAt });
  }
  for (const { verb, what, by, at } of tenant.approvals) {
    const which = typeof what.hold === 'string' ? ` of hold ${what.hold}` : '';
    const sentence = `${verb}${which} waits for a second person: ${by.claimed ?? by.name} wants it`;
    const next = 'somebody else gives the same command, or lets it expire';
    problems.push({ ...needsPerson(id, 'approvals', 'approval-awaited', sentence, next), sinceAt: at });
  }
  if (configuration.supersededAt !== null) {
    const sentence = 'a process with an older configuration waits until it has the files of today';
    const problem = needsPerson(id, 'configuration', 'configuration-superseded', sentence, null);
    problems.push({ ...problem, needs: 'time', sinceAt: configuration.supersededAt });
  }
  const logins = connections.flatMap((connection) => ofLogin(tenant, connection));
  const ofReading = ofClinic(tenant, logins);
  problems.push(...logins, ...ofReading);
  // Without the clinic every target stands as it was: that is told where it comes from.
  const isUnread =
    ofReading.length > 0 || logins.some(({ subject, code }) => subject === CLINIC_LOGIN && code !== 'scope-missing');
  for (const connection of connections) problems.push(...forecastsOfLogin(id, connection, now));
  const ended = new Set(logins.filter(({ code }) => code !== 'scope-missing').map(({ subject }) => subject));
  for (const target of targets) {
    // What only waits for its login is told there.
    if (ended.has(`login ${target.connection}`) || (isUnread && target.state === 'stale')) continue;
    problems.push(...ofTarget(id, target, now), ...forecastsOfTarget(id, target, now));
  }
  return [...problems, ...ofReminders(tenant), ...ofTriggers(tenant)];
}

function ofLogin({ tenant, targets }: TenantStatus, connection: ConnectionStatus): Problem[] {
  const { connection: id, state, reason, account, sinceAt, missingScopes } = connection;
  const waiting = targets.filter((target) => target.connection === id).reduce((sum, { pending }) => sum + pending, 0);
  const subject = `login ${id}`;
  const again = `clinic-mirror login ${tenant} ${id}`;
  const told = (code: string, sentence: string, next: string): Problem[] => [
    { ...needsPerson(tenant, subject, code, sentence, next), sinceAt, waiting },
  ];
  switch (state) {
    case 'needs-login':
      return told(reason ?? 'login-ended', 'the login has ended and a person must log in again', again);
    case 'never':
      return told('not-connected', 'nobody has logged in yet', again);
    case 'no-tenant':
      return told(reason ?? 'tenant-not-allowed', 'the user of this login may not work in the clinic', again);
    case 'unconfirmed': {
      const accept = `clinic-mirror accept-account ${tenant} ${id} <account>`;
      return told(
        'account-unconfirmed',
        `nobody has said that ${account ?? 'its account'} is the right account`,
        accept,
      );
    }
    case 'connected':
      if (missingScopes.length === 0) return [];
      return told('scope-missing', `it was not granted ${missingScopes.join(' ')}`, again);
    case 'static':
      return [];
  }
}

/** The last cycle, where it failed otherwise than by its login. */
function ofClinic({ tenant, lastRun }: TenantStatus, logins: readonly Problem[]): Problem[] {
  if (lastRun?.error == null || logins.some(({ subject }) => subject === CLINIC_LOGIN)) return [];
  const { code, actor, message, remedy } = lastRun.error;
  const needs = isForPerson(actor) ? 'person' : 'time';
  return [
    { ...needsPerson(tenant, 'clinic', code, `the last cycle failed: ${message}`, forTenant(remedy, tenant)), needs },
  ];
}

function ofTarget(tenant: string, target: TargetStatus, now: Instant): Problem[] {
  const { target: id, state, failure, held, failing, pending, oldestPendingAt, gaps, drift } = target;
  const problem = (code: string, sentence: string, next: string | null): Problem => {
    return { ...needsPerson(tenant, `target ${id}`, code, sentence, next), waiting: pending };
  };
  switch (state) {
    case 'stopped':
    case 'resting': {
      const { code = state, message = 'it stands still', remedy = null, sinceAt = null } = failure ?? {};
      const needs = state === 'stopped' ? 'person' : 'time';
      return [{ ...problem(code, message, forTenant(remedy, tenant)), needs, sinceAt }];
    }
    case 'held': {
      const { code = 'held', message, remedy = null, sinceAt = target.heldSinceAt } = failure ?? {};
      const sentence = message ?? `${count(held, 'change')} held back until a person decides`;
      return [
        { ...problem(code, sentence, forTenant(remedy, tenant) ?? `clinic-mirror holds list ${tenant}`), sinceAt },
      ];
    }
    case 'failing': {
      const isLong = oldestPendingAt !== null && now - oldestPendingAt > FAILING_LONG_MS;
      const sentence = `${count(failing, 'change')} refused or failed, and tried again`;
      const told = problem('failing', sentence, `clinic-mirror health ${tenant} ${id}`);
      return [{ ...told, needs: isLong ? 'person' : 'time', sinceAt: oldestPendingAt }];
    }
    case 'drifted': {
      const by = (drift?.edited ?? 0) + (drift?.removed ?? 0);
      return [
        problem(
          'drifted',
          `${count(by, 'change')} by hand left for a person to look at`,
          `clinic-mirror audit ${tenant}`,
        ),
      ];
    }
    case 'incomplete':
      return gaps.map((gap) => problem(gap.code, sentenceOf(gap), nextOf(gap, tenant, id)));
    case 'stale':
      return [{ ...problem('stale', 'the last cycle could not read all that it follows', null), needs: 'time' }];
    default:
      return [];
  }
}

/** What of a target is not known; ids in it are those of its file. */
function sentenceOf({ code, count: number, what }: TargetGap): string {
  switch (code) {
    case 'agenda-unknown':
    case 'treatment-unknown':
      return `the clinic lists no ${code.split('-')[0]} ${what.join(', ')}`;
    case 'agenda-unconfirmed':
    case 'treatment-unconfirmed':
      return `whether the clinic has the ${code.split('-')[0]} ${what.join(', ')} may not be read`;
    case 'rows-unread':
      return `${count(number, 'row')} of the clinic can't be read: ${what.join(', ')}`;
    case 'egress-stopped':
      return `${count(number, 'record')} kept back, since it would have told more of patients than it may: ${what.join(', ')}`;
  }
}

function nextOf({ code }: TargetGap, tenant: string, target: string): string {
  if (code.endsWith('-unknown')) return `correct ${code.split('-')[0]}s of ${target} in tenants/${tenant}.yaml`;
  if (code.endsWith('-unconfirmed')) return `clinic-mirror login ${tenant} ${CLINIC_CONNECTION}`;
  return `clinic-mirror ${code === 'rows-unread' ? `status ${tenant}` : `health ${tenant} ${target}`}`;
}

function ofReminders({ tenant, reminders }: TenantStatus): Problem[] {
  return (reminders?.closedChannels ?? []).map(({ channel, code, at }) => {
    const next = `mend that, then: clinic-mirror reminders reopen ${tenant} ${channel}`;
    const told = needsPerson(tenant, `reminders by ${channel}`, code, 'closed: nothing is sent by it', next);
    return { ...told, sinceAt: at, waiting: reminders?.waiting ?? 0 };
  });
}

function ofTriggers({ tenant, triggers }: TenantStatus): Problem[] {
  const { closed = [], off = [], waiting = 0 } = triggers ?? {};
  const problems = closed.map(({ endpoint, code, at }): Problem => {
    const next = `mend that, then: clinic-mirror triggers reopen ${tenant} ${endpoint}`;
    const told = needsPerson(tenant, `triggers to ${endpoint}`, code, 'closed: nothing is sent to it', next);
    return { ...told, sinceAt: at, waiting };
  });
  for (const { endpoint, event, code, remedy } of off) {
    const sentence = `${event} is off: what it needs can't be read`;
    problems.push(needsPerson(tenant, `triggers to ${endpoint}`, code, sentence, forTenant(remedy, tenant)));
  }
  return problems;
}

/** Whether an error waits for a person, by who must act. */
export function isForPerson(actor: string): boolean {
  return actor === 'settings' || actor === 'authorization' || actor === 'contract' || actor === 'guard';
}

function needsPerson(
  tenant: string | null,
  subject: string,
  code: string,
  sentence: string,
  next: string | null,
): Problem {
  return { tenant, subject, code, needs: 'person', sinceAt: null, sentence, next, breaksAt: null, waiting: 0 };
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
