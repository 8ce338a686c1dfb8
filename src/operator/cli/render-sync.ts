import type { TargetGap } from '../../core/model/run-schemas.ts';
import { SYNC_HEALTH_WORDS, syncWords } from '../../core/model/sync-state.ts';
import { withSimilarIds } from '../../core/model/text.ts';
import type { Instant } from '../../core/model/time.ts';
import type { RunReport } from '../../domain/runs.ts';
import { message, render } from '../../messages/message.ts';
import type { SyncResult, TargetStatus } from '../control/status-schemas.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Renders the result of one cycle. @param settings path of the tenant file */
export function renderSync({ tenant, run, targets }: SyncResult, settings = `tenants/${tenant}.yaml`): string {
  const seconds = ((run.finishedAt - run.startedAt) / 1_000).toFixed(1);
  const head =
    run.error === null
      ? `${tenant}: ${run.snapshot?.records ?? 0} appointments read in ${seconds} s`
      : wrap(`${tenant}: the cycle ended early: ${run.error.message} (${run.error.code}). ${run.error.remedy ?? ''}`);
  const columns = [
    'target',
    { heading: 'sync', isState: true },
    'new',
    'changed',
    'removed',
    'on hold',
    'pending',
    'failed',
    'links',
  ];
  const rows = targets.map((target) => {
    const planned = run.targets.find((each) => each.target === target.target)?.planned ?? {};
    const removed = (planned.cancelled ?? 0) + (planned.excluded ?? 0) + (planned.vanished ?? 0);
    const restored = (planned['edited-by-hand'] ?? 0) + (planned['removed-by-hand'] ?? 0);
    const counts = [planned.new ?? 0, (planned['content-changed'] ?? 0) + restored, removed];
    return [
      target.target,
      SYNC_HEALTH_WORDS.en[target.sync],
      ...counts,
      target.held,
      target.pending,
      target.failing,
      target.links,
    ];
  });
  const failures = targets.flatMap(({ target, failure }) =>
    failure === null
      ? []
      : [
          wrap(
            `${target}: ${failure.message} (${failure.code}). ${failure.remedy ?? 'The daemon retries automatically.'}${failure.actor === 'settings' ? `; see targets.${target} in ${settings}` : ''}`,
          ),
        ],
  );
  const held = targets.flatMap((target) =>
    target.held === 0
      ? []
      : [wrap(`${target.target}: ${target.held} changes wait for approval: clinic-mirror holds list ${tenant}`)],
  );
  const replaced = targets.flatMap(({ target, calendarReplacedAt: at }) =>
    at === null || at < run.startedAt
      ? []
      : [
          wrap(
            `${target}: the calendar was deleted, and a new calendar replaces it: share the new calendar with its users.`,
          ),
        ],
  );
  const unconfirmed = targets.flatMap((target) => renderUnconfirmed(target));
  const first = targets.flatMap((target) =>
    target.firstSync !== null ? [wrap(`${target.target}: ${syncWords(target, 'en')}`)] : [],
  );
  const remarks = [
    ...renderReasons(targets),
    ...first,
    ...failures,
    ...replaced,
    ...held,
    ...unconfirmed,
    ...renderGaps(run.gaps),
  ];
  return [head, ...renderReading(run), '', renderTable(columns, rows), ...remarks].join('\n');
}

