import { type Problem, problemsWithin } from '../model/problems.ts';
import { type SyncState, worstOf } from '../model/sync-state.ts';
import type { Instant } from '../model/time.ts';
import { countsUntil, NO_CHANGES } from '../state/runs.ts';
import type { Installation } from './installation.ts';
import { type Page, type PageQuestion, pageOf } from './paging.ts';
import { status } from './status.ts';
import type { Status, TenantStatus } from './status-view.ts';
import type { Statuses } from './statuses.ts';

/** A tenant in a list: where it stands, all its targets together. */
interface TenantLine extends SyncState {
  tenant: string;
  /** Null where its configuration has faults, or is not checked yet. */
  name: string | null;
  paused: boolean;
  targets: number;
  /** Whether its configuration is checked: after a start tenants are checked one after the other, and run from then on. */
  checked: boolean;
  /** Faults of its configuration, for which it is not run; 0 for none. */
  faults: number;
  /** What is the matter: what needs a person first. */
  problems: Problem[];
}

/** One that is not run: somebody has to mend its file. */
const NOT_RUN: SyncState = { ...worstOf([]), health: 'action-required' };

/**
 * Tenants by their ids, those that are not run for faults among them. Only those of the page are looked at.
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

/** What a page of problems is asked by: whose, and whether what concerns all belongs to it. */
interface ProblemQuestion extends PageQuestion {
  isWanted(tenant: string): boolean;
  withAll: boolean;
}

/**
 * What is the matter, by the ids of tenants, of which a page has so many; what concerns all comes first. By a status of all clinics: some of it is
 * only told of them together.
 * @throws MirrorError `settings`, code `cursor-unusable`
 */
export function listProblems(
  installation: Installation,
  { problems }: Pick<Status, 'problems'>,
  question: ProblemQuestion,
): { problems: Problem[]; next: string | null } {
  const { items, next } = pageOfTenants(installation, question.isWanted, question);
  const ofAll = problems.filter(({ tenant, clinics }) => tenant === null && clinics === undefined);
  // One that clinics share is told once, with the first page.
  const shared = problemsWithin(
    problems.filter(({ clinics }) => clinics !== undefined),
    question.isWanted,
  );
  const first = question.after !== null ? [] : [...(question.withAll ? ofAll : []), ...shared];
  return { problems: [...first, ...items.flatMap((id) => problems.filter(({ tenant }) => tenant === id))], next };
}

function lineOf(id: string, found: TenantStatus | undefined): Omit<TenantLine, 'checked' | 'faults' | 'problems'> {
  return { tenant: id, name: null, paused: false, ...NOT_RUN, ...found, targets: found?.targets.length ?? 0 };
}

/** A clinic in one line: its targets taken together. */
export interface ClinicSummary extends SyncState {
  tenant: string;
  name: string;
  paused: boolean;
  targets: number;
  /** Changes that cycles decided in each of the last 24 hours, this one last. */
  hourly: readonly number[];
}

/** All clinics at a glance. */
export interface Overview {
  at: Instant;
  clinics: readonly ClinicSummary[];
  /** What is the matter: what needs a person first. */
  problems: readonly Problem[];
  /** Clinics that were not looked at yet, since it is just being computed. */
  unread: readonly string[];
}

/** Keeps an overview for all who look. */
export interface OverviewCache {
  /**
   * At most ten minutes old. It is computed anew when it is some seconds old, once for all who ask; whoever asks meanwhile gets the one before, and
   * where there is none, what is known so far.
   * @throws MirrorError as the state does, Redis not answering among it
   */
  read(): Promise<Overview>;
}

/** With a thousand clinics computing takes seconds: so long who asks waits for it. */
const PATIENCE_MS = 500;

/** Opens an overview of an installation. Nothing is computed before it is asked for. @param statuses of the process, which others ask too */
export function openOverview(installation: Installation, statuses: Statuses): OverviewCache {
  let newest: { of: Status; overview: Overview } | null = null;
  return {
    async read() {
      const of = await statuses.readSoFar(installation, PATIENCE_MS);
      if (newest?.of !== of)
        newest = { of, overview: overviewOf(of, [...installation.tenants.keys(), ...installation.unchecked]) };
      return newest.overview;
    },
  };
}

/** A status in one line for each clinic. */
function overviewOf({ at, tenants, problems }: Status, all: Iterable<string>): Overview {
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
