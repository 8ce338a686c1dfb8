import { addressOf } from '../../clinic/http/addresses.ts';
import { send } from '../../clinic/http/call.ts';
import type { ClinicContext } from '../../clinic/http/context.ts';
import { errorFromAnswer } from '../../clinic/http/errors.ts';
import { RESOURCE_PATHS, type ResourceName } from '../../clinic/schema/resources.ts';
import type { HttpResponse } from '../../http/client.ts';
import { isHtml } from '../../http/json.ts';
import { nextLink } from '../../http/link-header.ts';
import { MirrorError } from '../../model/errors.ts';
import { parseJson } from '../../model/json.ts';

/** A query parameter with its value. */
export type Asked = readonly [name: string, value: string];

/** What a question was answered. */
export interface Told {
  status: number;
  /** Parsed JSON; undefined when it is none. */
  body: unknown;
  /** Whether a `Link` header leads to a next page. */
  linksNext: boolean;
  headers: Headers;
}

/** Asks the clinic, with GET alone, and counts. */
export interface Asker {
  /** A list, or with an id one record. @throws MirrorError when the clinic is away, or the probe has asked enough */
  ask(list: ResourceName, parameters?: readonly Asked[], id?: string): Promise<Told>;
  requests(): number;
  /** What was said of appointments, as long as every question about their list was refused; null once one was answered. */
  refusals(): Refusals | null;
}

/** Questions that were all refused. */
export interface Refusals {
  /** How often each status came. */
  statuses: ReadonlyMap<number, number>;
  /** The clinic's own words of the last one: for the person who asked alone. */
  said: readonly string[];
}

const LABEL = 'clinic.probe';
/** Most requests of one probe. */
export const MOST_REQUESTS = 120;
/** Refusals that tell something; others end the probe. */
const TELLING = new Set([400, 403, 404, 405, 410, 413, 414, 422]);

/** Prepares the questions of a probe about one tenant. */
export function createAsker(context: ClinicContext, tenantId: string, signal: AbortSignal): Asker {
  let requests = 0;
  let isAnswered = false;
  let said: readonly string[] = [];
  const refused = new Map<number, number>();
  const note = (answer: HttpResponse) => {
    if (answer.status < 400) isAnswered = true;
    else {
      refused.set(answer.status, (refused.get(answer.status) ?? 0) + 1);
      said = errorFromAnswer(answer, LABEL, context).told();
    }
  };
  return {
    requests: () => requests,
    refusals: () => (isAnswered || refused.size === 0 ? null : { statuses: refused, said }),
    async ask(list, parameters = [], id) {
      if (requests >= MOST_REQUESTS) throw enough();
      const segments = ['tenants', tenantId, ...RESOURCE_PATHS[list], ...(id === undefined ? [] : [id])];
      const answer = await send(context, {
        label: LABEL,
        url: addressOf(
          context,
          segments,
          parameters.map(([name, value]) => [name, value]),
        ),
        signal,
        accepts: ({ status }) => TELLING.has(status),
        onRequest: () => {
          requests += 1;
        },
      });
      if (list === 'appointments' && id === undefined) note(answer);
      const linksNext = nextLink(answer.headers.get('link')) !== null;
      return {
        status: answer.status,
        body: isHtml(answer) ? undefined : parseJson(answer.body),
        linksNext,
        headers: answer.headers,
      };
    },
  };
}

function enough(): MirrorError {
  return new MirrorError('the probe has asked as much as it may and has not found out', {
    actor: 'contract',
    code: 'probe-exhausted',
    retry: 'never',
    remedy: 'compare the clinic system’s OpenAPI document instead: clinic-mirror check-spec',
  });
}
