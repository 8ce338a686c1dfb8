import { addressOf, type ClinicContext, send } from '../../clinic/http/call.ts';
import { errorFromAnswer } from '../../clinic/http/errors.ts';
import { segmentsOf } from '../../clinic/read/reading.ts';
import type { ResourceName } from '../../clinic/schema/resources.ts';
import { isHtml } from '../../core/http/answer.ts';
import type { HttpResponse } from '../../core/http/client.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { parseJson } from '../../core/model/json.ts';
import { answerValue, readCount } from '../../described-api/answers.ts';
import { nextLink } from '../../described-api/links.ts';
import { valueAt } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import { type Answer, type RowsSeen, rowsIn } from '../profile-finder/answer-rows.ts';
import type { Envelope } from '../profile-finder/lists.ts';
import { PARAMETERS } from '../profile-finder/names.ts';
import { type QueryParameter, queryParameter } from '../profile-finder/openapi.ts';

/** A query parameter with its value. */
export type Asked = readonly [name: string, value: string];

const LABEL = 'clinic.probe';
/** Maximum number of requests per probe. */
export const MOST_REQUESTS = 120;
/** Informative refusals; others end the probe. */
const CONCLUSIVE = new Set([400, 403, 404, 405, 410, 413, 414, 422]);

/** The queried tenant. */
interface AskedClinic {
  context: ClinicContext;
  tenantId: string;
  signal: AbortSignal;
}

/** Sends counted GET requests about one tenant of a clinic. */
export class Asker {
  requests = 0;
  /** Statuses of the appointment list requests. */
  private readonly statuses: number[] = [];
  private said: readonly string[] = [];

  private readonly clinic: AskedClinic;

  constructor(clinic: AskedClinic) {
    this.clinic = clinic;
  }

  /** Requests a list, or with an id a single record. @throws MirrorError when the clinic is unreachable or the request limit is reached */
  async ask(list: ResourceName, parameters: readonly Asked[] = [], id?: string): Promise<Answer> {
    if (this.requests >= MOST_REQUESTS) throw exhausted();
    const { context, tenantId, signal } = this.clinic;
    const segments = segmentsOf(context.profile, { list, tenantId }, ...(id === undefined ? [] : [id]));
    const query = parameters.map(([name, value]): [string, string] => [name, value]);
    const answer = await send(context, {
      label: LABEL,
      url: addressOf(context, segments, query),
      signal,
      accepts: ({ status }) => CONCLUSIVE.has(status),
      onRequest: () => {
        this.requests += 1;
      },
    });
    if (list === 'appointments' && id === undefined) this.count(answer);
    return {
      status: answer.status,
      body: isHtml(answer) ? undefined : parseJson(answer.body),
      headers: answer.headers,
    };
  }

  /** Requests appointments. Null without records. */
  async rows(...parameters: readonly Asked[]): Promise<RowsSeen | null> {
    return rowsIn(await this.ask('appointments', parameters), 'appointments');
  }

  private count(answer: HttpResponse): void {
    this.statuses.push(answer.status);
    if (answer.status >= 400) this.said = errorFromAnswer(answer, LABEL, this.clinic.context).vendorMessages();
  }

  /** Returns the error for no records: all requests were refused, or too few appointments exist. */
  noEvidence(): MirrorError {
    if (this.statuses.some((status) => status < 400)) {
      return new MirrorError(message('probe-too-few'), {
        ...{ actor: 'settings', code: 'probe-empty', retry: 'never' },
        remedy: message('probe-too-few.remedy'),
      });
    }
    const counts = [...Map.groupBy(this.statuses, (status) => status)];
    const counted = counts.map(([status, all]) => `${all.length} with ${status}`).join(', ');
    return new MirrorError(message('probe-refused', { counted }), {
      ...{ actor: 'settings', code: 'probe-refused', retry: 'never' },
      remedy: message('probe-refused.remedy'),
      said: this.said,
    });
  }
}

function exhausted(): MirrorError {
  return new MirrorError(message('probe-exhausted'), {
    ...{ actor: 'contract', code: 'probe-exhausted', retry: 'never' },
    remedy: message('probe-exhausted.remedy'),
  });
}

function linksNext({ headers }: RowsSeen): boolean {
  return nextLink(headers.get('link')) !== null;
}

/** Page sizes of requests, to observe whether fewer records return. */
const FEW = 2;
const MANY = 1_000;

/** Observed paging: the working parameters and the maximum page size. */
export interface PagingSeen {
  query: QueryParameter[];
  envelope: Envelope;
  /** A `Link` header leads to the next page. */
  hasLinkHeader: boolean;
  /** Parameters of the largest page. */
  largest: readonly Asked[];
  /** Records of the largest answer. */
  rows: readonly unknown[];
  /** Bodies of the answers. */
  bodies: readonly unknown[];
}

