import { groupsOf, type Problem } from '../../core/model/problems.ts';
import type { SyncState } from '../../core/model/schemas.ts';
import { SYNC_HEALTH_WORDS } from '../../core/model/sync-state.ts';
import type { Instant } from '../../core/model/time.ts';
import { message, render } from '../../messages/message.ts';
import type { Status, TenantStatus } from '../control/status-schemas.ts';
import { firstRows, stateWord } from './output.ts';
import { IN_SYNC_AS_OF, renderAge, renderTable, renderTime, wrap } from './table.ts';

/** Largest number of clinics listed per problem. */
const NAMED_TENANTS = 30;
const HEADINGS = { 'action-required': 'ACTION REQUIRED', retrying: 'RETRYING' } as const;

/** Renders the problems with their next steps, those that require action first. Returns an empty list if there are none. */
export function renderProblems(problems: readonly Problem[], now: Instant): string[] {
  return (['action-required', 'retrying'] as const).flatMap((health) => {
    const some = problems.filter((problem) => problem.health === health);
    return some.length === 0
      ? []
      : [[stateWord(HEADINGS[health]), ...some.map((problem) => renderProblem(problem, now))].join('\n')];
  });
}

function renderProblem(problem: Problem, now: Instant): string {
  const { tenant, subject, code, sinceAt, sentence, next, breaksAt, nextTryAt, waiting, tenants } = problem;
  const who = [tenant, subject].filter((part) => part !== null).join(', ');
  const more = [
    ...(sinceAt === null ? [] : [`for ${renderAge(sinceAt, now)}`]),
    ...(breaksAt === null || breaksAt <= now ? [] : [`in ${renderAge(now, breaksAt)}, at ${renderTime(breaksAt)}`]),
    ...(nextTryAt === null ? [] : [render(message('next-try', { time: renderTime(nextTryAt) }))]),
    ...(tenants === undefined ? [] : [tenantsText(tenants.map(({ tenant: id }) => id))]),
    ...(waiting === 0 ? [] : [`${waiting} ${waiting === 1 ? 'pending change' : 'pending changes'}`]),
  ];
  const what = wrap(`${who}: ${[`${sentence} (${code})`, ...more].join(', ')}`, '  ');
  // A command is printed complete and on a separate line, so that the user can copy the command.
  if (next === null) return what;
  return `${what}\n    ${isCommand(next) ? next : wrap(next, '    ').trimStart()}`;
}

/** Lists the tenants of a shared problem, up to a limit. */
function tenantsText(ids: readonly string[]): string {
  const more = ids.length - NAMED_TENANTS;
  const named = [...ids.slice(0, NAMED_TENANTS), ...(more > 0 ? [`and ${more} more`] : [])];
  return `${ids.length} ${ids.length === 1 ? 'affected tenant' : 'affected tenants'} (${named.join(', ')})`;
}

function isCommand(next: string): boolean {
  return next.startsWith('clinic-mirror ');
}

/** Renders the number of tenants by health. */
export function renderSummary({ at, tenants, unusable, refused, problems }: Status): string {
  const { needing, waiting, paused, first } = groupsOf(tenants, problems);
  const ids = [...tenants, ...unusable, ...refused].flatMap(({ tenant }) => tenant ?? []);
  const all = new Set(ids).size;
  if (all === 0) return 'No tenant is configured.';
  const counts = [needing, waiting, first, paused].map(({ length }) => length);
  const [needs, waits, begins, rests] = counts as [number, number, number, number];
  const parts = [`${all} ${all === 1 ? 'tenant' : 'tenants'}`, `${needs} action required`, `${waits} retrying`];
  if (begins > 0) parts.push(render(message('in-first-sync', { count: begins })));
  if (rests > 0) parts.push(`${rests} paused`);
  const ok = all - counts.reduce((sum, count) => sum + count, 0);
  return `as of ${renderTime(at)}: ${[...parts, `${ok} ok`].join(', ')}`;
}

/** Renders one line per tenant: the worst state of its targets, and totals. */
export function renderTenants(tenants: readonly TenantStatus[], now: Instant): string {
  const columns = [
    'tenant',
    { heading: 'sync', isState: true },
    { heading: 'health', isState: true },
    IN_SYNC_AS_OF,
    { heading: 'ago', right: true },
    'targets',
    'pending',
    'failed',
    'on hold',
  ];
  const { shown, more } = firstRows(tenants, Number.POSITIVE_INFINITY);
  const rows = shown.map(({ tenant, paused, targets, ...state }) => [
    paused ? `${tenant} (paused)` : tenant,
    ...syncHealthWords(state),
    renderTime(state.inSyncAsOf),
    renderAge(state.inSyncAsOf, now),
    targets.length,
    state.pending,
    state.failing,
    state.held,
  ]);
  return `${[renderTable(columns, rows), ...more].join('\n')}\n\nDetails of one tenant: clinic-mirror status <tenant>`;
}

/** Renders sync status and health in standard terms, with the progress of a first sync. */
export function syncHealthWords(
  syncState: Pick<SyncState, 'sync' | 'health' | 'firstSync'>,
): [sync: string, health: string] {
  const { sync, health, firstSync } = syncState;
  const far = firstSync?.of == null ? '' : `, ${firstSync.written}/${firstSync.of}`;
  return [SYNC_HEALTH_WORDS.en[sync] + far, SYNC_HEALTH_WORDS.en[health]];
}
