/** Process of `xml-without-measure.test.ts`: reads one 207 after another with a limited heap, and measures the longest pause. */
import { DavSession, isMultistatus } from '../../src/connectors/caldav/webdav.ts';
import { MEBIBYTE } from '../../src/core/http/client.ts';
import { peakBytes } from '../support/peak-memory.ts';

/** A 207, and the path to which the server redirects the request for it. */
export interface Asked {
  body: string;
  path: string;
}

/** Result of the parser. */
export interface Measured {
  /** Code of the refusal, or null. */
  code: string | null;
  urls: number;
  longestUrl: number;
  /** Longest processor time of the main thread without a break. */
  pauseMs: number;
  /** Most memory of the process so far, above the memory before. */
  grownMebibytes: number;
}

const authorizer = { header: async () => 'a', renew: async () => 'a', quotaUser: null };
const startBytes = process.memoryUsage.rss();
const usedMs = () => process.threadCpuUsage().user / 1_000;

async function measure({ body, path }: Asked): Promise<Measured> {
  const bytes = Buffer.from(body);
  const answer = (url: string) => ({
    ...{ retryAfterMs: null, status: url.endsWith(path) ? 207 : 307, headers: new Headers({ location: path }) },
    body: bytes,
  });
  const http = { send: async ({ url }: { url: string }) => answer(url) };
  const session = new DavSession({ http: http as never, authorizer }, new URL('https://dav.example/'));
  let [isRead, pauseMs, before] = [false, 0, usedMs()];
  const turn = () => {
    const now = usedMs();
    [pauseMs, before] = [Math.max(pauseMs, now - before), now];
    if (!isRead) setImmediate(turn);
  };
  setImmediate(turn);
  const asked = session.ask(
    { method: 'PROPFIND', url: new URL('https://dav.example/start') },
    new AbortController().signal,
  );
  const met = await asked.catch((error: { code: string }) => error);
  turn();
  isRead = true;
  const members = 'code' in met || !isMultistatus(met) ? [] : met.members;
  return {
    ...{ code: 'code' in met ? met.code : null, urls: members.length, pauseMs },
    longestUrl: Math.max(0, ...members.slice(0, 10_000).map(({ url }) => url.href.length)),
    grownMebibytes: (peakBytes() - startBytes) / MEBIBYTE,
  };
}

process.on('message', async (asked: Asked) => process.send?.(await measure(asked)));
