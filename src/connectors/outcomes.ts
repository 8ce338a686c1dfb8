import type { Logger } from '../core/log/logger.ts';
import { asMirrorError, MirrorError } from '../core/model/errors.ts';
import type { CalendarItem, Item } from '../core/model/items.ts';
import type { Deleted, Deletion, ItemKey, Operation, Outcome } from '../core/model/operations.ts';
import { boundedBy } from './bounded.ts';
import type { Connector } from './connector.ts';
import { shared, type VendorErrors } from './errors.ts';
import { findApart } from './find-apart.ts';

type Scopes = Pick<VendorErrors, 'scopeOf'>;

/** Logs the number of records that are deleted although their personal data could not be cleared first. */
export function logUnemptied(log: Logger, count: number): void {
  log.warn({ count }, 'records were deleted without being emptied before');
}

/** Returns the outcome of a failed operation. */
export function failed({ recordId }: Pick<Operation, 'recordId'>, error: MirrorError) {
  return { recordId, result: 'failed', error } as const;
}

/** Returns the effect of a successful write. @param isNew whether no own object was there */
export function effectOf({ kind }: Pick<Operation<Item>, 'kind'>, isNew: boolean) {
  if (kind === 'create') return isNew ? 'created' : 'adopted';
  return isNew ? 'recreated' : 'updated';
}

/**
 * Returns the outcome of a deletion, with what users had added. The deletions of a second object of a record, and erasures, keep nothing.
 * @param additions in the connector's own form; undefined for nothing
 */
export function deletedWith(
  { recordId, erase, isDuplicate }: Deletion<Item>,
  additions: string | undefined,
  effect: 'deleted' | 'already-gone' = 'deleted',
): Deleted {
  const hasAdditions = additions !== undefined && erase !== true && isDuplicate !== true;
  return { recordId, result: 'deleted', effect, ...(hasAdditions ? { additions } : {}) };
}

/**
 * Returns the outcomes of one `apply` unchanged. Only this function decides that the whole target failed.
 * @param isOfCall whether an error belongs to a call that several operations share; default: any error that does not concern one item
 * @throws MirrorError the first error if no operation succeeded, and all operations failed with this error of the target or of a call
 */
export function resolveOutcomes<Wanted extends Item>(
  outcomes: Outcome<Wanted>[],
  scopes: Scopes,
  isOfCall = (error: MirrorError) => !concernsOneItem(error, scopes),
): Outcome<Wanted>[] {
  const errors = outcomes.flatMap((outcome) => (outcome.result === 'failed' ? [outcome.error] : []));
  const [first] = errors;
  if (first === undefined || errors.length < outcomes.length) return outcomes;
  const isOfTarget = scopes.scopeOf(first) === 'target' && errors.every(({ code }) => code === first.code);
  if (isOfTarget || errors.every(isOfCall)) throw first;
  return outcomes;
}

/** Decides whether later operations may still be attempted. A single broken network connection is not enough to stop. */
export function concernsOneItem(error: MirrorError, { scopeOf }: Scopes): boolean {
  return error.code === 'connection-failed' || (scopeOf(error) ?? error.concerns) === 'item';
}

/**
 * Carries out operations in sequence. An error of the whole target, or a second consecutive broken network connection, stops further
 * requests.
 * @param carryOut returns the outcome, or null for an operation that completes later
 */
export async function inTurn<Wanted extends Item = CalendarItem>(
  operations: readonly Operation<Wanted>[],
  scopes: Scopes,
  signal: AbortSignal,
  carryOut: (operation: Operation<Wanted>) => Promise<Outcome<Wanted> | null>,
): Promise<Outcome<Wanted>[]> {
  const outcomes: Outcome<Wanted>[] = [];
  let ending: MirrorError | null = null;
  for (const operation of operations) {
    if (signal.aborted) ending ??= shared.make('aborted');
    if (ending !== null) {
      outcomes.push(failed(operation, ending));
      continue;
    }
    try {
      const outcome = await carryOut(operation);
      if (outcome !== null) outcomes.push(outcome);
    } catch (thrown) {
      const error = asMirrorError(thrown);
      if (!concernsOneItem(error, scopes) || isSecondBreak(error, outcomes.at(-1))) ending = notSent(error);
      outcomes.push(failed(operation, error));
    }
  }
  return outcomes;
}

function isSecondBreak({ code }: MirrorError, before: Outcome<Item> | undefined): boolean {
  return code === 'connection-failed' && before?.result === 'failed' && before.error.code === code;
}

