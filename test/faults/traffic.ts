import type { DemoTarget } from '../../demo/world.ts';
import { matches, type ProxiedRequest } from '../../sandbox/kit/fault-proxy.ts';
import type { CrmSide } from './crm/side.ts';

/** Requests to one target, by what they are for. */
export interface Traffic {
  requests: number;
  /** Creations, counted one by one within batches too. */
  creates: number;
  /** Creations, changes and deletions, counted one by one within batches too. */
  writes: number;
}

const WRITES = /^(POST|PUT|PATCH|DELETE|MKCALENDAR|MKCOL|PROPPATCH)$/;
/** The first line of each call within a batch (RFC 9112 section 3 in a part of type application/http). */
const INNER_CALL = /^(POST|PUT|PATCH|DELETE|GET) \/\S+/gm;

/** Counts what the daemon sent to a target since its proxy was last told to forget. */
export function trafficOf({ proxy }: DemoTarget): Traffic {
  const traffic: Traffic = { requests: proxy.requests.length, creates: 0, writes: 0 };
  for (const { method, url, headers, body } of proxy.requests) {
    const isBatch = url.startsWith('/batch');
    const calls = isBatch ? [...body.matchAll(INNER_CALL)].map((match) => match[1] ?? '') : [method];
    traffic.writes += calls.filter((call) => WRITES.test(call)).length;
    const isConditional = headers['if-none-match'] === '*';
    traffic.creates += calls.filter((call) => call === 'POST' || (call === 'PUT' && isConditional)).length;
  }
  return traffic;
}

/** Rows in the body of a batch: HubSpot's `inputs`, Salesforce's `records` within parts of a composite. */
interface BatchBody {
  inputs?: unknown[];
  compositeRequest?: { method: string; url: string; body?: { records?: unknown[] } }[];
}

/** Counts the rows that the daemon asked a CRM to write, since its proxy was last told to forget. */
export function crmTrafficOf({ proxy, places }: Pick<CrmSide, 'proxy' | 'places'>): number {
  const writes = proxy.requests.filter((request) => places.some((place) => matches(place, request)));
  return writes.reduce((sum, request) => sum + rowsIn(request), 0);
}

function rowsIn({ body }: ProxiedRequest): number {
  const { inputs, compositeRequest = [] } = JSON.parse(body) as BatchBody;
  if (inputs !== undefined) return inputs.length;
  const parts = compositeRequest.filter(({ method }) => method !== 'GET');
  return parts.reduce((sum, part) => sum + (part.body?.records?.length ?? 1), 0);
}
