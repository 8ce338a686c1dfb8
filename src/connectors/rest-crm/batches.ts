import type { MirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { Operation, Outcome } from '../../model/operations.ts';
import { slices } from '../../model/slices.ts';
import { concernsOneItem, failed, notSent } from '../settle.ts';
import { errors } from './errors.ts';

/**
 * Sends what is ready in batches, one after the other. What meets one and concerns the whole target ends the series: the rest is not sent.
 * @param send gives the outcomes of one batch and never throws
 */
export async function inBatches<Ready extends { operation: Operation<CrmItem> }>(
  ready: readonly Ready[],
  size: number,
  send: (some: readonly Ready[]) => Promise<Outcome<CrmItem>[]>,
): Promise<Outcome<CrmItem>[]> {
  const outcomes: Outcome<CrmItem>[] = [];
  for (const some of slices(ready, size)) {
    const ending = endingOf(outcomes.at(-1));
    outcomes.push(...(ending === null ? await send(some) : some.map(({ operation }) => failed(operation, ending))));
  }
  return outcomes;
}

function endingOf(before: Outcome<CrmItem> | undefined): MirrorError | null {
  return before?.result === 'failed' && !concernsOneItem(before.error, errors) ? notSent(before.error) : null;
}
