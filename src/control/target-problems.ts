import { forTenant } from '../model/errors.ts';
import { needsPerson, type Problem } from '../model/problems.ts';
import { sentence } from '../model/sentences.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../model/time.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { FORGED } from '../state/forged.ts';
import type { TargetGap } from '../state/target-record.ts';
import { type Installation, settingsPlace } from './installation.ts';
import type { TargetStatus } from './status-view.ts';

/** An entry that fails for so long needs a person: most of what passes has passed by then. Our choice. */
const FAILING_LONG_MS = HOUR_MS;
/** A first sync that goes on for longer needs a person. Our choice. */
const FIRST_SYNC_LONG_MS = 6 * HOUR_MS;
/** So long it is told that a calendar took the place of one that was gone: over a weekend. Our choice. */
const REPLACED_TOLD_MS = 3 * DAY_MS;
const KEPT_BACK = '{count:record|records} kept back, since it would have told more of patients than it may: {codes}';
/** What is said of a limit of requests, by its code. */
export const LIMITED = {
  'rate-limited': 'the server limits requests: retrying',
  'client-rate-limited': 'the server limits requests of every clinic with this client: retrying',
} as const;
/** What of an installation tells where settings are changed. */
export type Source = Pick<Installation, 'managed'>;

/** That another calendar was made in the place of one that was gone: phones that show the old one show nothing new. */
export function ofReplaced(tenant: string, { target, calendarReplacedAt: at }: TargetStatus, now: Instant): Problem[] {
  if (at === null || now - at > REPLACED_TOLD_MS) return [];
  const told = sentence(
    'its calendar was gone, and another one is written to: who looks at the old one sees nothing new',
  );
  const next = sentence('share the new calendar with whoever looked at the old one');
  return [{ ...needsPerson(tenant, `target ${target}`, 'calendar-replaced', told, next), sinceAt: at }];
}

/** All that is the matter with a target: each is told whatever else is. @param isToldElsewhere what keeps it from going on is told of its login, its server or the clinic */
export function ofTarget(
  tenant: string,
  target: TargetStatus,
  now: Instant,
  source: Source,
  isToldElsewhere: boolean,
): Problem[] {
  if (target.state === 'paused') return [];
  const { target: id, gaps, drift } = target;
  const problem = (code: string, text: string, next: string | null) =>
    needsPerson(tenant, `target ${id}`, code, text, next);
  const found = [
    ...(isToldElsewhere ? [] : ofFailure(tenant, target)),
    ...ofHold(tenant, target),
    ...(isToldElsewhere ? [] : ofWriting(tenant, target, now)),
  ];
  if (target.isDriftLeft) {
    const count = (drift?.edited ?? 0) + (drift?.removed ?? 0);
    const told = sentence('{count:change|changes} by hand left for a person to look at', { count });
    found.push(problem('drifted', told, `clinic-mirror audit ${tenant}`));
  }
  for (const gap of gaps) {
    found.push(problem(gap.code, sentenceOf(gap), nextOf(gap, tenant, id, settingsPlace(source, tenant))));
  }
  // What waits, waits for the first of them.
  return found.map((each, index) => (index === 0 ? { ...each, waiting: target.pending } : each));
}

/** What keeps all of a target from going on, but for what a person has to decide. */
function ofFailure(tenant: string, { target: id, state, failure, outage, nextTryAt }: TargetStatus): Problem[] {
  if (state !== 'stopped' && state !== 'resting') return [];
  // Without a failure of its own it rests with another target of its account.
  const limited = sentence(LIMITED['rate-limited']);
  const { code = 'rate-limited', message = limited, remedy = null, sinceAt = null } = failure ?? {};
  const needs = state === 'stopped' ? 'person' : 'time';
  const text = outage === null ? message : `${message}: ${outage}`;
  const told = needsPerson(tenant, `target ${id}`, code, text, forTenant(remedy, tenant));
  return [{ ...told, needs, sinceAt, nextTryAt }];
}