/** Observes the paging of the appointment list with pages of two records. Null with too few records. */
export async function probePaging(asker: Asker, base: readonly Asked[], paging: object): Promise<PagingSeen | null> {
  const ask = (...more: Asked[]) => asker.rows(...base, ...more);
  const first = await ask();
  if (first === null || first.rows.length <= FEW * 2) return null;
  const { envelope, rows, body } = first;
  const candidates = (kind: 'size' | 'offset' | 'page' | 'cursor', key = `${kind}Parameter`) => {
    const own = (paging as Record<string, unknown>)[key];
    return new Set([...(typeof own === 'string' ? [own] : []), ...PARAMETERS[kind]]);
  };
  let few: RowsSeen | null = null;
  let size = '';
  for (const name of candidates('size', 'limitParameter' in paging ? 'limitParameter' : 'sizeParameter')) {
    few = await ask([name, `${FEW}`]);
    size = name;
    if (few?.rows.length === FEW) break;
  }
  if (few?.rows.length !== FEW) {
    const cursor = linksNext(first) ? null : await probeCursor(ask, first, candidates('cursor'));
    const query = cursor === null ? [] : [cursor];
    return { query, envelope, hasLinkHeader: linksNext(first), largest: [], rows, bodies: [body] };
  }
  const hasLinkHeader = linksNext(first) || linksNext(few);
  const next = (...more: Asked[]) => ask([size, `${FEW}`], ...more);
  const position = hasLinkHeader
    ? null
    : ((await probePosition(next, rows, candidates('offset'), candidates('page'))) ??
      (await probeCursor(next, few, candidates('cursor'))));
  const many = await ask([size, `${MANY}`]);
  const cap = many === null || many.rows.length >= MANY || !hasMore(many) ? null : many.rows.length;
  return {
    query: [queryParameter(size, { maximum: cap }), ...(position === null ? [] : [position])],
    envelope,
    hasLinkHeader,
    largest: [[size, `${Math.min(MANY, cap ?? MANY)}`]],
    rows: many?.rows ?? rows,
    bodies: [body, many?.body ?? null],
  };
}

type Next = (...more: Asked[]) => Promise<RowsSeen | null>;

/** Skips two records. An unchanged answer is requested twice, because some servers fail once. */
async function probePosition(
  next: Next,
  rows: readonly unknown[],
  offsets: Iterable<string>,
  pages: Iterable<string>,
): Promise<QueryParameter | null> {
  const [second, third] = [rows.slice(FEW, FEW * 2), rows.slice(FEW * 2, FEW * 3)];
  const tried = [
    ...[...offsets].map((name) => ({ name, value: `${FEW}`, first: 0 })),
    ...[...pages].map((name) => ({ name, value: '2', first: 1 })),
  ];
  for (const { name, value, first } of tried) {
    for (const _try of [1, 2]) {
      const answer = await next([name, value]);
      if (same(answer?.rows, second)) return queryParameter(name, { first });
      // Page 2 returned the third page, so pages count from 0.
      if (first === 1 && same(answer?.rows, third)) return queryParameter(name, { first: 0 });
    }
  }
  return null;
}

async function probeCursor(next: Next, first: RowsSeen, names: Iterable<string>): Promise<QueryParameter | null> {
  const { cursorPath } = first.envelope;
  const cursor = cursorPath === null ? null : valueAt(first.body, cursorPath);
  if (typeof cursor !== 'string' && typeof cursor !== 'number') return null;
  const own = cursorPath?.split('.').at(-1) ?? '';
  for (const name of new Set([...names, own])) {
    const answer = await next([name, String(cursor)]);
    if (answer === null || answer.rows.length === 0 || same(answer.rows, first.rows)) continue;
    return queryParameter(name, { isCursor: true });
  }
  return null;
}

/** Decides whether a page announces further records. */
function hasMore(page: RowsSeen): boolean {
  const { hasMorePath, totalPath } = page.envelope;
  const hasMoreFlag = hasMorePath !== null && valueAt(page.body, hasMorePath) === true;
  const total = totalPath === null ? null : readCount(answerValue(page, totalPath));
  return linksNext(page) || hasMoreFlag || (total ?? 0) > page.rows.length;
}

function same(rows: readonly unknown[] | undefined, others: readonly unknown[]): boolean {
  return rows !== undefined && rows.length > 0 && JSON.stringify(rows) === JSON.stringify(others);
}