/** Renders unusable clinic answers, missing permissions and the next planned read. */
export function renderReading(
  {
    unusable,
    unread = {},
    withheld,
    awaiting,
    snapshot,
  }: Pick<RunReport, 'unusable' | 'unread' | 'withheld' | 'awaiting' | 'snapshot'>,
  indent = '',
): string[] {
  const lines: string[] = [];
  if (snapshot?.completeness === 'partial' && indent === '') lines.push(`the read was incomplete (${snapshot.reason})`);
  const rows = Object.entries(unusable).map(([code, count]) => `${count} ${code}`);
  if (rows.length > 0) lines.push(`skipped records: ${rows.join(', ')}`);
  const values = Object.entries(unread).map(([field, count]) => `${count} ${field}`);
  if (values.length > 0) lines.push(`unreadable values, left empty: ${values.join(', ')}`);
  for (const { part, code, remedy } of withheld) {
    const act = remedy === null ? '' : `; ${remedy}`;
    lines.push(`not readable, and left out of events: ${part} (${code})${act}`);
  }
  if (awaiting.length > 0) lines.push(`unchanged until their source is read: ${awaiting.join(', ')}`);
  return lines.map((line) => wrap(line, indent));
}

/** Renders unknown parts of targets and reminder rules. @param othersAsOf instant as of which the other parts are in sync */
export function renderGaps(
  gaps: Readonly<Record<string, readonly TargetGap[]>>,
  othersAsOf: Instant | null = null,
  indent = '',
): string[] {
  const rest = othersAsOf === null ? '' : `; otherwise in sync as of ${renderTime(othersAsOf)}`;
  return Object.entries(gaps).flatMap(([owner, found]) =>
    found.map((gap) => wrap(`${owner}: ${sentenceOf(gap)} (${gap.code})${rest}`, indent)),
  );
}

/** Renders records that are missing in the clinic's list, but not yet confirmed as deleted. */
export function renderUnconfirmed(
  { target, unconfirmed }: Pick<TargetStatus, 'target' | 'unconfirmed'>,
  indent = '',
): string[] {
  if (unconfirmed === 0) return [];
  const records = unconfirmed === 1 ? '1 record is' : `${unconfirmed} records are`;
  return [wrap(`${target}: ${records} missing from the clinic's list and not confirmed as deleted`, indent)];
}

function sentenceOf({ code, count, what, soon }: TargetGap): string {
  const ids = `${what.join(', ')}${count > what.length ? ', …' : ''}`;
  const asked = render(withSimilarIds(ids, soon));
  switch (code) {
    case 'records-unreadable':
      return `${count} unreadable ${count === 1 ? 'record' : 'records'}: ${ids}`;
    case 'records-unlisted':
      return `the clinic's list lacks ${count} ${count === 1 ? 'record' : 'records'} that the clinic returns individually`;
    case 'records-unconfirmable':
      return `${count} missing ${count === 1 ? 'record' : 'records'} unreadable when read individually: ${ids}`;
    case 'values-unused':
      return `${count} ${count === 1 ? 'record' : 'records'} with several values of which only the first is used: ${ids}`;
    case 'egress-stopped':
      return `${count} on hold, because the change contains more patient data than allowed: ${what.join(', ')}`;
    case 'tenant-too-large':
      return render(message('tenant-too-large.target', { count }));
    case 'agenda-unknown':
      return `the clinic has no agenda ${asked}`;
    case 'treatment-unknown':
      return `the clinic has no treatment ${asked}`;
    case 'agenda-unconfirmed':
    case 'treatment-unconfirmed':
      return `cannot confirm that the clinic has ${code.split('-')[0]} ${ids}: no permission to read the catalogue`;
  }
}

/** Renders the targets that are not in sync, by reason. */
export function renderReasons(targets: readonly Pick<TargetStatus, 'target' | 'reason'>[], indent = ''): string[] {
  const found = targets.flatMap(({ target, reason }) => (reason === null ? [] : [[reason, target] as const]));
  return found.length === 0 ? [] : [wrap(`not in sync: ${byReason(found)}`, indent)];
}

/** Renders targets grouped by reason, such as `room, lab (paused); contacts (writing)`. */
export function byReason(targets: readonly (readonly [reason: string, target: string])[]): string {
  const groups = Map.groupBy(targets, ([reason]) => reason);
  return [...groups].map(([reason, names]) => `${names.map(([, target]) => target).join(', ')} (${reason})`).join('; ');
}
