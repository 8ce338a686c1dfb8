import { MEBIBYTE } from '../../core/http/client.ts';
import { needsPerson, type Problem } from '../../core/model/problems.ts';
import type { TargetGap } from '../../core/model/run-schemas.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../../core/model/time.ts';
import { forTenant, type Message, message, type Text } from '../../messages/message.ts';
import { CLINIC_CONNECTION } from '../../settings/tenant-schema.ts';
import { type Installation, settingsLocation } from './installation.ts';
import type { TargetStatus, TenantStatus } from './status-schemas.ts';

/** Duration after which a failing change requires an administrator, because most temporary failures end earlier. Project choice. */
const FAILING_LONG_MS = HOUR_MS;
/** Duration after which a first sync requires an administrator. Project choice. */
const FIRST_SYNC_LONG_MS = 6 * HOUR_MS;
/** Duration of the report about a replaced calendar, to cover a weekend. Project choice. */
const CALENDAR_CHANGE_REPORT_MS = 3 * DAY_MS;
/** Source of the place where a tenant's settings are changed. */
export type Source = Pick<Installation, 'managed'>;

/** Reports a replaced calendar, because phones with the deleted calendar show no new appointments. */
export function ofReplaced(tenant: string, { target, calendarReplacedAt: at }: TargetStatus, now: Instant): Problem[] {
  if (at === null || now - at > CALENDAR_CHANGE_REPORT_MS) return [];
  const report = message('calendar-replaced');
  const next = message('calendar-replaced.remedy');
  return [
    {
      ...needsPerson({
        tenant,
        subject: message('subject.target', { id: target }),
        code: 'calendar-replaced',
        sentence: report,
        next,
      }),
      sinceAt: at,
    },
  ];
}

/** Returns all problems of a target. @param isReportedElsewhere the connection, server or clinic already reports the failure */
export function ofTarget(
  tenant: string,
  target: TargetStatus,
  { now, source, isReportedElsewhere }: { now: Instant; source: Source; isReportedElsewhere: boolean },
): Problem[] {
  if (target.reason === 'paused') return [];
  const { target: id, gaps, drift } = target;
  const problem = (code: string, text: Text, next: Text | null) =>
    needsPerson({ tenant, subject: message('subject.target', { id }), code, sentence: text, next });
  const found = [
    ...(isReportedElsewhere ? [] : ofFailure(tenant, target)),
    ...ofHold(tenant, target),
    ...(isReportedElsewhere ? [] : ofWriting(tenant, target, now)),
  ];
  if (target.isDriftUnrepaired) {
    const count = (drift?.edited ?? 0) + (drift?.removed ?? 0);
    const report = message('manual-changes', { count });
    found.push(problem('manual-changes', report, `clinic-mirror audit ${tenant}`));
  }
  for (const gap of gaps) {
    // The tenant reports it, once for all targets.
    if (gap.code === 'tenant-too-large') continue;
    found.push(problem(gap.code, sentenceOf(gap), nextOf(gap, tenant, id, settingsLocation(source, tenant))));
  }
  // The first problem carries the number of waiting changes.
  return found.map((each, index) => (index === 0 ? { ...each, waiting: target.pending } : each));
}

/** Reports a failure that stops the whole target, except holds. */
function ofFailure(tenant: string, { target: id, reason, failure, outage, nextTryAt }: TargetStatus): Problem[] {
  if (reason !== 'error' && reason !== 'backing-off') return [];
  // Without a failure, the target backs off with a different target of its account.
  const limited = { message: message('rate-limited'), remedy: null };
  const { code = 'rate-limited', texts = limited, sinceAt = null } = failure ?? {};
  const health = reason === 'error' ? 'action-required' : 'retrying';
  const text = outage === null ? texts.message : message('about', { cause: texts.message, names: outage });
  const report = needsPerson({
    tenant,
    subject: message('subject.target', { id }),
    code,
    sentence: text,
    next: forTenant(texts.remedy, tenant),
  });
  return [{ ...report, health, sinceAt, nextTryAt }];
}

/** Reports a hold, even if another problem stops the target. */
function ofHold(tenant: string, { target: id, failure, held, heldRestorations, heldSinceAt }: TargetStatus): Problem[] {
  const next = `clinic-mirror holds list ${tenant}`;
  const problems: Problem[] = [];
  if (failure?.actor === 'guard') {
    const { code, texts, sinceAt } = failure;
    const report = needsPerson({
      tenant,
      subject: message('subject.target', { id }),
      code,
      sentence: texts.message,
      next: forTenant(texts.remedy, tenant) ?? next,
    });
    problems.push({ ...report, sinceAt });
  }
  if (held > 0) {
    const report =
      heldRestorations === null ? message('on-hold', { count: held }) : heldMessage(held, heldRestorations);
    const code = 'on-hold';
    problems.push({
      ...needsPerson({ tenant, subject: message('subject.target', { id }), code, sentence: report, next }),
      sinceAt: heldSinceAt,
    });
  }
  return problems;
}

