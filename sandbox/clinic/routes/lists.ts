import type { FastifyRequest } from 'fastify';
import type { Slice } from '../data/patients.ts';
import { spoilRows } from './bad-rows.ts';
import { type ApiContext, faultable } from './context.ts';
import { paging, queryOf } from './query.ts';

/** A page of a list as it goes over the wire. */
export interface Envelope {
  data: unknown[];
  offset: number;
  limit: number;
  hasMore: boolean;
  total: number;
}

/**
 * Answers a list: reads `offset` and `limit`, gets the rows and applies the faults `repeat-page`, `truncate-list` and
 * `bad-rows`. Throws ClinicError 400 for bad paging.
 */
export function answerList<T>(
  context: ApiContext,
  request: FastifyRequest,
  read: (offset: number, limit: number) => Slice<T>,
  toWire: (rows: T[]) => object[],
): Envelope {
  const { offset, limit } = paging(queryOf(request.url));
  const asked = faultable(context, request);
  const repeated = offset > 0 && context.kit.faults.active('repeat-page', asked) !== undefined;
  const { rows, total } = read(repeated ? Math.max(0, offset - limit) : offset, limit);
  const truncation = context.kit.faults.active('truncate-list', asked);
  const end = truncation === undefined ? total : truncatedEnd(truncation, total);
  const kept = rows.slice(0, Math.max(0, end - offset));
  return {
    data: spoilRows(toWire(kept), context.kit.faults.active('bad-rows', asked)),
    offset,
    limit,
    hasMore: offset + limit < end,
    total: truncation !== undefined && tellsTrueTotal(truncation) ? total : end,
  };
}

/** A list that is already in memory. */
export function sliceOf<T>(rows: readonly T[]): (offset: number, limit: number) => Slice<T> {
  return (offset, limit) => ({ rows: rows.slice(offset, offset + limit), total: rows.length });
}

/** `{kind: 'truncate-list', keep?}`: the list pretends to end after `keep` rows, by default after half of them. */
function truncatedEnd(fault: { kind: string }, total: number): number {
  const keep = 'keep' in fault && typeof fault.keep === 'number' ? fault.keep : Math.floor(total / 2);
  return Math.min(keep, total);
}

/** `trueTotal: true` lets `total` betray that rows are missing. */
function tellsTrueTotal(fault: { kind: string }): boolean {
  return 'trueTotal' in fault && fault.trueTotal === true;
}
