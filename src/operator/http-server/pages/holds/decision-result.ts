import { type Html, html } from '../../../../core/model/html.ts';
import type { Instant } from '../../../../core/model/time.ts';
import { listHolds, type TenantHold } from '../../../../features/holds/holds.ts';
import { type RunView, recentRuns } from '../../../control/sync.ts';
import { clinicAddress, holdAddress } from '../../../documents/document.ts';
import type { OperatorServices } from '../../operators.ts';
import type { PageContext } from '../context.ts';
import { resultLink, resultNotice } from '../outcomes.ts';
import { HOLDS } from '../texts/holds.ts';
import { RESULTS } from '../texts/results.ts';

/** Number of runs in which the first run after a decision is searched. */
const RUNS = 50;

/**
 * Renders what a decided hold changes: before the next run, what the run will do; afterwards, what the run did. Null for an open hold.
 */
export async function decisionResult(
  context: PageContext,
  { installation, statuses }: OperatorServices,
  hold: TenantHold,
): Promise<Html | null> {
  const { tenant, state, decidedAt } = hold;
  if (state === 'open' || decidedAt === null) return null;
  const [holds, runs, { tenants }] = await Promise.all([
    listHolds(installation, tenant),
    recentRuns(installation, tenant, RUNS),
    statuses.ofTenant(installation, tenant),
  ]);
  const target = tenants.flatMap(({ targets }) => targets).find((each) => each.target === hold.target);
  const run = state === 'approved' ? firstRunSince(runs, decidedAt, hold) : null;
  const main =
    state === 'rejected'
      ? [rejected(context, hold)]
      : approved(context, hold, run && { ...run, pending: target?.pending ?? 0 });
  const open = holds.filter((each) => each.state === 'open');
  return resultNotice([...main, rest(context, hold, open)]);
}

/** Returns the first run after a decision that read the whole clinic; null if none has ended. */
function firstRunSince(runs: readonly RunView[], decidedAt: Instant, { kind, target }: TenantHold): RunView | null {
  const since = runs.filter(({ startedAt, soon, error, targets }) => {
    const isOfTarget = OF_CLINIC.has(kind) || targets.some((each) => each.target === target);
    return startedAt > decidedAt && soon === null && error === null && isOfTarget;
  });
  return since.toSorted((one, other) => one.startedAt - other.startedAt)[0] ?? null;
}

/** A run, with the number of changes that its target has still to write. */
interface EndedRun extends RunView {
  pending: number;
}

/** Kinds of holds whose changes are not those of one target. */
const OF_CLINIC: ReadonlySet<TenantHold['kind']> = new Set(['people', 'corrections']);
/** Kinds of holds that remove events. */
const REMOVING: ReadonlySet<TenantHold['kind']> = new Set(['vanished', 'cancelled']);

function rejected({ language, targetName }: PageContext, { kind, tenant, target: id, recordIds }: TenantHold): string {
  const target = targetName(tenant, id);
  const words = HOLDS[language];
  if (kind === 'corrections') return words.willNotCorrect(recordIds.length);
  return REMOVING.has(kind) ? words.willKeep(recordIds.length, target) : words.willRefuse(target);
}

function approved(context: PageContext, hold: TenantHold, run: EndedRun | null): (Html | string)[] {
  const { language, times } = context;
  const { kind, target, tenant } = hold;
  const name = context.targetName(tenant, target);
  if (run === null) return [awaited(context, hold)];
  const words = RESULTS[language];
  const link = resultLink(clinicAddress(tenant, `#run-${run.id}`), words.toRun);
  const time = times.text(run.startedAt);
  if (OF_CLINIC.has(kind)) return [html`${words.runEnded(time)} ${link}`];
  const found = run.targets.find((each) => each.target === target);
  const made = Object.values(found?.planned ?? {}).reduce((sum, count) => sum + count, 0);
  if (made === 0) return [words.runNothing(name, time)];
  const held = found?.held ?? 0;
  const holds = held === 0 ? null : resultLink(clinicAddress(tenant, '/holds'), words.runHeld(held));
  const text =
    run.pending === 0 ? words.runWrote(made, name, time) : words.runPlanned(made, name, { time, pending: run.pending });
  return [html`${text} ${link} ${holds}`];
}

function awaited({ language, targetName }: PageContext, { kind, tenant, target: id, recordIds }: TenantHold): string {
  const target = targetName(tenant, id);
  const words = HOLDS[language];
  if (kind === 'people') return words.willGoOnPeople;
  if (kind === 'corrections') return words.willCorrect(recordIds.length);
  return REMOVING.has(kind) ? words.willRemove(recordIds.length, target) : words.willGoOn(recordIds.length, target);
}

/** Renders the records of the same hold that still wait, or the number of other open holds. */
function rest({ language }: PageContext, { tenant, partOf }: TenantHold, open: readonly TenantHold[]): Html | string {
  const words = RESULTS[language];
  const remainder = open.find(({ id }) => id === partOf);
  if (remainder !== undefined)
    return resultLink(holdAddress(tenant, remainder.id), HOLDS[language].restStays(remainder.recordIds.length));
  return open.length === 0
    ? words.noOtherHolds
    : html`${resultLink(clinicAddress(tenant, '/holds'), words.otherHolds(open.length))}.`;
}
