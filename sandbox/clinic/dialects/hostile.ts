import { paging } from '../routes/query.ts';
import { badRequest, type ClinicError } from '../rules/errors.ts';
import type { Dialect, ErrorAnswer } from './dialect.ts';
import { documented } from './documented.ts';
import { isObject } from './fields.ts';

/** Pages never have more rows than this, whatever the limit. */
const PAGE = { usual: 40, largest: 40 };

/** Lists whose repeated page is remembered; past this all are forgotten, and may repeat one again. */
const REMEMBERED = 1000;

/** A status that no documentation names, shown for every so many-th booked appointment. */
const UNKNOWN_STATUS = 'Rescheduled';
const UNKNOWN_EVERY = 29;

/**
 * The documented names of a system that keeps less than it promises: capped pages, each list with one page repeated once
 * per client, cancelled rows hidden, one agenda and 30 days per call, empty answers to writes, an unknown status, HTML.
 */
export function hostile(): Dialect {
  const repeated = new Set<string>();

  function repeats(list: string): boolean {
    if (repeated.has(list)) return false;
    if (repeated.size >= REMEMBERED) repeated.clear();
    repeated.add(list);
    return true;
  }

  return {
    ...documented(),
    name: 'hostile',
    upload: { multipart: true, base64: false, filePart: 'file', metadata: 'part' },
    hidesCancelled: true,
    emptyWrites: true,
    withoutTenants: 'null',
    query: oneAgenda,
    paging: (query) => paging(query, PAGE),
    repeats,
    list: ({ data, hasMore, isRepeated }) => (isRepeated ? { data } : { data, hasMore }),
    record: (value, resource) => (resource === 'appointments' && isObject(value) ? disguised(value) : value),
    body: (value) => (isObject(value) && value.status === UNKNOWN_STATUS ? { ...value, status: 'Booked' } : value),
    error: errorAnswer,
  };
}

function oneAgenda(query: URLSearchParams): URLSearchParams {
  if (query.getAll('agendaId').length > 1)
    throw badRequest([{ field: 'agendaId', message: 'must occur at most once' }]);
  return query;
}

function disguised(appointment: Record<string, unknown>): Record<string, unknown> {
  const { id, status } = appointment;
  const isChosen = Number.parseInt(String(id).slice(-6), 36) % UNKNOWN_EVERY === 0;
  return status === 'Booked' && isChosen ? { ...appointment, status: UNKNOWN_STATUS } : appointment;
}

/** 404 as documented, 403 as problems without codes, 400, 413, 429 and 5xx as pages, anything else as a problem with its code. */
function errorAnswer(error: ClinicError): ErrorAnswer {
  const { status, code, message, details, headers } = error;
  const { 'retry-after': _, ...kept } = headers;
  if (status === 404) return { body: error.toBody(), contentType: 'application/json', headers: kept };
  if (status === 400 || status === 413 || status === 429 || status >= 500) {
    const body = `<!doctype html><html><head><title>Error ${status}</title></head><body>Error ${status}</body></html>`;
    return { body, contentType: 'text/html', headers: kept };
  }
  const said = {
    missing_claim: { title: 'Missing scope' },
    insufficient_permissions: { detail: 'Insufficient permissions' },
  };
  const body =
    status === 403 && isKey(said, code) ? { status, ...said[code] } : { title: code, status, detail: message };
  const fields = details === undefined ? {} : { errors: details };
  return { body: { ...body, ...fields }, contentType: 'application/problem+json', headers: kept };
}

function isKey<T extends object>(object: T, key: PropertyKey): key is keyof T {
  return key in object;
}