/** Returns the error for operations of which nothing was written yet, so their state is certain. */
export function notSent(error: MirrorError): MirrorError {
  return new MirrorError(error.message, {
    ...error,
    ambiguous: false,
    unsent: true,
    said: error.vendorMessages(),
    cause: error,
  });
}

/** Rules for judging a response. */
export interface Judge {
  errors: Pick<VendorErrors, 'scopeOf' | 'provesGone'>;
  /**
   * Checks by a request to only the container whether it exists. Absent if a vendor lacks this request: then a successful operation is the
   * proof.
   * @throws MirrorError if the container's state stays unknown
   */
  isThere?(container: string, signal: AbortSignal): Promise<boolean>;
}

/** If this many single operations are refused and none succeeds, the remaining operations are treated as refused. */
const ENOUGH_REFUSED = 3;

/**
 * Wraps a connector and verifies its errors. A container is absent only if a request to only the container confirms the absence. Operations
 * that a vendor refuses together are repeated in halves, so that only the invalid operation fails. Values for storage are bounded
 * (`bounded.ts`).
 */
export function askedAlone<Wanted extends Item>(connector: Connector<Wanted>, judge: Judge): Connector<Wanted> {
  const bounded = boundedBy(connector);
  const asking = { connector: bounded, judge };
  return {
    ...bounded,
    apply: (container, operations, signal) => applyApart(asking, container, operations, signal),
    async find(container, keys, signal, remoteIds) {
      try {
        const find = (some: readonly ItemKey[]) => bounded.find(container, some, signal, remoteIds);
        return await findApart(find, keys, remoteIds);
      } catch (error) {
        throw await provedReading(judge, container, error, signal);
      }
    },
    async *read(container, window, signal) {
      try {
        yield* bounded.read(container, window, signal);
      } catch (error) {
        throw await provedReading(judge, container, error, signal);
      }
    },
    async changes(container, query, signal) {
      try {
        return await bounded.changes(container, query, signal);
      } catch (error) {
        throw await provedReading(judge, container, error, signal);
      }
    },
  };
}

interface Asking<Wanted extends Item> {
  connector: Connector<Wanted>;
  judge: Judge;
}

/** Result of one call; `thrown` is the failure of each operation. */
interface Attempt<Wanted extends Item> {
  outcomes: Outcome<Wanted>[];
  thrown: MirrorError | null;
}

async function attempt<Wanted extends Item>(
  { connector }: Asking<Wanted>,
  container: string,
  operations: readonly Operation<Wanted>[],
  signal: AbortSignal,
): Promise<Attempt<Wanted>> {
  try {
    return { outcomes: await connector.apply(container, operations, signal), thrown: null };
  } catch (error) {
    const thrown = asMirrorError(error);
    return { outcomes: operations.map((operation) => failed(operation, thrown)), thrown };
  }
}

async function applyApart<Wanted extends Item>(
  asking: Asking<Wanted>,
  container: string,
  operations: readonly Operation<Wanted>[],
  signal: AbortSignal,
): Promise<Outcome<Wanted>[]> {
  const first = await attempt(asking, container, operations, signal);
  const suspects = suspectsOf(asking.judge, first.outcomes);
  if (suspects.size === 0 || (await isGone(asking.judge, container, first.outcomes, signal))) {
    if (first.thrown !== null) throw first.thrown;
    return first.outcomes;
  }
  const run = new ApartRun(asking, container, signal);
  await run.work(operations, first);
  const { errors } = asking.judge;
  return resolveOutcomes([...run.outcomes.values()], {
    scopeOf: (error) => errors.scopeOf(error) ?? shared.scopeOf(error),
  });
}

/** Operations that are repeated in smaller and smaller calls, with the outcomes so far. */
class ApartRun<Wanted extends Item> {
  readonly outcomes = new Map<string, Outcome<Wanted>>();
  readonly #asking: Asking<Wanted>;
  readonly #container: string;
  readonly #signal: AbortSignal;
  readonly #refusedAlone: Operation<Wanted>[] = [];

  constructor(asking: Asking<Wanted>, container: string, signal: AbortSignal) {
    this.#asking = asking;
    this.#container = container;
    this.#signal = signal;
  }

