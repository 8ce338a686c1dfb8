import { forTenant, type Message, message, type Text } from '../messages/message.ts';
import { needsPerson, type Problem } from '../model/problems.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../model/time.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { FORGED } from '../state/sealing.ts';
import type { TargetGap } from '../state/target-record.ts';
import { type Installation, settingsLocation } from './installation.ts';
import type { TargetStatus } from './status-view.ts';

/** An entry that fails for so long needs an administrator: most of what passes has passed by then. Our choice. */
const FAILING_LONG_MS = HOUR_MS;
/** A first sync that takes longer needs an administrator. Our choice. */
const FIRST_SYNC_LONG_MS = 6 * HOUR_MS;
/** So long it is told that a calendar took the place of one that was gone: over a weekend. Our choice. */
const CALENDAR_CHANGE_REPORT_MS = 3 * DAY_MS;
/** What of an installation tells where settings are changed. */
export type Source = Pick<Installation, 'managed'>;

/** That another calendar was made in the place of one that was gone: phones that show the old one show nothing new. */
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

/** All that is the matter with a target: each is told whatever else is. @param isReportedElsewhere what keeps it from going on is told of its login, its server or the clinic */
export function ofTarget(
  tenant: string,
  target: TargetStatus,
  { now, source, isReportedElsewhere }: { now: Instant; source: Source; isReportedElsewhere: boolean },
): Problem[] {
  if (target.state === 'paused') return [];
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
    const report = message('drifted', { count });
    found.push(problem('drifted', report, `clinic-mirror audit ${tenant}`));
  }
  for (const gap of gaps) {
    found.push(problem(gap.code, sentenceOf(gap), nextOf(gap, tenant, id, settingsLocation(source, tenant))));
  }
  // What waits, waits for the first of them.
  return found.map((each, index) => (index === 0 ? { ...each, waiting: target.pending } : each));
}

/** What keeps all of a target from going on, but for what a person has to decide. */
function ofFailure(tenant: string, { target: id, state, failure, outage, nextTryAt }: TargetStatus): Problem[] {
  if (state !== 'stopped' && state !== 'resting') return [];
  // Without a failure of its own it rests with another target of its account.
  const limited = { message: message('rate-limited'), remedy: null };
  const { code = 'rate-limited', texts = limited, sinceAt = null } = failure ?? {};
  const health = state === 'stopped' ? 'action-required' : 'retrying';
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

/** What a person has to decide, whatever else keeps the target. */
function ofHold(tenant: string, { target: id, failure, held, heldSinceAt }: TargetStatus): Problem[] {
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
    const report = message('held', { count: held });
    const code = 'held';
    problems.push({
      ...needsPerson({ tenant, subject: message('subject.target', { id }), code, sentence: report, next }),
      sinceAt: heldSinceAt,
    });
  }
  return problems;
}

/** What keeps some of its records, or takes long. Where all of it stands still that is told already. */
function ofWriting(tenant: string, target: TargetStatus, now: Instant): Problem[] {
  const { target: id, state, failing, firstSync, oldestPendingAt: sinceAt } = target;
  if (state === 'stopped' || state === 'resting') return [];
  const report = (code: string, text: Text, next: Text | null) =>
    needsPerson({ tenant, subject: message('subject.target', { id }), code, sentence: text, next });
  const isLongerThan = (timeMs: number) => sinceAt !== null && now - sinceAt > timeMs;
  if (failing > 0) {
    const text = message('failing', { count: failing });
    const health = isLongerThan(FAILING_LONG_MS) ? 'action-required' : 'retrying';
    return [{ ...report('failing', text, `clinic-mirror health ${tenant} ${id}`), health, sinceAt }];
  }
  if (state === 'stale') {
    return [{ ...report('stale', message('stale'), null), health: 'retrying' }];
  }
  if (firstSync?.of == null || !isLongerThan(FIRST_SYNC_LONG_MS)) return [];
  const text = message('first-sync-slow', {
    ...{ written: String(firstSync.written), all: String(firstSync.of) },
  });
  return [{ ...report('first-sync-slow', text, `clinic-mirror health ${tenant} ${id}`), sinceAt }];
}

/** What of a target is not known; ids in it are those of its file. */
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
    case 'rows-unread':
      return message('rows-unread', { count, codes: ids });
    case 'records-unlisted':
      return message('records-unlisted', { count });
    case 'record-forged':
      return FORGED.texts.message;
    case 'egress-stopped':
      return message('egress-stopped', { count, codes: ids });
  }
}

function nextOf({ code }: TargetGap, tenant: string, target: string, location: string): Text {
  if (code === 'agenda-unknown') return message('agenda-unknown.remedy', { target, place: location });
  if (code === 'treatment-unknown') return message('treatment-unknown.remedy', { target, place: location });
  if (code === 'record-forged') return FORGED.texts.remedy;
  if (code.endsWith('-unconfirmed')) return `clinic-mirror login ${tenant} ${CLINIC_CONNECTION}`;
  if (code === 'records-unlisted') return message('records-unlisted.remedy');
  return `clinic-mirror ${code === 'rows-unread' ? `status ${tenant}` : `health ${tenant} ${target}`}`;
}
