import { type Problem, problemId, tenantsOf } from '../../core/model/problems.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import type { Status } from './status-schemas.ts';

/** A problem that is over, as last seen. */
export interface EndedProblem extends Problem {
  /** Begin, or when the process first saw the problem. */
  sinceAt: Instant;
  /** When the process first found the problem missing. */
  endedAt: Instant;
}

/** Duration for which pages show an end. Project choice. */
const SHOWN_MS = HOUR_MS;
/** Largest number of ends in memory. Project choice. */
const MOST_ENDED = 50;
/** After a longer interval between two statuses, the time of an end is unknown, and the end is not told. Project choice. */
const LONGEST_GAP_MS = 10 * MINUTE_MS;

/** Watches the statuses of all clinics for problems that end, in the memory of the process. */
export function watchEnds(): (status: Pick<Status, 'at' | 'problems' | 'tenants'>) => readonly EndedProblem[] {
  let before: { at: Instant; seen: ReadonlyMap<string, Problem & { sinceAt: Instant }> } | null = null;
  let ended: readonly EndedProblem[] = [];
  return ({ at, problems, tenants }) => {
    const last = before?.seen;
    const seen = new Map(
      problems.map((problem) => {
        const id = problemId(problem);
        return [id, { ...problem, sinceAt: problem.sinceAt ?? last?.get(id)?.sinceAt ?? at }];
      }),
    );
    const atWork = new Set(tenants.flatMap(({ tenant, paused }) => (paused ? [] : [tenant])));
    const isSteady = before !== null && at - before.at <= LONGEST_GAP_MS;
    const gone = isSteady ? [...(last ?? [])].filter(([id]) => !seen.has(id)).map(([, problem]) => problem) : [];
    const begun = problems.filter((problem) => last?.has(problemId(problem)) !== true);
    const over = gone.filter((problem) => isOver(problem, begun, atWork));
    ended = [...over.map((problem) => ({ ...problem, endedAt: at })), ...ended]
      .filter((one) => at - one.endedAt < SHOWN_MS && !seen.has(problemId(one)))
      .slice(0, MOST_ENDED);
    before = { at, seen };
    return ended;
  };
}

/** Returns false for a problem that one of the begun problems replaces, and for tenants that were paused or removed. */
function isOver(gone: Problem, begun: readonly Problem[], atWork: ReadonlySet<string>): boolean {
  const concerned = tenantsOf(gone);
  if (concerned.length > 0 && !concerned.some((tenant) => atWork.has(tenant))) return false;
  return !begun.some(
    (other) =>
      (other.tenant === gone.tenant && other.subject === gone.subject) ||
      (other.tenants !== undefined && concerned.some((tenant) => tenantsOf(other).includes(tenant))),
  );
}
