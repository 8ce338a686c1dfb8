import type { FaultProxy } from '../../../sandbox/kit/fault-proxy.ts';

const INNER_CALL = /^(POST|PUT|PATCH|DELETE|GET) \/\S+/gm;
const WRITE = /^(POST|PUT|PATCH|DELETE|MKCALENDAR|MKCOL|PROPPATCH)$/;

/** The URLs of batches, at Google and at Graph. */
export const BATCHES = /^\/batch|\/\$batch$/;

/** The methods of every call that passed a proxy, those within batches one by one. */
export function callsAt({ requests }: FaultProxy): string[] {
  return requests.flatMap(({ method, url, body }) => {
    if (!BATCHES.test(url)) return [method];
    if (!url.endsWith('$batch')) return [...body.matchAll(INNER_CALL)].map((match) => match[1] ?? '');
    return (JSON.parse(body) as { requests: { method: string }[] }).requests.map((part) => part.method);
  });
}

/** Number of deletions requested from a target. */
export function deletionsAt(proxy: FaultProxy): number {
  return callsAt(proxy).filter((method) => method === 'DELETE').length;
}

/** Writes of any kind requested from a target. */
export function writesAt(proxy: FaultProxy): string[] {
  return callsAt(proxy).filter((method) => WRITE.test(method));
}
