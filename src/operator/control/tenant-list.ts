import { type Problem, problemsWithin } from '../../core/model/problems.ts';
import type { Page, SyncState } from '../../core/model/schemas.ts';
import { worstOf } from '../../core/model/sync-state.ts';
import type { Instant } from '../../core/model/time.ts';
import { countsUntil, NO_CHANGES } from '../../domain/runs.ts';
import type { EndedProblem } from './ended-problems.ts';
import type { Installation } from './installation.ts';
import { type PageQuestion, pageOf } from './paging.ts';
import { status } from './status.ts';
import type { Status, TenantLine, TenantStatus } from './status-schemas.ts';
import type { Statuses } from './statuses.ts';

/** State of a tenant that does not run: an administrator must fix the file. */
const NOT_RUN: SyncState = { ...worstOf([]), health: 'action-required' };

/**
 * Lists tenants by id, including tenants with faults. Reads only the tenants of the page.
 * @param isWanted by id
 * @throws MirrorError `settings`, code `cursor-unusable`
 */
export async function listTenants(
  installation: Installation,
  isWanted: (tenant: string) => boolean,
  question: PageQuestion,
): Promise<Page<TenantLine>> {
  const faults = new Map(installation.unusable.map(({ id, faults: found }) => [id, found.length]));
  const page = pageOfTenants(installation, isWanted, question);
  const { tenants, problems } = await status(
    installation,
    page.items.filter((id) => installation.tenants.get(id) !== undefined),
  );
  const byId = new Map(tenants.map((tenant) => [tenant.tenant, tenant]));
  const items = page.items.map((id) => ({
    ...lineOf(id, byId.get(id)),
    ...(installation.unchecked.has(id) ? { ...worstOf([]), checked: false } : { checked: true }),
    faults: faults.get(id) ?? 0,
    problems: problemsWithin(problems, (tenant) => tenant === id),
  }));
  return { ...page, items };
}

function pageOfTenants(
  { tenants, unusable, unchecked }: Installation,
  isWanted: (tenant: string) => boolean,
  question: PageQuestion,
): Page<string> {
  const all = new Set([...tenants.keys(), ...unusable.map(({ id }) => id), ...unchecked]);
  return pageOf([...all].filter(isWanted), question, (id) => id);
}

/** Query for problems: tenants, and whether shared problems are included. */
interface ProblemQuestion extends PageQuestion {
  isWanted(tenant: string): boolean;
  withAll: boolean;
}

/**
 * Lists problems by tenant id, with a limit on tenants per page; shared problems come first. Uses the status of all clinics, because some
 * problems are only known for all clinics together.
 * @throws MirrorError `settings`, code `cursor-unusable`
 */
export function listProblems(
  installation: Installation,
  { problems }: Pick<Status, 'problems'>,
  question: ProblemQuestion,
): { problems: Problem[]; next: string | null } {
  const { items, next } = pageOfTenants(installation, question.isWanted, question);
  const ofAll = problems.filter(({ tenant, tenants }) => tenant === null && tenants === undefined);
  // A problem shared by clinics is only on the first page.
  const shared = problemsWithin(
    problems.filter((problem) => problem.tenants !== undefined),
    question.isWanted,
  );
  const first = question.after !== null ? [] : [...(question.withAll ? ofAll : []), ...shared];
  return { problems: [...first, ...items.flatMap((id) => problems.filter(({ tenant }) => tenant === id))], next };
}

function lineOf(id: string, found: TenantStatus | undefined): Omit<TenantLine, 'checked' | 'faults' | 'problems'> {
  return { tenant: id, name: null, paused: false, ...NOT_RUN, ...found, targets: found?.targets.length ?? 0 };
}

/** A clinic in one line, with the combined state of its targets. */
export interface ClinicSummary extends SyncState {
  tenant: string;
  name: string;
  paused: boolean;
  targets: number;
  /** Changes decided by cycles in each of the last 24 hours; the present hour is last. */
  hourly: readonly number[];
}

/** Summary of all clinics. */
export interface Overview {
  at: Instant;
  clinics: readonly ClinicSummary[];
  /** Problems, with required action first. */
  problems: readonly Problem[];
  /** Problems that ended in the last hour, newest first. */
  ended: readonly EndedProblem[];
  /** Clinics not read yet, during the first computation. */
  unread: readonly string[];
}

/** Caches the overview for all users. */
export interface OverviewCache {
  /**
   * Returns an overview at most ten minutes old. After a few seconds, the overview is computed again, once for concurrent callers.
   * Meanwhile, callers receive the previous overview, or a partial overview.
   * @throws MirrorError as the state does, including an unreachable Redis
   */
  read(): Promise<Overview>;
}

/** Longest wait of a caller, because an overview of a thousand clinics takes seconds. */
const PATIENCE_MS = 500;

/** Creates the overview of an installation. The first call computes the first overview. @param statuses shared by the process */
export function openOverview(installation: Installation, statuses: Statuses): OverviewCache {
  let newest: { of: Status; overview: Overview } | null = null;
  return {
    async read() {
      const of = await statuses.readSoFar(installation, PATIENCE_MS);
      const all = () => [...installation.tenants.keys(), ...installation.unchecked];
      if (newest?.of !== of) newest = { of, overview: { ...overviewOf(of, all()), ended: statuses.ended() } };
      return newest.overview;
    },
  };
}

/** Reduces a status to one line per clinic. */
function overviewOf({ at, tenants, problems }: Status, all: Iterable<string>): Omit<Overview, 'ended'> {
  const read = new Set(tenants.map(({ tenant }) => tenant));
  const unread = [...all].filter((tenant) => !read.has(tenant));
  return { at, problems, unread, clinics: tenants.map((tenant) => summaryOf(tenant, at)) };
}

function summaryOf(clinic: TenantStatus, at: Instant): ClinicSummary {
  const { tenant, name, paused, targets, lastRun, sync, health, inSyncAsOf, firstSync, pending, failing, held } =
    clinic;
  return {
    ...{ tenant, name, paused, targets: targets.length },
    ...{ sync, health, inSyncAsOf, firstSync, pending, failing, held },
    hourly: countsUntil(lastRun?.hourly ?? NO_CHANGES, at),
  };
}
