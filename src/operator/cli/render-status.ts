import { sentenceOfRemark } from '../../core/model/snapshots.ts';
import { SYNC_HEALTH_WORDS, syncWords } from '../../core/model/sync-state.ts';
import type { Instant } from '../../core/model/time.ts';
import { policySentence } from '../../core/model/write-policy.ts';
import { message, render } from '../../messages/message.ts';
import type {
  ConnectionStatus,
  DriftPolicy,
  RemovedStatus,
  Status,
  TargetStatus,
  TenantStatus,
} from '../control/status-schemas.ts';
import { DURABILITY_UNSUPPORTED, storageText } from '../control/status-view.ts';
import { renderProblems, renderSummary, renderTenants, syncHealthWords } from './render-summary.ts';
import { byReason, renderGaps, renderReading, renderReasons, renderUnconfirmed } from './render-sync.ts';
import { remedyOf } from './render-triggers.ts';
import { IN_SYNC_AS_OF, renderAge, renderTable, renderTime, wrap } from './table.ts';

/**
 * Renders the status: summary, problems and one line per clinic. A single clinic is shown with every detail.
 * @param options.problemsOnly omits the clinics
 */
export function renderStatus(status: Status, { problemsOnly = false } = {}): string {
  const summary = [renderSummary(status), ...renderProblems(status.problems, status.at)];
  if (problemsOnly) return summary.join('\n\n');
  const { tenants } = status;
  const blocks = [...summary];
  if (tenants.length > 1) blocks.push(renderTenants(tenants, status.at));
  else blocks.push(...tenants.map((tenant) => renderTenant(tenant, status.at)));
  blocks.push(...renderRefused(status));
  const removed = renderRemoved(status.removed.map((one) => ({ ...one, name: `tenant ${one.name}` })));
  if (removed.length > 0) blocks.push(removed.join('\n'));
  return [...blocks, ...renderState(status.state)].join('\n\n');
}

/** Renders the changed files that daemons refused, with file, line and field. */
function renderRefused({ refused, awaitsRestart }: Pick<Status, 'refused' | 'awaitsRestart'>): string[] {
  const blocks = refused.map(({ tenant, sinceAt, faults, more }) => {
    const who = tenant ?? 'every tenant';
    const what = `CHANGED FILE REFUSED since ${renderTime(sinceAt)}: the previous configuration stays active`;
    const lines = faults.map(({ file, line, path, message }) =>
      wrap([file, ...(line === null ? [] : [`line ${line}`]), path, message].filter(Boolean).join(', '), '  '),
    );
    if (more > 0) lines.push(`  and ${more} more faults: see "clinic-mirror config check"`);
    return [wrap(`${who}  ${what}`), ...lines].join('\n');
  });
  if (awaitsRestart.length > 0) {
    blocks.push(wrap(`changed settings need a restart of the daemon: ${awaitsRestart.join(', ')}`));
  }
  return blocks;
}

/** Renders removed targets or tenants, and the retention of their data. */
function renderRemoved(removed: readonly RemovedStatus[], indent = ''): string[] {
  return removed.map(({ name, releaseAt }) =>
    wrap(
      `${name.replace('/', ' ')} is no longer configured: its state is deleted after ${renderTime(releaseAt)}`,
      indent,
    ),
  );
}

/** Renders gaps in the protection of stored decisions. */
function renderState({ durability, directory, wentBackAt, wentBackTo, writesLostAt }: Status['state']): string[] {
  const lines: string[] = [];
  if (wentBackAt !== null) {
    const since = wentBackTo === null ? '' : `, to its state at ${renderTime(wentBackTo)}`;
    lines.push(
      `state-went-back: detected at ${renderTime(wentBackAt)}${since}; reminders due before the detection are not sent again`,
    );
  }
  if (writesLostAt !== null) {
    lines.push(
      `lost record of writes: detected at ${renderTime(writesLostAt)}; the daemon reads targets again before they are in sync`,
    );
  }
  if (directory !== 'kept') {
    const why = directory === 'none' ? 'no dataDirectory is set' : 'dataDirectory is not writable';
    const noAuditLog = directory === 'none' ? '; the audit log is off' : '';
    lines.push(`state is stored only in Redis: ${why}${noAuditLog}`);
  }
  if (durability === 'unsupported') {
    lines.push(`${render(DURABILITY_UNSUPPORTED.sentence)} → ${render(DURABILITY_UNSUPPORTED.remedy)}`);
  }
  if (durability === 'late') lines.push(render(message('redis-late')));
  return lines.length === 0 ? [] : [lines.map((line) => wrap(line)).join('\n')];
}