/** What a person has to decide, whatever else keeps the target. */
function ofHold(tenant: string, { target: id, failure, held, heldSinceAt }: TargetStatus): Problem[] {
  const next = `clinic-mirror holds list ${tenant}`;
  const problems: Problem[] = [];
  if (failure?.actor === 'guard') {
    const { code, message, remedy, sinceAt } = failure;
    const told = needsPerson(tenant, `target ${id}`, code, message, forTenant(remedy, tenant) ?? next);
    problems.push({ ...told, sinceAt });
  }
  if (held > 0) {
    const told = sentence('{count:change|changes} held back until a person decides', { count: held });
    const code = 'held';
    problems.push({ ...needsPerson(tenant, `target ${id}`, code, told, next), sinceAt: heldSinceAt });
  }
  return problems;
}

/** What keeps some of its records, or takes long. Where all of it stands still that is told already. */
function ofWriting(tenant: string, target: TargetStatus, now: Instant): Problem[] {
  const { target: id, state, failing, firstSync, oldestPendingAt: sinceAt } = target;
  if (state === 'stopped' || state === 'resting') return [];
  const told = (code: string, text: string, next: string | null) =>
    needsPerson(tenant, `target ${id}`, code, text, next);
  const isLongerThan = (timeMs: number) => sinceAt !== null && now - sinceAt > timeMs;
  if (failing > 0) {
    const text = sentence('{count:change|changes} refused or failed, and tried again', { count: failing });
    const needs = isLongerThan(FAILING_LONG_MS) ? 'person' : 'time';
    return [{ ...told('failing', text, `clinic-mirror health ${tenant} ${id}`), needs, sinceAt }];
  }
  if (state === 'stale') {
    return [{ ...told('stale', sentence('the last cycle could not read all that it follows'), null), needs: 'time' }];
  }
  if (firstSync?.of == null || !isLongerThan(FIRST_SYNC_LONG_MS)) return [];
  const text = sentence('its first sync takes long: {written} of {all} written', {
    ...{ written: String(firstSync.written), all: String(firstSync.of) },
  });
  return [{ ...told('first-sync-slow', text, `clinic-mirror health ${tenant} ${id}`), sinceAt }];
}

/** What of a target is not known; ids in it are those of its file. */
function sentenceOf({ code, count, what }: TargetGap): string {
  const ids = what.join(', ');
  switch (code) {
    case 'agenda-unknown':
      return sentence('the clinic lists no agenda {ids}', { ids });
    case 'treatment-unknown':
      return sentence('the clinic lists no treatment {ids}', { ids });
    case 'agenda-unconfirmed':
      return sentence('whether the clinic has the agenda {ids} may not be read', { ids });
    case 'treatment-unconfirmed':
      return sentence('whether the clinic has the treatment {ids} may not be read', { ids });
    case 'rows-unread':
      return sentence("{count:row|rows} of the clinic can't be read: {codes}", { count, codes: ids });
    case 'records-unlisted':
      return sentence("the clinic's list lacks {count:record|records} that the clinic shows one by one", { count });
    case 'record-forged':
      return FORGED.message;
    case 'egress-stopped':
      return sentence(KEPT_BACK, { count, codes: ids });
  }
}

function nextOf({ code }: TargetGap, tenant: string, target: string, place: string): string {
  if (code === 'agenda-unknown') return sentence('correct agendas of {target} in {place}', { target, place });
  if (code === 'treatment-unknown') return sentence('correct treatments of {target} in {place}', { target, place });
  if (code === 'record-forged') return FORGED.remedy;
  if (code.endsWith('-unconfirmed')) return `clinic-mirror login ${tenant} ${CLINIC_CONNECTION}`;
  if (code === 'records-unlisted') return sentence('check the list in the clinic system, its filters and its paging');
  return `clinic-mirror ${code === 'rows-unread' ? `status ${tenant}` : `health ${tenant} ${target}`}`;
}