function heldMessage(held: number, { count, limit }: NonNullable<TargetStatus['heldRestorations']>): Text {
  const values = { restorations: count, limit: limit.count, share: Math.round(limit.share * 100) };
  return message('on-hold.manual-changes', { count: held, ...values });
}

/** Reports failing records and slow work. A stopped target is already reported. */
function ofWriting(tenant: string, target: TargetStatus, now: Instant): Problem[] {
  const { target: id, reason, failing, firstSync, oldestPendingAt: sinceAt } = target;
  if (reason === 'error' || reason === 'backing-off') return [];
  const report = (code: string, text: Text, next: Text | null) =>
    needsPerson({ tenant, subject: message('subject.target', { id }), code, sentence: text, next });
  const isLongerThan = (timeMs: number) => sinceAt !== null && now - sinceAt > timeMs;
  if (failing > 0) {
    const text = message('writes-failed', { count: failing });
    const health = isLongerThan(FAILING_LONG_MS) ? 'action-required' : 'retrying';
    return [{ ...report('writes-failed', text, `clinic-mirror health ${tenant} ${id}`), health, sinceAt }];
  }
  if (reason === 'read-failed') {
    return [{ ...report('read-failed', message('read-failed'), null), health: 'retrying' }];
  }
  if (firstSync?.of == null || !isLongerThan(FIRST_SYNC_LONG_MS)) return [];
  const text = message('first-sync-slow', {
    ...{ written: String(firstSync.written), all: String(firstSync.of) },
  });
  return [{ ...report('first-sync-slow', text, `clinic-mirror health ${tenant} ${id}`), sinceAt }];
}

/** Reports a tenant above its limit of memory in Redis, or with left-out changes because of it. */
export function ofStorage({ tenant, storage, targets }: TenantStatus, source: Source): Problem[] {
  const { bytes, addedBytes, limitBytes } = storage;
  const omitted = targets.flatMap(({ gaps }) => gaps.filter(({ code }) => code === 'tenant-too-large'));
  if (omitted.length === 0 && (bytes ?? 0) <= limitBytes) return [];
  const count = omitted.reduce((sum, gap) => sum + gap.count, 0);
  const [used, limit] = [(bytes ?? 0) + addedBytes, limitBytes].map((each) => Math.round(each / MEBIBYTE));
  const sentence = message('tenant-too-large', { used: String(used), limit: String(limit), count });
  const next = message('tenant-too-large.remedy', { place: settingsLocation(source, tenant) });
  const problem = { tenant, subject: message('subject.state'), code: 'tenant-too-large', sentence, next };
  return [{ ...needsPerson(problem), waiting: count }];
}

/** Describes an unknown part of a target, with ids of the tenant file. */
function sentenceOf({ code, count, what }: TargetGap): Message {
  const ids = what.join(', ');
  switch (code) {
    case 'agenda-unknown':
      return message('agenda-unknown', { ids });
    case 'treatment-unknown':
      return message('treatment-unknown', { ids });
    case 'agenda-unconfirmed':
      return message('agenda-unconfirmed', { ids });
    case 'treatment-unconfirmed':
      return message('treatment-unconfirmed', { ids });
    case 'records-unreadable':
      return message('records-unreadable', { count, codes: ids });
    case 'records-unlisted':
      return message('records-unlisted', { count });
    case 'records-unconfirmable':
      return message('records-unconfirmable', { count, codes: ids });
    case 'values-unused':
      return message('values-unused', { count, fields: ids });
    case 'egress-stopped':
      return message('egress-stopped', { count, codes: ids });
    case 'tenant-too-large':
      return message('tenant-too-large.target', { count });
  }
}

function nextOf({ code, what }: TargetGap, tenant: string, target: string, location: string): Text {
  if (code === 'agenda-unknown') return message('agenda-unknown.remedy', { target, place: location });
  if (code === 'treatment-unknown') return message('treatment-unknown.remedy', { target, place: location });
  if (code.endsWith('-unconfirmed')) return `clinic-mirror login ${tenant} ${CLINIC_CONNECTION}`;
  if (code === 'records-unlisted') return message('records-unlisted.remedy');
  if (code === 'values-unused') return message('values-unused.remedy', { fields: what.join(', ') });
  if (code === 'records-unconfirmable') {
    const isOtherId = what.some((fault) => fault.startsWith('wrong-record'));
    if (what.some((fault) => fault.startsWith('incomplete-record'))) return message('records-unconfirmable.merged');
    return message(isOtherId ? 'records-unconfirmable.id' : 'records-unconfirmable.remedy');
  }
  return code === 'records-unreadable' ? `clinic-mirror status ${tenant}` : `clinic-mirror health ${tenant} ${target}`;
}