  async work(operations: readonly Operation<Wanted>[], first: Attempt<Wanted>): Promise<void> {
    const { judge } = this.#asking;
    const waiting = this.#take(operations, first);
    for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
      const answered = await attempt(this.#asking, this.#container, some, this.#signal);
      const again = this.#take(some, answered);
      const { thrown } = answered;
      const isOver = thrown !== null && !concernsOneItem(thrown, judge.errors) && !judge.errors.provesGone(thrown);
      waiting.push(...again);
      const ending = isOver ? thrown : this.#refusesAll();
      if (ending === null) continue;
      for (const operation of waiting.splice(0).flat()) this.#recordOutcome(failed(operation, notSent(ending)));
    }
    if (judge.isThere !== undefined || this.#refusesAll() === null) this.#believeTheOthers();
  }

  /** Records certain outcomes. @returns operations to repeat: a part of the call, or halves */
  #take(asked: readonly Operation<Wanted>[], { outcomes }: Attempt<Wanted>): Operation<Wanted>[][] {
    for (const outcome of outcomes) this.#recordOutcome(outcome);
    const suspects = suspectsOf(this.#asking.judge, outcomes);
    const again = asked.filter(({ recordId }) => suspects.has(recordId));
    if (again.length === 0) return [];
    if (again.length < asked.length) return [again];
    if (asked.length === 1) {
      this.#refusedAlone.push(...asked);
      return [];
    }
    const middle = Math.ceil(again.length / 2);
    return [again.slice(middle), again.slice(0, middle)];
  }

  #recordOutcome(outcome: Outcome<Wanted>): void {
    this.outcomes.set(outcome.recordId, outcome);
  }

  /** Returns the error that refused enough single operations while none succeeded; the remaining operations are then not sent. */
  #refusesAll(): MirrorError | null {
    const { judge } = this.#asking;
    const isNoneThrough = [...this.outcomes.values()].every(({ result }) => result === 'failed');
    const [error] = this.#refusedAlone.flatMap(({ recordId }) => goneErrorIn(judge, this.outcomes.get(recordId)));
    if (!isNoneThrough || error === undefined) return null;
    const isEnough = this.#refusedAlone.length >= Math.min(ENOUGH_REFUSED, this.outcomes.size);
    return isEnough ? error : null;
  }

  /** The container exists, so its refusals concern single objects. */
  #believeTheOthers(): void {
    for (const outcome of [...this.outcomes.values()]) {
      for (const error of goneErrorIn(this.#asking.judge, outcome)) {
        const { status, ambiguous, unsent } = error;
        const refused = shared.make('record-refused-as-gone', { status, ambiguous, cause: error });
        this.#recordOutcome(failed(outcome, unsent ? notSent(refused) : refused));
      }
    }
  }
}

function goneErrorIn({ errors }: Judge, outcome: Outcome<Item> | undefined): MirrorError[] {
  return outcome?.result === 'failed' && errors.provesGone(outcome.error) ? [outcome.error] : [];
}

/** Returns records with a doubtful error: an absent container, or one refusal for several records. */
function suspectsOf({ errors }: Judge, outcomes: readonly Outcome<Item>[]): Set<string> {
  const failures = outcomes.flatMap((outcome) => (outcome.result === 'failed' ? [outcome] : []));
  const byError = Map.groupBy(failures, ({ error }) => error);
  const suspects = failures.filter(
    ({ error }) => errors.provesGone(error) || (byError.get(error)!.length > 1 && isRefusal(error, errors)),
  );
  return new Set(suspects.map(({ recordId }) => recordId));
}

/** Checks for a refusal with a status that neither a pause nor new credentials resolve, and that does not concern the whole target. */
function isRefusal(error: MirrorError, { scopeOf }: Judge['errors']): boolean {
  const { status = 0, actor } = error;
  const isAnswer = status >= 400 && status < 500 && actor !== 'remote' && actor !== 'authorization';
  return isAnswer && scopeOf(error) === 'item';
}

/** Checks whether a request to only the container confirms an absence that the response reports. */
async function isGone(
  judge: Judge,
  container: string,
  outcomes: readonly Outcome<Item>[],
  signal: AbortSignal,
): Promise<boolean> {
  if (!outcomes.some((outcome) => goneErrorIn(judge, outcome).length > 0)) return false;
  return judge.isThere !== undefined && !(await judge.isThere(container, signal));
}

/**
 * Returns the error of an interrupted fetch. Only a request to the container proves its absence. If the container exists, no requested
 * object counts as absent: connectors know how their vendor reports an absent object.
 */
async function provedReading(
  { errors, isThere }: Judge,
  container: string,
  thrown: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const error = asMirrorError(thrown);
  if (!errors.provesGone(error) || isThere === undefined || !(await isThere(container, signal))) return thrown;
  return shared.make('reading-refused-as-gone', { status: error.status, cause: error });
}
