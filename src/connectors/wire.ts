import { readJson } from '../http/json.ts';
import type { Instant } from '../model/time.ts';

/** One call to a vendor's API, as it goes into a batch. */
export interface WireCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, as the vendor's batches want it. */
  path: string;
  /** Sent as If-Match when set. */
  ifMatch?: string | null;
  /** Sent as JSON. */
  body?: object;
  /** Sent in a request of its own: a batch answered that the call did not go together with the others. */
  alone?: boolean;
}

/** What the vendor answered to one call, in a batch or alone. */
export interface WireResponse {
  status: number;
  /** The parsed JSON body; undefined when there was none or it was not JSON. */
  body: unknown;
  /** What the answer asks us to wait, in milliseconds. */
  retryAfterMs: number | null;
  /** When the request went out, by the vendor's clock; absent where nobody asks for it. */
  sentAt?: Instant;
}

/** Whether the call was carried out. */
export function isSuccess(answer: WireResponse): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** The JSON of an answer. An unreadable body matters only where one was promised: a refusal speaks by its status. */
export function bodyOf(answer: Parameters<typeof readJson>[0] & { status: number }, label: string): unknown {
  if (answer.status === 204) return undefined;
  try {
    return readJson(answer, label);
  } catch (error) {
    if (answer.status >= 200 && answer.status < 300) throw error;
    return undefined;
  }
}
