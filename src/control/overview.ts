import { countsUntil, NO_CHANGES } from '../model/hourly-changes.ts';
import type { Problem } from '../model/problems.ts';
import type { Instant } from '../model/time.ts';
import type { Installation } from './installation.ts';
import type { CanGoOn, InStep, Status, TargetStatus, TenantStatus } from './status-view.ts';
import type { Statuses } from './statuses.ts';

/** A clinic in one line: its targets taken together. */
export interface ClinicSummary {
  tenant: string;
  name: string;
  paused: boolean;
  /** As the target that is worst has it. */
  inStep: InStep;
  canGoOn: CanGoOn;
  /** All targets showed what the clinic showed at this time; null before the first time, and for one without targets. */
  inSyncAsOf: Instant | null;
  targets: number;
  pending: number;
  failing: number;
  held: number;
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
export interface OverviewDesk {
  /**
   * At most ten minutes old. It is computed anew when it is some seconds old, once for all who ask; whoever asks meanwhile gets the one before, and
   * where there is none, what is known so far.
   * @throws MirrorError as the state does, Redis not answering among it
   */
  read(): Promise<Overview>;
}

/** With a thousand clinics computing takes seconds: so long who asks waits for it. */
const PATIENCE_MS = 500;
/** Worst first. */
const WORST_STEP: readonly InStep[] = ['held', 'unknown', 'behind', 'in-sync'];
const WORST_ABLE: readonly CanGoOn[] = ['waits-for-person', 'waits-for-vendor', 'yes'];

/** Opens an overview of an installation. Nothing is computed before it is asked for. @param statuses of the process, which others ask too */
export function openOverview(installation: Installation, statuses: Statuses): OverviewDesk {
  let newest: { of: Status; overview: Overview } | null = null;
  return {
    async read() {
      const of = await statuses.readSoFar(installation, PATIENCE_MS);
      if (newest?.of !== of) newest = { of, overview: overviewOf(of, installation.tenants.keys()) };
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

function summaryOf({ tenant, name, paused, targets, lastRun }: TenantStatus, at: Instant): ClinicSummary {
  const active = targets.filter(({ state }) => state !== 'paused');
  const sum = (count: (target: TargetStatus) => number) => active.reduce((total, each) => total + count(each), 0);
  const times = active.map(({ inSyncAsOf }) => inSyncAsOf);
  return {
    ...{ tenant, name, paused, targets: targets.length },
    inStep: WORST_STEP.find((each) => active.some(({ inStep }) => inStep === each)) ?? 'unknown',
    canGoOn: WORST_ABLE.find((each) => active.some(({ canGoOn }) => canGoOn === each)) ?? 'yes',
    inSyncAsOf: times.length === 0 ? null : times.reduce(earlier),
    pending: sum(({ pending }) => pending),
    failing: sum(({ failing }) => failing),
    held: sum(({ held }) => held),
    hourly: countsUntil(lastRun?.hourly ?? NO_CHANGES, at),
  };
}

/** Null where one of them is: it never was. */
function earlier(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? null : Math.min(one, other);
}