function renderFeed({ target, feed }: TargetStatus, tenant: string, now: Instant): string {
  if (feed == null)
    return wrap(`${target}: the feed has no URL; create a URL: clinic-mirror feeds rotate ${tenant} ${target}`, '  ');
  const fetched = feed.fetchedAt === null ? 'never fetched' : `last fetched ${renderAge(feed.fetchedAt, now)} ago`;
  return wrap(`${target}: ${fetched}, URL created ${renderTime(feed.madeAt)}`, '  ');
}

function renderTenant(tenant: TenantStatus, now: Instant): string {
  const [sync, health] = [syncWords(tenant, 'en'), SYNC_HEALTH_WORDS.en[tenant.health]];
  const asOf = tenant.inSyncAsOf === null ? 'never' : renderTime(tenant.inSyncAsOf);
  const before = tenant.firstSync !== null ? sync : `${sync}, in sync as of ${asOf}`;
  const step = tenant.sync === 'in-sync' ? `${sync} as of ${asOf}` : before;
  const lines = [wrap(`${tenant.tenant}  ${tenant.name}${tenant.paused ? '  (paused)' : ''}`)];
  lines.push(wrap(`sync: ${step}; health: ${health}`, '  '));
  lines.push(...renderConfiguration(tenant));
  lines.push(...tenant.connections.map((connection) => wrap(`connection ${renderConnection(connection, now)}`, '  ')));
  if (tenant.uncertainty !== null) {
    const what = `${tenant.uncertainty.code} since ${renderTime(tenant.uncertainty.sinceAt)}: Redis lost the list of forgotten and opted-out patients`;
    const next = `restore a backup, or "clinic-mirror accept-loss ${tenant.tenant}"`;
    lines.push(wrap(`${what}. Patient data is neither written nor sent until an administrator decides: ${next}`, '  '));
  }
  for (const { verb, what, by, expiresAt } of tenant.approvals) {
    const which = typeof what.hold === 'string' ? ` hold ${what.hold}` : '';
    const who = by.claimed ?? by.name;
    const says = `${verb}${which} WAITS FOR A SECOND ADMINISTRATOR: requested by ${who}; until ${renderTime(expiresAt)}`;
    lines.push(wrap(says, '  '));
  }
  lines.push(...renderRun(tenant, now), wrap(render(storageText(tenant.storage)), '  '));
  lines.push('', renderTargets(tenant.targets));
  lines.push(...renderReasons(tenant.targets, '  '));
  for (const target of tenant.targets) {
    if ((tenant.lastRun?.pace.soonPerWhole ?? 0) > 0) lines.push(...renderNext48h(target, now));
    lines.push(...renderUnconfirmed(target, '  '));
    lines.push(...renderGaps({ [target.target]: target.gaps }, target.exceptGapsAsOf, '  '));
    if (target.writePolicy !== undefined)
      lines.push(wrap(`${target.target}: ${render(policySentence(target.writePolicy))}`, '  '));
    if (target.failure !== null) lines.push('', ...renderFailure(target, now));
    if (hasFindings(target)) lines.push(renderDrift(target, now));
    if (target.feed !== undefined) lines.push(renderFeed(target, tenant.tenant, now));
    if (target.dropsMarks) lines.push(wrap(`${target.target}: ${render(message('marks-dropped'))}`, '  '));
    if (target.ambiguous > 0) {
      const what = `${target.ambiguous} objects have the clinic-mirror owner tag, but no certain match with a record`;
      const next = `"clinic-mirror audit ${tenant.tenant}" removes copies of events; "clinic-mirror health ${tenant.tenant} ${target.target}" lists copies of contacts`;
      lines.push(wrap(`${target.target}: ${what}; ${next}`, '  '));
    }
  }
  lines.push(...renderRemoved(tenant.removed, '  '));
  const rules = Object.entries(tenant.lastRun?.gaps ?? {}).filter(([owner]) => owner.startsWith('reminders/'));
  lines.push(...renderGaps(Object.fromEntries(rules), null, '  '));
  lines.push(...renderNotifications(tenant.targets), ...renderClosedChannels(tenant), ...renderTriggers(tenant));
  return lines.join('\n');
}

