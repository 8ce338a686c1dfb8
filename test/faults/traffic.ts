import type { DemoTarget } from '../../demo/world.ts';

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
