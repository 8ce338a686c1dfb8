import { forTenant, redisUnreachable } from '../model/errors.ts';
import { needsPerson, type Problem } from '../model/problems.ts';
import { sentence } from '../model/sentences.ts';
import { shellWord } from '../model/shell-words.ts';
import type { Instant } from '../model/time.ts';
import { ALL_MANAGED } from '../settings/managed-tenant.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { FORGED } from '../state/forged.ts';
import { forecastsOfInstallation, forecastsOfLogin, forecastsOfTarget } from './forecasts.ts';
import { isFolded, problemOf } from './incidents.ts';
import type { ConnectionStatus } from './installation.ts';
import type { Incident, Status, TenantStatus } from './status-view.ts';
import { LIMITED, ofReplaced, ofTarget, type Source } from './target-problems.ts';

const CLINIC_LOGIN = `login ${CLINIC_CONNECTION}`;

/** What is the matter by a status: what needs a person now first, then what will, then in the order of tenants. */
export function problemsOf(status: Omit<Status, 'problems'>, source: Source): Problem[] {
  const standing = new Map(status.tenants.map(({ tenant, inStep, canGoOn }) => [tenant, { inStep, canGoOn }]));
  const { at, incidents } = status;
  const found = [
    ...ofInstallation(status),
    ...incidents.map(problemOf),
    ...status.tenants.flatMap((tenant) =>
      tenant.paused ? ofErasures(tenant) : ofTenant(tenant, at, incidents, source),
    ),
    ...forecastsOfInstallation(status),
  ];
  const rank = ({ needs, breaksAt }: Problem) =>
    needs === 'time' ? 2 : Number(breaksAt !== null && breaksAt > status.at);
  return found
    .map((problem) => ({ ...problem, stands: standing.get(problem.tenant ?? '') ?? null }))
    .sort((one, other) => rank(one) - rank(other));
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
    tenant === ALL_MANAGED
      ? managedLost()
      : needsPerson(
          tenant,
          'configuration',
          'tenant-set-aside',
          sentence('it is not run: {count:fault|faults} in its file', { count: faults }),
          check,
        ),
  );
  for (const { tenant, sinceAt } of refused) {
    const told = sentence('a changed file is refused, and what it held before goes on');
    problems.push({ ...needsPerson(tenant, 'configuration', 'file-refused', told, check), sinceAt });
  }
  if (awaitsRestart.length > 0) {
    const settings = awaitsRestart.join(', ');
    const told = sentence('changed settings wait for a restart: {settings}', { settings });
    problems.push(needsPerson(null, 'configuration', 'restart-awaited', told, sentence('restart the daemon')));
  }
  for (const { channel, code, remedy, sinceAt } of alertFailures) {
    const isForged = code === 'record-forged';
    const told = isForged
      ? sentence('the memory of alerts in Redis was forged: problems are told again')
      : sentence('nobody can be told of problems');
    const next = isForged
      ? sentence('see who else may write into Redis')
      : (remedy ?? sentence('check "alerts" in clinic-mirror.yaml, and the server that it names'));
    problems.push({ ...needsPerson(null, `alerts by ${channel}`, code, told, next), sinceAt });
  }
  if (unkept !== null) problems.push(needsPerson(null, 'state', unkept.code, unkept.sentence, unkept.next));
  if (state.durability === 'late') {
    const told = sentence('Redis did not confirm the last decision in time: reminders wait');
    problems.push({ ...needsPerson(null, 'state', 'redis-late', told, null), needs: 'time' });
  }
  return problems;
}

/** Managed tenants that somebody took away while no process looked. */
function managedLost(): Problem {
  const told = sentence('Redis has no managed tenant any more, and clinic-mirror did not remove them');
  const next = sentence('restore a backup, or: {command}', { command: 'clinic-mirror tenants accept --all' });
  return needsPerson(null, 'configuration', FORGED.code, told, next);
}

