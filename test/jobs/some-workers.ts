import { noSpans, silentLogger } from '../../src/core/log/logger.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { Turns } from '../../src/jobs/turns.ts';
import { startWorkers, type Workers, type WorkersOptions } from '../../src/jobs/workers.ts';
import { JOBS, type JobHandlers, type JobName, type SharesOf } from '../../src/tenant/job-catalogue.ts';

/** Options of the workers under test. */
export interface SomeWorkers
  extends Partial<Pick<WorkersOptions, 'turns' | 'log' | 'lockMs' | 'isNeedless' | 'spans'>> {
  /** Concurrent jobs per kind; default: one. */
  inFlight?: Partial<Record<JobName, number>>;
  /** None of the kinds that aren't named. */
  sharesOf?: Partial<SharesOf>;
}

/** Workers that do some kinds of jobs; all others are done at once. */
export function startSomeWorkers(redisUrl: string, handlers: Partial<JobHandlers>, options: SomeWorkers = {}): Workers {
  const idle = async () => {};
  const none = () => [];
  const { inFlight, sharesOf, turns = new Turns(), log = silentLogger, lockMs = 30_000 } = options;
  const { isNeedless = neverNeedless, spans = noSpans } = options;
  return startWorkers({
    kinds: JOBS,
    ...{ redis: redisUrl, isNeedless, turns, log, spans, lockMs },
    handlers: { ...forAll(idle), ...handlers },
    inFlight: { ...forAll(1), ...inFlight },
    sharesOf: { ...forAll(none), ...sharesOf },
  });
}

function forAll<Value>(value: Value): Record<JobName, Value> {
  return {
    ...{
      pull: value,
      push: value,
      audit: value,
      'check-target': value,
      subscriptions: value,
      remind: value,
      triggers: value,
    },
    'read-streams': value,
    'refresh-tokens': value,
  };
}
