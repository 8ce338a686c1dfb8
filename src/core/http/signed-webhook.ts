import { createRequire } from 'node:module';
import type * as StandardWebhooks from 'standardwebhooks';
import { message } from '../../messages/message.ts';
import type { WebhookEndpoint } from '../../settings/delivery-schema.ts';
import { namingSources } from '../../settings/secret-reference.ts';
import { MirrorError } from '../model/errors.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';
import type { HttpClient, HttpResponse } from './client.ts';

/** Loads a package on first use: many installations never need webhooks. */
const load = createRequire(import.meta.url);

/** Standard Webhooks 1.0 recommends 15 to 30 seconds. */
const TIMEOUT_MS = 20 * SECOND_MS;
/** Largest size that receivers must expect (Standard Webhooks 1.0, "Payload size"). */
const LARGEST_BODY_BYTES = 20_000;
/** Only the status of an answer is evaluated. */
const LARGEST_ANSWER_BYTES = 256 * 1024;

/** One attempt of one message. */
export interface WebhookMessage {
  /** Constant name of the call for metrics. */
  label: string;
  /** `webhook-id`: identical for every attempt, without a full stop. */
  id: string;
  /** `webhook-timestamp`: time of the attempt. */
  now: Instant;
  body: string;
}

/** Result of a message. */
export type WebhookAnswer =
  | { result: 'taken' }
  /** 410: the receiver refuses further messages. */
  | { result: 'gone' }
  /** Surely or possibly not received; retried under the same id. */
  | { result: 'later'; code: WebhookRefusal; retryAfterMs: number | null };

/** Reason for a retry. `webhook-refused`: a different 4xx, which may concern only this message. */
export type WebhookRefusal = 'throttled' | 'webhook-unavailable' | 'webhook-refused' | 'webhook-redirected';

/** Decides whether a body exceeds the limit of receivers. */
export function isTooLarge(body: string): boolean {
  return Buffer.byteLength(body) > LARGEST_BODY_BYTES;
}

/**
 * Posts one message, signed by Standard Webhooks 1.0. Redirects are not followed.
 * @throws MirrorError `settings`, code `webhook-unauthorized`, for 401 and 403, and errors of the HTTP client
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

/** Signs with each secret; a receiver accepts the message if one signature matches. */
function signed({ secrets }: WebhookEndpoint, id: string, now: Instant, body: string): Record<string, string> {
  const at = new Date(now);
  const { Webhook } = load('standardwebhooks') as typeof StandardWebhooks;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / SECOND_MS)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret.reveal()).sign(id, at, body)).join(' '),
  };
}

/** Returns the error for 401 and 403. The remedy names the location of the signing secrets. */
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
