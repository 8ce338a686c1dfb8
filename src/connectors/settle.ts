import { asMirrorError, MirrorError } from '../model/errors.ts';
import type { CalendarItem, Item } from '../model/items.ts';
import type { Operation, Outcome } from '../model/operations.ts';
import { shared, type VendorErrors } from './errors.ts';

/** Tells what an error of the vendor concerns. */
type Scopes = Pick<VendorErrors, 'scopeOf'>;

/** The outcome of an operation that an error met. */
export function failed({ recordId }: Pick<Operation, 'recordId'>, error: MirrorError) {
  return { recordId, result: 'failed', error } as const;
}

/**
 * The outcomes of one `apply`, as they are. Here alone it is decided that not they but the whole target failed.
 * @param isOfCall whether an error is that of a call on which operations depended; unless given, any that does not concern one item
 * @throws MirrorError the first error when nothing came through: each operation met the same error of the target, or one of a call
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

/** Whether the operations after one that failed so may still be tried. One broken connection says little. */
export function concernsOneItem(error: MirrorError, { scopeOf }: Scopes): boolean {
  return error.code === 'connection-failed' || scopeOf(error) === 'item';
}

/**
 * Carries out operations one after another. What fails for the whole target ends the series without another request, and so does a
 * connection that breaks twice running.
 * @param carryOut gives the outcome; null for an operation that is to be settled later
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

/** The same error for operations of which nothing was written, since it was met before: nothing about them is in doubt. */
export function notSent(error: MirrorError): MirrorError {
  return new MirrorError(error.message, { ...error, ambiguous: false, unsent: true, said: error.told(), cause: error });
}
