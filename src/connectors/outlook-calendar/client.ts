import {
  Client,
  type Context,
  type GraphRequest,
  type Middleware,
  ResponseType,
} from '@microsoft/microsoft-graph-client';
import type { HttpClient } from '../../http/client.ts';
import { retryAfterMs } from '../../http/retry-after.ts';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import type { Clock } from '../../model/time.ts';
import { bodyOf, type WireCall, type WireResponse } from '../wire.ts';
import { bodyOrChallenge } from './errors.ts';
import { API_VERSION, LARGEST_ANSWER_BYTES, PREFER } from './limits.ts';

/** What single calls are sent with. */
export interface GraphClientOptions {
  http: HttpClient;
  clock: Clock;
  rootUrl: string;
}

/** A call by itself. */
export interface GraphCall extends WireCall {
  /** Elements in a page, where the query can't say it (learn.microsoft.com/graph/delta-query-events). */
  pageSize?: number;
}

/** Sends one call by itself and gives the answer whatever its status. Throws MirrorError when no answer came. */
export type SendCall = (
  label: string,
  call: GraphCall,
  authorization: string,
  signal: AbortSignal,
) => Promise<WireResponse>;

/** Microsoft's own client behind our HTTP client. Its login, its retries and its errors are left out: ours take their place. */
export function createGraphClient({ http, clock, rootUrl }: GraphClientOptions): SendCall {
  return async (label, call, authorization, signal) => {
    const httpClient = new HttpClientMiddleware(http.asFetch(label, undefined, LARGEST_ANSWER_BYTES));
    const client = Client.initWithMiddleware({ middleware: httpClient, baseUrl: rootUrl, defaultVersion: API_VERSION });
    const headers = {
      Authorization: authorization,
      Prefer: call.pageSize === undefined ? PREFER : `${PREFER}, odata.maxpagesize=${call.pageSize}`,
      ...(call.ifMatch ? { 'If-Match': call.ifMatch } : {}),
    };
    const request = client.api(call.path).headers(headers).option('signal', signal).responseType(ResponseType.RAW);
    try {
      const response: Response = await SEND[call.method](request, call.body);
      return await answerOf(label, response, clock);
    } catch (error) {
      throw (
        httpClient.failure ??
        (error instanceof MirrorError ? error : asMirrorError(new Error('the Graph client failed')))
      );
    }
  };
}

const SEND: Readonly<Record<WireCall['method'], (request: GraphRequest, body: unknown) => Promise<Response>>> = {
  GET: (request) => request.get(),
  POST: (request, body) => request.post(body),
  PUT: (request, body) => request.put(body),
  PATCH: (request, body) => request.patch(body),
  DELETE: (request) => request.delete(),
};

/** The one link of the client's chain: the HTTP client, which follows no redirects and repeats nothing. */
class HttpClientMiddleware implements Middleware {
  /** What the HTTP client threw; the client wraps it in an error of its own, which loses it. */
  failure: MirrorError | null = null;
  readonly #fetch: typeof fetch;

  constructor(throughClient: typeof fetch) {
    this.#fetch = throughClient;
  }

  async execute(context: Context): Promise<void> {
    try {
      context.response = await this.#fetch(context.request, context.options);
    } catch (error) {
      this.failure = asMirrorError(error);
      throw error;
    }
  }
}

async function answerOf(label: string, response: Response, clock: Clock): Promise<WireResponse> {
  const { status, headers } = response;
  const body = Buffer.from(await response.arrayBuffer());
  return {
    status,
    body: bodyOrChallenge(status, headers, undefined) ?? bodyOf({ status, headers, body }, label),
    retryAfterMs: retryAfterMs(response, clock()),
  };
}
