import type { Problem } from '../model/problems.ts';
import type { SyncState } from '../model/sync-state.ts';
import type { Instant } from '../model/time.ts';
import { countsUntil, NO_CHANGES } from '../state/runs.ts';
import type { Installation } from './installation.ts';
import type { Status, TenantStatus } from './status-view.ts';
import type { Statuses } from './statuses.ts';

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
  const { tenant, name, paused, targets, lastRun, inStep, canGoOn, inSyncAsOf, firstSync, pending, failing, held } =
    clinic;
  return {
    ...{ tenant, name, paused, targets: targets.length },
    ...{ inStep, canGoOn, inSyncAsOf, firstSync, pending, failing, held },
    hourly: countsUntil(lastRun?.hourly ?? NO_CHANGES, at),
  };
}
