import type { FastifyRequest } from 'fastify';
import type { FaultableRequest } from '../../kit/faults.ts';
import type { Slice } from '../data/patients.ts';
import { spoilRows } from './bad-rows.ts';
import { type ApiContext, faultable } from './context.ts';
import { ListPage } from './list-page.ts';
import { rawQueryOf } from './query.ts';

/**
 * Answers a list: parses the paging, gets the rows and applies the faults `repeat-page`, `truncate-list` and `bad-rows`. Throws ClinicError
 * 400 for bad paging.
 */
export function answerList<T>(
  context: ApiContext,
  request: FastifyRequest,
  read: (offset: number, limit: number) => Slice<T>,
  toWire: (rows: T[]) => object[],
): ListPage {
  const { offset, limit: wanted } = context.dialect.paging(rawQueryOf(request.url));
  const limit = Math.min(wanted, context.wire.linkPages ?? wanted);
  const asked = faultable(context, request);
  const isRepeated = offset > 0 && repeats(context, asked);
  const start = isRepeated ? Math.max(0, offset - limit) : offset;
  const { rows, total } = read(start, limit);
  const truncation = context.kit.faults.active('truncate-list', asked);
  const end = truncation === undefined ? total : truncatedEnd(truncation, total);
  const kept = rows.slice(0, Math.max(0, end - start));
  return new ListPage({
    data: spoilRows(toWire(kept), context.kit.faults.active('bad-rows', asked)),
    offset,
    limit,
    hasMore: offset + limit < end,
    total: truncation !== undefined && tellsTrueTotal(truncation) ? total : end,
    isRepeated,
  });
}

function repeats({ dialect, kit }: ApiContext, asked: FaultableRequest): boolean {
  const url = new URL(asked.path, 'http://sandbox');
  url.searchParams.delete('offset');
  return kit.faults.active('repeat-page', asked) !== undefined || dialect.repeats(`${asked.client} ${url.href}`);
}

/** A list that is already in memory. */
export function sliceOf<T>(rows: readonly T[]): (offset: number, limit: number) => Slice<T> {
  return (offset, limit) => ({ rows: rows.slice(offset, offset + limit), total: rows.length });
}

/** `{kind: 'truncate-list', keep?}`: the list stops after `keep` rows, by default after half of the rows. */
function truncatedEnd(fault: { kind: string }, total: number): number {
  const keep = 'keep' in fault && typeof fault.keep === 'number' ? fault.keep : Math.floor(total / 2);
  return Math.min(keep, total);
}

/** `trueTotal: true` lets `total` betray that rows are missing. */
function tellsTrueTotal(fault: { kind: string }): boolean {
  return 'trueTotal' in fault && fault.trueTotal === true;
}