/** Renders the targets that receive change notifications, and other targets by reason. */
function renderNotifications(targets: readonly TargetStatus[]): string[] {
  const lines: string[] = [];
  const polled: [reason: string, target: string][] = [];
  for (const { target, notifications } of targets) {
    const { sinceAt, untilAt, reason } = notifications;
    if (untilAt === null) {
      polled.push([reason ?? 'not-yet', target]);
    } else {
      const failure = reason === null ? '' : `, renewal failed: ${reason}`;
      const since = renderTime(sinceAt);
      lines.push(wrap(`${target}: change notifications since ${since}, until ${renderTime(untilAt)}${failure}`, '  '));
    }
  }
  if (polled.length > 0) {
    lines.push(wrap(`manual changes are found only by polling: ${byReason(polled)}`, '  '));
  }
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Renders processes and files with different configurations. */
function renderConfiguration({ configuration: { supersededAt, isOurs } }: TenantStatus): string[] {
  const lines: string[] = [];
  if (supersededAt !== null)
    lines.push(
      'configuration-superseded: a process with an older configuration skips this tenant until it has the current files',
    );
  if (!isOurs)
    lines.push('these files differ from the last cycle: a daemon with these files applies them within seconds');
  return lines.map((line) => wrap(line, '  '));
}

/** Renders reminder channels that require action. */
function renderClosedChannels({ tenant, reminders }: TenantStatus): string[] {
  const lines = (reminders?.closedChannels ?? []).map(({ channel, code, at }) => {
    const opened = `after the fix, run "clinic-mirror reminders reopen ${tenant} ${channel}"`;
    return wrap(`reminders by ${channel}: closed since ${renderTime(at)} (${code}); ${opened}`, '  ');
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Renders disabled triggers, and endpoints that require action. */
function renderTriggers({ tenant, triggers }: TenantStatus): string[] {
  const { closed = [], off = [] } = triggers ?? {};
  const lines = closed.map(({ endpoint, code, at }) =>
    wrap(
      `triggers to ${endpoint}: closed since ${renderTime(at)} (${code}); ${remedyOf(tenant, endpoint, code)}`,
      '  ',
    ),
  );
  for (const { endpoint, event, code, remedy } of off) {
    const act = remedy === null ? '' : `; ${remedy}`;
    lines.push(wrap(`not readable, trigger off: ${event} to ${endpoint} (${code})${act}`, '  '));
  }
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Renders a connection in one line. */
export function renderConnection(connection: ConnectionStatus, now: Instant): string {
  const { connection: id, kind, state, reason, account, nextTryAt, pause, accessExpiresAt, missingScopes } = connection;
  const parts = [`${id} (${kind}): ${state}`];
  if (reason !== null) parts.push(reason);
  if (nextTryAt !== null) parts.push(`next retry at ${renderTime(nextTryAt)}`);
  if (pause !== null) parts.push(`retrying (${pause.code}), next retry at ${renderTime(pause.untilAt)}`);
  if (state === 'connected' && accessExpiresAt !== null) {
    parts.push(`token expires in ${renderAge(now, accessExpiresAt)}`);
  }
  if (missingScopes.length > 0) parts.push(`missing scopes: ${missingScopes.join(' ')}`);
  if (account !== null) parts.push(`account ${account}`);
  if (state === 'unconfirmed') parts.push('not used until "clinic-mirror accept-account"');
  return parts.join(', ');
}

function renderRun({ lastRun }: TenantStatus, now: Instant): string[] {
  if (lastRun === null) return ['  no cycle yet'];
  const lines: string[] = [];
  const age = renderAge(lastRun.finishedAt, now);
  if (lastRun.error !== null) {
    const { code, message, remedy } = lastRun.error;
    lines.push(wrap(`last cycle ${age} ago failed: ${message} (${code})${remedy === null ? '' : `; ${remedy}`}`, '  '));
  } else if (lastRun.soon !== null) {
    const { records, requests } = lastRun.soon;
    lines.push(wrap(`last cycle ${age} ago: the next 48 hours, ${records} appointments, ${requests} requests`, '  '));
  } else if (lastRun.snapshot !== null) {
    const { completeness, reason, records, requests, repeated = 0 } = lastRun.snapshot;
    const why = reason === null ? '' : ` (${reason})`;
    const twice = repeated === 0 ? '' : `, ${repeated} duplicate records`;
    const read = completeness === 'changes' ? 'changes since the last full read' : completeness;
    lines.push(
      wrap(`last cycle ${age} ago: ${records} appointments, ${read}${why}, ${requests} requests${twice}`, '  '),
    );
  }
  if (lastRun.pace.soonPerWhole > 0) {
    const all = `one cycle in ${lastRun.pace.soonPerWhole + 1} is a full read`;
    lines.push(wrap(`cycles start late: ${all}, the other cycles read the next 48 hours`, '  '));
  }
  lines.push(...renderReading(lastRun, '  '));
  if (lastRun.unknownStatuses.length > 0) {
    lines.push(wrap(`statuses missing in the profile: ${lastRun.unknownStatuses.join(', ')}`, '  '));
  }
  for (const remark of lastRun.remarks ?? []) lines.push(wrap(render(sentenceOfRemark(remark)), '  '));
  return lines;
}

function renderTargets(targets: readonly TargetStatus[]): string {
  const columns = [
    'target',
    { heading: 'sync', isState: true },
    { heading: 'health', isState: true },
    IN_SYNC_AS_OF,
    'checked at',
    'pending',
    'failed',
    'on hold',
  ];
  const rows = targets.map((target) => [
    target.target,
    ...syncHealthWords(target),
    renderTime(target.inSyncAsOf),
    renderTime(target.checkedAt),
    target.pending,
    target.failing,
    target.held,
  ]);
  return renderTable(columns, rows, '  ');
}

/** Renders targets with fresher data for the next 48 hours than for later days. */
function renderNext48h({ target, inSyncAsOf, soonAsOf }: TargetStatus, now: Instant): string[] {
  if (soonAsOf === null || inSyncAsOf === null || soonAsOf <= inSyncAsOf) return [];
  const age = renderAge(soonAsOf, now);
  return [wrap(`${target}: the next 48 hours as of ${renderTime(soonAsOf)} (${age} ago)`, '  ')];
}

function renderFailure({ target, failure, nextTryAt, outage }: TargetStatus, now: Instant): string[] {
  if (failure === null) return [];
  const since = renderAge(failure.sinceAt, now);
  const again = nextTryAt === null ? '' : ` Retrying, next retry at ${renderTime(nextTryAt)}.`;
  const remedy = failure.remedy === null ? '' : ` What to do: ${failure.remedy}.`;
  const server = outage === null ? '' : `: ${outage}`;
  return [wrap(`${target}: ${failure.message}${server} (${failure.code}, for ${since}).${again}${remedy}`, '  ')];
}

const POLICY_TEXTS: Readonly<Record<DriftPolicy, string>> = {
  repair: '',
  keep: ', kept until the appointments change',
  report: ', reported for an administrator',
};

function hasFindings({ drift, dropsMarks }: TargetStatus): boolean {
  if (drift === null) return false;
  const { edited, removed, unmarked = 0, unreadable = 0 } = drift;
  return edited + removed + (dropsMarks ? 0 : unmarked) + unreadable > 0;
}

function renderDrift({ target, drift, dropsMarks, policy }: TargetStatus, now: Instant): string {
  if (drift === null) return '';
  const { edited, removed, churning, checkedAt, unmarked = 0, unreadable = 0 } = drift;
  const churningText = churning === 0 ? '' : `, ${churning} restored too often today and skipped`;
  const marksText = unmarked === 0 || dropsMarks ? '' : `, ${unmarked} without the marks of clinic-mirror`;
  const unreadText = unreadable === 0 ? '' : `, ${unreadable} unreadable`;
  const text = `${target}: manual changes: ${edited} edited, ${removed} removed${POLICY_TEXTS[policy]}${churningText}${marksText}${unreadText} (last audit ${renderAge(checkedAt, now)} ago)`;
  return wrap(text, '  ');
}