function ofTenant(tenant: TenantStatus, now: Instant, incidents: readonly Incident[], source: Source): Problem[] {
  const { tenant: id, doubt, configuration, connections, targets } = tenant;
  const problems: Problem[] = [];
  if (doubt !== null) {
    const told = sentence('it is not known who was forgotten or opted out, so nothing is written or sent of people');
    const next = sentence('restore a backup, or: {command}', { command: `clinic-mirror accept-loss ${id}` });
    problems.push({ ...needsPerson(id, 'state', doubt.code, told, next), sinceAt: doubt.sinceAt });
  }
  for (const { verb, what, by, at } of tenant.approvals) {
    const name = by.claimed ?? by.name;
    const told =
      typeof what.hold === 'string'
        ? sentence('{verb} of hold {hold} waits for a second person: {name} wants it', { verb, hold: what.hold, name })
        : sentence('{verb} waits for a second person: {name} wants it', { verb, name });
    const next = sentence('somebody else gives the same command, or lets it expire');
    problems.push({ ...needsPerson(id, 'approvals', 'approval-awaited', told, next), sinceAt: at });
  }
  if (configuration.supersededAt !== null) {
    const told = sentence('a process with an older configuration waits until it has the files of today');
    const problem = needsPerson(id, 'configuration', 'configuration-superseded', told, null);
    problems.push({ ...problem, needs: 'time', sinceAt: configuration.supersededAt });
  }
  const logins = connections.flatMap((connection) => ofLogin(tenant, connection));
  const ofReading = ofClinic(tenant, logins);
  // A server that is away is told once, of all clinics.
  const isToldThere = incidents.some(({ unread }) => unread.includes(id));
  problems.push(
    ...logins,
    ...(isToldThere ? [] : ofReading),
    ...connections.flatMap((connection) => ofPause(tenant, connection)),
  );
  // Without the clinic every target stands as it was: that is told where it comes from.
  const isUnread =
    ofReading.length > 0 || logins.some(({ subject, code }) => subject === CLINIC_LOGIN && code !== 'scope-missing');
  for (const connection of connections) problems.push(...forecastsOfLogin(id, connection, now));
  const ended = new Set(logins.filter(({ code }) => code !== 'scope-missing').map(({ subject }) => subject));
  for (const target of targets) {
    // What only waits for its login, or with its server, is told there, and what only waits to be read is told of the clinic.
    const isOfLogin = ended.has(`login ${target.connection}`);
    const isTold = isOfLogin || isFolded(incidents, target) || (isUnread && target.state === 'stale');
    problems.push(...ofTarget(id, target, now, source, isTold));
    if (!isOfLogin) problems.push(...ofReplaced(id, target, now), ...forecastsOfTarget(id, target, now));
  }
  return [...problems, ...ofErasures(tenant), ...ofReminders(tenant), ...ofWrong(tenant), ...ofTriggers(tenant)];
}

/** What of forgotten patients still stands in targets where nothing else is looked for, since these or their tenant are paused. */
function ofErasures({ tenant, paused, targets }: TenantStatus): Problem[] {
  return targets.flatMap(({ target, pausedErasures: count, failure }) => {
    if (count === 0) return [];
    const told = sentence('{count:erasure waits|erasures wait} of who was forgotten', { count });
    // Of a paused tenant nothing is written; else what keeps its target is tried again.
    const next = paused ? sentence('set "paused: false" for the tenant') : forTenant(failure?.remedy ?? null, tenant);
    const needs = paused || (failure !== null && isForPerson(failure.actor)) ? 'person' : 'time';
    return [
      { ...needsPerson(tenant, `target ${target}`, 'erasures-wait', told, next), needs, waiting: count } as const,
    ];
  });
}

function ofLogin({ tenant, targets }: TenantStatus, connection: ConnectionStatus): Problem[] {
  const { connection: id, state, reason, account, sinceAt, nextTryAt, missingScopes } = connection;
  const waiting = targets.filter((target) => target.connection === id).reduce((sum, { pending }) => sum + pending, 0);
  const subject = `login ${id}`;
  const again = `clinic-mirror login ${tenant} ${id}`;
  const told = (code: string, text: string, next: string): Problem[] => [
    { ...needsPerson(tenant, subject, code, text, next), sinceAt, waiting },
  ];
  switch (state) {
    case 'needs-login':
      if (reason?.startsWith('seal') === true) {
        const text = sentence('what is kept of it does not open: the sealing key is not the one of before');
        return told(
          reason,
          text,
          sentence('put the key of before back into secrets.sealingKeys in clinic-mirror.yaml, or log in again'),
        );
      }
      return told(reason ?? 'login-ended', sentence('the login has ended and a person must log in again'), again);
    case 'never':
      return told('not-connected', sentence('nobody has logged in yet'), again);
    case 'no-tenant':
      return told(reason ?? 'tenant-not-allowed', sentence('the user of this login may not work in the clinic'), again);
    case 'unconfirmed': {
      const accept = `clinic-mirror accept-account ${tenant} ${id} <account>`;
      const text =
        account === null
          ? sentence('nobody has said that its account is the right account')
          : sentence('nobody has said that {account} is the right account', { account });
      return told('account-unconfirmed', text, accept);
    }
    case 'connected':
      if (missingScopes.length === 0) return [];
      return told(
        'scope-missing',
        sentence('it was not granted {permissions}', { permissions: missingScopes.join(' ') }),
        again,
      );
    case 'retrying': {
      const text = sentence('the provider refused the login once: retrying before that is believed');
      return [{ ...needsPerson(tenant, subject, 'login-refused-once', text, null), needs: 'time', sinceAt, nextTryAt }];
    }
    case 'static':
      return [];
  }
}

