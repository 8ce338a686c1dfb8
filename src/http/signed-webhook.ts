import { createRequire } from 'node:module';
import type * as StandardWebhooks from 'standardwebhooks';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';
import type { WebhookEndpoint } from '../settings/delivery-schema.ts';
import { namingSources } from '../settings/secret-reference.ts';
import type { HttpClient, HttpResponse } from './client.ts';

/** Loads a package when it is first needed: many installations never need this one. */
const load = createRequire(import.meta.url);

/** Standard Webhooks 1.0 asks for 15 to 30 seconds. */
const TIMEOUT_MS = 20 * SECOND_MS;
/** What receivers are told to expect at most (Standard Webhooks 1.0, "Payload size"). */
const LARGEST_BODY_BYTES = 20_000;
/** Nothing in an answer is read but its status. */
const LARGEST_ANSWER_BYTES = 256 * 1024;

/** One try of one message. */
export interface WebhookMessage {
  /** Constant name of the call for metrics. */
  label: string;
  /** `webhook-id`: the same for every try, without a full stop. */
  id: string;
  /** `webhook-timestamp`: the time of this try. */
  now: Instant;
  body: string;
}

/** What a receiver made of a message. */
export type WebhookAnswer =
  | { result: 'taken' }
  /** 410: it wants nothing any more. */
  | { result: 'gone' }
  /** Surely or perhaps not taken; to be tried again under the same id. */
  | { result: 'later'; code: WebhookRefusal; retryAfterMs: number | null };

/** Why a message is to be tried again. `webhook-refused`: another 4xx, which may be said of this one message alone. */
export type WebhookRefusal = 'throttled' | 'webhook-unavailable' | 'webhook-refused' | 'webhook-redirected';

/** Whether a body is larger than receivers take. */
export function isTooLarge(body: string): boolean {
  return Buffer.byteLength(body) > LARGEST_BODY_BYTES;
}

/**
 * Posts one message, signed by Standard Webhooks 1.0. Redirects are not followed.
 * @throws MirrorError `settings`, code `webhook-unauthorized`, for 401 and 403, and as the HTTP client does
 */
export async function postSigned(
  http: HttpClient,
  endpoint: WebhookEndpoint,
  { label, id, now, body }: WebhookMessage,
  signal: AbortSignal,
): Promise<WebhookAnswer> {
  const answer = await http.send({
    label,
    method: 'POST',
    url: endpoint.url,
    headers: { 'content-type': 'application/json', ...signed(endpoint, id, now, body) },
    body,
    signal,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: LARGEST_ANSWER_BYTES,
    publicOnly: endpoint.allowPrivateAddresses === false,
  });
  return answerOf(answer, endpoint);
}

/** One signature for each secret; a receiver takes the message when one of them fits. */
function signed({ secrets }: WebhookEndpoint, id: string, now: Instant, body: string): Record<string, string> {
  const at = new Date(now);
  const { Webhook } = load('standardwebhooks') as typeof StandardWebhooks;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / SECOND_MS)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret.reveal()).sign(id, at, body)).join(' '),
  };
}

/** What a receiver means by 401 and 403. The remedy names where the signing secrets are kept. */
export function signatureRefused({ secrets }: Pick<WebhookEndpoint, 'secrets'>, status?: number): MirrorError {
  return new MirrorError(message('webhook-unauthorized'), {
    actor: 'settings',
    code: 'webhook-unauthorized',
    retry: 'later',
    status,
    remedy: namingSources(message('same-signing-secret'), secrets),
  });
}

function answerOf({ status, retryAfterMs }: HttpResponse, { secrets }: WebhookEndpoint): WebhookAnswer {
  if (status >= 200 && status < 300) return { result: 'taken' };
  if (status === 410) return { result: 'gone' };
  if (status === 401 || status === 403) throw signatureRefused({ secrets }, status);
  if (status === 429) return { result: 'later', code: 'throttled', retryAfterMs };
  if (status >= 500) return { result: 'later', code: 'webhook-unavailable', retryAfterMs };
  return { result: 'later', code: status >= 400 ? 'webhook-refused' : 'webhook-redirected', retryAfterMs };
}
