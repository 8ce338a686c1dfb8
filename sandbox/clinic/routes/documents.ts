import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DocumentFilter, DocumentStore, Entry } from '../data/documents.ts';
import type { ApiContext } from './context.ts';
import { tenantIdOf } from './guard.ts';
import type { ListPage } from './list-page.ts';
import { answerList } from './lists.ts';
import { moment, queryOf } from './query.ts';

/** A record as the API shows it: with the times of its changes where the wire has them. */
export function entryToWire<T extends object>({ data, wire }: ApiContext, entry: Entry<T>): object {
  const { formatInstant } = data.zone;
  if (!wire.timestamps) return entry.record;
  return { ...entry.record, createdAt: formatInstant(entry.createdAt), updatedAt: formatInstant(entry.updatedAt) };
}

/** Answers the list of one kind; `isDated`: `from` and `to` look at what it is ordered by; `equal` names the parameters that must fit the record's member of that name. */
export function answerDocuments<T extends { id: string }>(
  context: ApiContext,
  request: FastifyRequest,
  store: DocumentStore<T>,
  {
    equal = [],
    isDated = false,
    toWire = entryToWire,
  }: { equal?: readonly string[]; isDated?: boolean; toWire?: typeof entryToWire<T> } = {},
): ListPage {
  const { data, wire } = context;
  const query = queryOf(context, request);
  const filter: DocumentFilter = {
    from: isDated ? moment(query, 'from', data.zone) : undefined,
    to: isDated ? moment(query, 'to', data.zone) : undefined,
    updatedSince: wire.updatedSinceFilter ? moment(query, 'updatedSince', data.zone) : undefined,
    equal: Object.fromEntries(equal.map((name) => [name, query.get(name) ?? undefined])),
  };
  return answerList(
    context,
    request,
    (offset, limit) => store.list(tenantIdOf(request) ?? '', filter, offset, limit),
    (rows) => rows.map((row) => toWire(context, row)),
  );
}

/** 201 with where the new record is and the record itself. */
export function answerCreated(reply: FastifyReply, path: string, record: object): FastifyReply {
  return reply.status(201).header('location', path).send(record);
}
