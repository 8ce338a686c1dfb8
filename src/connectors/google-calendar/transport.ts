import { randomUUID } from 'node:crypto';
import type { HttpClient } from '../../http/client.ts';
import { isHtml } from '../../http/json.ts';
import { serverNow } from '../../http/retry-after.ts';
import { parseJson } from '../../model/json.ts';
import type { Clock } from '../../model/time.ts';
import { type BatchAnswer, createBatchSender, isRefusedWhole } from '../batches.ts';
import type { Authorizer } from '../connector.ts';
import type { SendCalls } from '../flow.ts';
import type { WireCall, WireResponse } from '../wire.ts';
import { buildBatch, parseBatch } from './batch.ts';
import { errors } from './errors.ts';
import { BATCH_SIZE, LARGEST_ANSWER_BYTES, PATCH_UNITS } from './limits.ts';

/** What batches are sent with. */
export interface BatchTransportOptions {
  http: HttpClient;
  authorizer: Authorizer;
  clock: Clock;
  rootUrl: string;
}

/** The connector's batches; see {@link createBatchSender}. */
export function createBatchTransport(options: BatchTransportOptions): (signal: AbortSignal) => SendCalls {
  return createBatchSender({
    authorizer: options.authorizer,
    batchSize: BATCH_SIZE,
    sendBatch: (calls, authorization, signal) => sendBatch(options, calls, authorization, signal),
    loginRefused: errors.of,
  });
}

async function sendBatch(
  { http, clock, rootUrl }: BatchTransportOptions,
  calls: readonly WireCall[],
  authorization: string,
  signal: AbortSignal,
): Promise<BatchAnswer> {
  const { contentType, body } = buildBatch(calls, `batch_${randomUUID()}`);
  const answer = await http.send({
    label: 'google.batch',
    method: 'POST',
    url: `${rootUrl}/batch/calendar/v3`,
    headers: { authorization, 'content-type': contentType },
    body,
    maxResponseBytes: LARGEST_ANSWER_BYTES,
    units: calls.reduce((units, { method }) => units + (method === 'PATCH' ? PATCH_UNITS : 1), 0),
    signal,
  });
  const text = answer.body.toString('utf8');
  if (answer.status === 200) {
    const parts = parseBatch(answer.headers.get('content-type'), text, serverNow(answer.headers) ?? clock());
    if (parts === null) throw errors.make(isHtml(answer) ? 'html-answer' : 'unexpected-answer', { ambiguous: true });
    return { answers: calls.map((_, index) => parts.get(index) ?? null) };
  }
  const whole: WireResponse = { status: answer.status, body: parseJson(text), retryAfterMs: answer.retryAfterMs };
  if (isRefusedWhole(whole.status)) return { refused: whole };
  throw errors.of(whole);
}
