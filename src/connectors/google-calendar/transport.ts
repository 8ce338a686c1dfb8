import { randomUUID } from 'node:crypto';
import type { HttpClient } from '../../http/client.ts';
import { isHtml } from '../../http/json.ts';
import { retryAfterMs, serverNow } from '../../http/retry-after.ts';
import { parseJson } from '../../model/json.ts';
import type { Clock } from '../../model/time.ts';
import type { Authorizer } from '../connector.ts';
import type { SendCalls } from '../flow.ts';
import { type BatchAnswer, createBatchSender, isRefusedWhole } from '../flow.ts';
import type { WireCall, WireResponse } from '../wire.ts';
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

/** A multipart body and the content type that names its boundary. */
export interface BatchRequest {
  contentType: string;
  body: string;
}

const CRLF = '\r\n';

/**
 * Calls as one `multipart/mixed` body, the n-th with content id `<n>`.
 * @param boundary must not occur in any call's content: a random UUID
 * @see https://developers.google.com/workspace/calendar/api/guides/batch
 */
export function buildBatch(calls: readonly WireCall[], boundary: string): BatchRequest {
  const parts = calls.map((call, index) =>
    [`--${boundary}`, 'Content-Type: application/http', `Content-ID: <${index}>`, '', buildCall(call), ''].join(CRLF),
  );
  return { contentType: `multipart/mixed; boundary=${boundary}`, body: `${parts.join('')}--${boundary}--${CRLF}` };
}

function buildCall(call: WireCall): string {
  const lines = [`${call.method} ${call.path} HTTP/1.1`];
  if (call.ifMatch) lines.push(`If-Match: ${call.ifMatch}`);
  const body = call.body === undefined ? '' : JSON.stringify(call.body);
  if (body !== '') {
    lines.push('Content-Type: application/json; charset=UTF-8', `Content-Length: ${Buffer.byteLength(body)}`);
  }
  return [...lines, '', body].join(CRLF);
}

/**
 * The parts of a batch's answer by the index of their call. The order of parts says nothing; a part that is absent, cut short or
 * unreadable is not in the map.
 * @returns null when the answer is no multipart at all
 */
export function parseBatch(contentType: string | null, body: string, nowMs: number): Map<number, WireResponse> | null {
  const boundary = /^multipart\/mixed\s*;.*?boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? '');
  if (boundary === null) return null;
  const answers = new Map<number, WireResponse>();
  const delimiter = `--${boundary[1] ?? boundary[2]}`;
  for (const part of body.split(delimiter).slice(1)) {
    if (part.startsWith('--')) break;
    const parsed = parsePart(part, nowMs);
    if (parsed !== null) answers.set(parsed.index, parsed.answer);
  }
  return answers;
}

function parsePart(part: string, nowMs: number): { index: number; answer: WireResponse } | null {
  const outer = splitHead(part.replace(/^[ \t]*\r?\n/, ''));
  const index = /^content-id:\s*<?response-(\d+)>?\s*$/im.exec(outer.head);
  if (index === null) return null;
  const inner = splitHead(outer.rest);
  const status = /^HTTP\/\d(?:\.\d)?\s+(\d{3})/i.exec(inner.head);
  if (status === null) return null;
  const body = parseBody(inner.rest);
  if (body === CUT_SHORT) return null;
  const response = { status: Number(status[1]), headers: headersOf(inner.head) };
  return {
    index: Number(index[1]),
    answer: { status: response.status, body, retryAfterMs: retryAfterMs(response, nowMs) },
  };
}

function splitHead(text: string): { head: string; rest: string } {
  const end = /\r?\n\r?\n/.exec(text);
  if (end === null) return { head: text, rest: '' };
  return { head: text.slice(0, end.index), rest: text.slice(end.index + end[0].length) };
}

const CUT_SHORT = Symbol('cut short');

function parseBody(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return parseJson(trimmed) ?? (trimmed.startsWith('{') ? CUT_SHORT : undefined);
}

function headersOf(head: string): Headers {
  const headers = new Headers();
  for (const line of head.split(/\r?\n/).slice(1)) {
    const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()];
    if (/^[\w-]+$/.test(name)) headers.append(name, value.replaceAll(/[^\x20-\x7e]/g, ''));
  }
  return headers;
}
