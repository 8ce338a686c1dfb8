import type { CustomFetch } from 'openid-client';
import type { Budget } from '../http/budget.ts';
import type { HttpClient } from '../http/client.ts';
import { retryAfterMs, serverNow } from '../http/retry-after.ts';
import type { Clock } from '../model/time.ts';
import type { AnswerFacts } from './errors.ts';
import type { Provider } from './providers.ts';
import { tidyAnswer } from './token-answer.ts';

/** What an authorization server is reached with. */
export interface Reach {
  provider: Provider;
  http: HttpClient;
  /** What the client id is allowed, shared with the API's calls where the provider counts them together. */
  budget?: Budget;
  clock: Clock;
}

/**
 * The HTTP client as openid-client's fetch. The time limit is the HTTP client's; the answer is made tidy and its facts are kept for the
 * error. Nothing is sent twice.
 */
export function recordingFetch(
  reach: Reach,
  label: string,
  signal: AbortSignal,
): { fetch: CustomFetch; facts(): AnswerFacts | null } {
  const send = reach.http.asFetch(`oauth.${reach.provider.name}.${label}`, reach.budget);
  let facts: AnswerFacts | null = null;
  return {
    async fetch(url, { method, headers, body }) {
      const response = await send(url, { method, headers, body: body as string, signal, redirect: 'manual' });
      const now = reach.clock();
      facts = {
        status: response.status,
        retryAfterMs: retryAfterMs(response, now),
        skewMs: (serverNow(response.headers) ?? now) - now,
      };
      return method === 'POST' ? tidyAnswer(response) : response;
    },
    facts: () => facts,
  };
}