/** The pause after a refusal for haste: of the clinic, or of a vendor where no target says so by itself. */
function ofPause({ tenant, targets }: TenantStatus, { connection: id, pause }: ConnectionStatus): Problem[] {
  const rests = targets.some(({ connection, state }) => connection === id && state === 'resting');
  if (pause === null || rests) return [];
  const { code, sinceAt, untilAt: nextTryAt } = pause;
  const subject = id === CLINIC_CONNECTION ? 'clinic' : `login ${id}`;
  const told = needsPerson(tenant, subject, code, sentence(LIMITED[code]), null);
  return [{ ...told, needs: 'time', sinceAt, nextTryAt }];
}

/** The last cycle, where it failed otherwise than by its login. */
function ofClinic({ tenant, lastRun }: TenantStatus, logins: readonly Problem[]): Problem[] {
  if (lastRun?.error == null || logins.some(({ subject }) => subject === CLINIC_LOGIN)) return [];
  const { code, actor, message, remedy } = lastRun.error;
  const needs = isForPerson(actor) ? 'person' : 'time';
  // Whether it failed is not known then.
  const told = code === FORGED.code ? message : sentence('the last cycle failed: {cause}', { cause: message });
  return [{ ...needsPerson(tenant, 'clinic', code, told, forTenant(remedy, tenant)), needs }];
}

function ofReminders({ tenant, reminders }: TenantStatus): Problem[] {
  const closed = (reminders?.closedChannels ?? []).map(({ channel, code, at }) => {
    const next = sentence('mend that, then: {command}', {
      command: `clinic-mirror reminders reopen ${tenant} ${channel}`,
    });
    const told = sentence('closed: nothing is sent by it');
    return {
      ...needsPerson(tenant, `reminders by ${channel}`, code, told, next),
      sinceAt: at,
      waiting: reminders?.waiting ?? 0,
    };
  });
  if (reminders?.hold == null) return closed;
  const { appointments, sinceAt } = reminders.hold;
  const told = sentence('corrections of {count:appointment|appointments} held back: so many changed at once', {
    count: appointments,
  });
  const next = `clinic-mirror holds list ${tenant}`;
  const held = { ...needsPerson(tenant, 'reminders', 'corrections-held', told, next), sinceAt, waiting: appointments };
  return [...closed, held];
}

/** Patients who hold wrong information: one line each, so that somebody may call them. Those that a hold covers have its line together. */
function ofWrong({ tenant, reminders }: TenantStatus): Problem[] {
  const alone = (reminders?.wrong ?? []).filter(
    ({ reason }) => reason !== 'corrections-held' || reminders?.hold == null,
  );
  const byAppointment = Map.groupBy(alone, ({ appointmentId }) => appointmentId);
  return [...byAppointment].map(([id, all]) => {
    const uncorrected = all.filter(({ correctsAt }) => correctsAt === null);
    const channels = [...new Set(all.map(({ channel }) => channel))].join(', ');
    const reasons = [...new Set(uncorrected.map(({ reason }) => reason))].join(', ');
    const told =
      uncorrected.length === 0
        ? sentence('the patient holds wrong information by {channels}: a correction is due', { channels })
        : sentence('the patient holds wrong information by {channels}, and no correction is sent: {reasons}', {
            channels,
            reasons,
          });
    const next = `clinic-mirror reminders explain ${tenant} ${shellWord(id)}`;
    return {
      ...needsPerson(tenant, `appointment ${id}`, 'patient-misinformed', told, next),
      needs: uncorrected.length === 0 ? 'time' : 'person',
      sinceAt: Math.min(...all.map(({ sinceAt }) => sinceAt)),
    };
  });
}

function ofTriggers({ tenant, triggers }: TenantStatus): Problem[] {
  const { closed = [], off = [], refusing = [], waiting = 0 } = triggers ?? {};
  const problems = closed.map(({ endpoint, code, at }): Problem => {
    const next = sentence('mend that, then: {command}', {
      command: `clinic-mirror triggers reopen ${tenant} ${endpoint}`,
    });
    const told = sentence('closed: nothing is sent to it');
    return { ...needsPerson(tenant, `triggers to ${endpoint}`, code, told, next), sinceAt: at, waiting };
  });
  for (const { endpoint, event, code, remedy } of off) {
    const told = sentence("{event} is off: what it needs can't be read", { event });
    problems.push(needsPerson(tenant, `triggers to ${endpoint}`, code, told, forTenant(remedy, tenant)));
  }
  for (const { endpoint, code, remedy, sinceAt } of refusing) {
    const told = sentence('the receiver refuses our signature: nothing reaches it');
    problems.push({ ...needsPerson(tenant, `triggers to ${endpoint}`, code, told, remedy), sinceAt, waiting });
  }
  return problems;
}

/** Whether an error waits for a person, by who must act. */
export function isForPerson(actor: string): boolean {
  return actor === 'settings' || actor === 'authorization' || actor === 'contract' || actor === 'guard';
}
