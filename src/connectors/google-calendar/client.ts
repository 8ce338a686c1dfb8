import { randomUUID } from 'node:crypto';
import { calendar, type calendar_v3 } from 'googleapis/build/src/apis/calendar/index.js';
import { isHtml, joinedBody } from '../../core/http/answer.ts';
import type { HttpClient, HttpResponse } from '../../core/http/client.ts';
import { type AnswerHeaders, answerHeaders } from '../../core/http/headers.ts';
import { retryAfterMs, serverNow } from '../../core/http/retry.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { afterSpace, MOST_VALUES, OPENING } from '../../core/model/json.ts';
import { parseInPieces } from '../../core/model/json-pieces.ts';
import type { Pieces } from '../../core/model/pieces.ts';
import type { Clock, TimeWindow } from '../../core/model/time.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import type { Authorizer, SubscriptionRequest } from '../connector.ts';
import { type BatchAnswer, createBatchSender, isRefusedWhole, type SendCalls } from '../flow.ts';
import { bodyOf, jsonOf, type WireCall, type WireResponse } from '../wire.ts';
import { errors } from './errors.ts';
import {
  BATCH_SIZE,
  CALENDARS_PAGE_SIZE,
  EVENT_FIELDS,
  EVENTS_PAGE_SIZE,
  HEAD_FIELDS,
  LABEL_FIELDS,
  LARGEST_ANSWER_BYTES,
  LONGEST_HEAD,
  PATCH_UNITS,
} from './limits.ts';

/**
 * Single calls to the Calendar API. Each returns the response with any status.
 * @throws MirrorError if Google does not respond
 */
export interface CalendarClient {
  getCalendar(id: string, call: CallOptions): Promise<WireResponse>;
  insertCalendar(content: { summary: string; description: string }, call: CallOptions): Promise<WireResponse>;
  listCalendars(pageToken: string | null, call: CallOptions): Promise<WireResponse>;
  listEvents(query: EventsQuery, call: CallOptions): Promise<WireResponse>;
  listChanges(query: ChangesQuery, call: CallOptions): Promise<WireResponse>;
  watchEvents(query: WatchQuery, call: CallOptions): Promise<WireResponse>;
  stopChannel(channel: { id: string; resourceId: string }, call: CallOptions): Promise<WireResponse>;
}

export interface CallOptions {
  authorization: string;
  signal: AbortSignal;
}

/** Query for one page of the events that carry an owner tag. */
interface EventsQuery {
  calendarId: string;
  ownerTag: string;
  window: TimeWindow | null;
  pageToken: string | null;
}

/** Query for one page of the change feed. Without a sync token, Google returns no events, only the pages up to the first token. */
interface ChangesQuery {
  calendarId: string;
  syncToken: string | null;
  pageToken: string | null;
}

interface WatchQuery extends SubscriptionRequest {
  calendarId: string;
}

/**
 * Creates Google's client on top of clinic-mirror's HTTP client, which replaces the retries, authorization and errors of Google's client.
 */
export function createCalendarClient(http: HttpClient, rootUrl: string, quotaUser: string | null): CalendarClient {
  const api = calendar({ version: 'v3', rootUrl: `${rootUrl}/`, params: quotaUser === null ? {} : { quotaUser } });
  const call = (label: string, { authorization, signal }: CallOptions, send: Send) =>
    answerOf(label, (receive) =>
      send(api, {
        headers: { authorization },
        signal,
        retry: false,
        responseType: 'text',
        validateStatus: () => true,
        fetchImplementation: http.asFetch(label, undefined, LARGEST_ANSWER_BYTES, receive),
      }),
    );
  return {
    getCalendar: (calendarId, options) =>
      call('google.calendars.get', options, (client, wire) => client.calendars.get({ calendarId }, wire)),
    insertCalendar: (requestBody, options) =>
      call('google.calendars.insert', options, (client, wire) => client.calendars.insert({ requestBody }, wire)),
    listCalendars: (pageToken, options) =>
      call('google.calendarList.list', options, (client, wire) =>
        client.calendarList.list({ maxResults: CALENDARS_PAGE_SIZE, showHidden: true, ...page(pageToken) }, wire),
      ),
    listEvents: (query, options) =>
      call('google.events.list', options, (client, wire) => client.events.list(eventsParameters(query), wire)),
    listChanges: (query, options) =>
      call('google.events.changes', options, (client, wire) => client.events.list(changesParameters(query), wire)),
    watchEvents: (query, options) =>
      call('google.events.watch', options, (client, wire) => client.events.watch(watchParameters(query), wire)),
    stopChannel: (requestBody, options) =>
      call('google.channels.stop', options, (client, wire) => client.channels.stop({ requestBody }, wire)),
  };
}

/** Transport options of Google's client for one request. */
interface Wire {
  headers: { authorization: string };
  signal: AbortSignal;
  retry: false;
  responseType: 'text';
  validateStatus: () => true;
  fetchImplementation: typeof fetch;
}
type Send = (api: calendar_v3.Calendar, wire: Wire) => Promise<unknown>;

function page(pageToken: string | null): { pageToken?: string } {
  return pageToken === null ? {} : { pageToken };
}

function eventsParameters({ calendarId, ownerTag, window, pageToken }: EventsQuery) {
  return {
    calendarId,
    maxResults: EVENTS_PAGE_SIZE,
    fields: `nextPageToken,items(${EVENT_FIELDS})`,
    // A filter by owner tag would hide events that lost their marks: without a window, each event is listed.
    ...(window === null ? {} : { privateExtendedProperty: [`${LABEL_FIELDS.ownerTag}=${ownerTag}`] }),
    ...(window === null ? {} : { timeMin: rfc3339(window.fromAt), timeMax: rfc3339(window.toAt) }),
    ...page(pageToken),
  };
}

/** Google requires equal parameters for all pages of a feed (guides/sync), so only the tokens are sent. */
function changesParameters({ calendarId, syncToken, pageToken }: ChangesQuery) {
  return {
    calendarId,
    maxResults: EVENTS_PAGE_SIZE,
    fields: `nextPageToken,nextSyncToken${syncToken === null ? '' : `,items(${HEAD_FIELDS})`}`,
    ...(syncToken === null ? {} : { syncToken }),
    ...page(pageToken),
  };
}

function watchParameters({ calendarId, id, secret, address, expiresAt }: WatchQuery) {
  const requestBody = { id, type: 'web_hook', address, token: secret, expiration: String(Math.floor(expiresAt)) };
  return { calendarId, requestBody };
}

function rfc3339(at: number): string {
  return new Date(at).toISOString();
}

async function answerOf(
  label: string,
  send: (receive: (answer: HttpResponse) => void) => ReturnType<Send>,
): Promise<WireResponse> {
  const received = Promise.withResolvers<HttpResponse>();
  await send(received.resolve).catch((error: unknown) => {
    throw clientError(error);
  });
  const answer = await received.promise;
  return { status: answer.status, body: await bodyOf(answer, label), retryAfterMs: answer.retryAfterMs };
}

/**
 * Unwraps the HTTP client's error. The wrapper of Google's client holds the request with its credentials, and must not leave this module.
 */
function clientError(error: unknown): MirrorError {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof MirrorError) return current;
  }
  return asMirrorError(new Error('the Google client failed'));
}

interface BatchTransportOptions {
  http: HttpClient;
  authorizer: Authorizer;
  clock: Clock;
  rootUrl: string;
}

/** Creates the connector's batch transport; see {@link createBatchSender}. */
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
  if (answer.status === 200) {
    const body = await inPieces(joinedBody(answer));
    const work = parseBatch(answer.headers.get('content-type'), body, serverNow(answer.headers) ?? clock());
    const parts = await inPieces(work);
    if (parts === null) throw errors.make(isHtml(answer) ? 'html-answer' : 'unexpected-answer', { ambiguous: true });
    return { answers: calls.map((_, index) => parts.get(index) ?? null) };
  }
  const whole: WireResponse = {
    status: answer.status,
    body: await jsonOf(answer.body),
    retryAfterMs: answer.retryAfterMs,
  };
  if (isRefusedWhole(whole.status)) return { refused: whole };
  throw errors.of(whole);
}

/** Multipart body, with the content type that names its boundary. */
interface BatchRequest {
  contentType: string;
  body: string;
}

const CRLF = '\r\n';

/**
 * Builds one `multipart/mixed` body from calls. The n-th call has the content id `<n>`.
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
 * Returns the parts of a batch response by the index of their call. Google may send parts in any order. The map omits absent, truncated and
 * unreadable parts, further parts than calls in a batch, and parts above the limit of values, which all parts share.
 * @returns null if the response is not multipart
 */
export function* parseBatch(
  contentType: string | null,
  body: Buffer,
  nowMs: number,
): Pieces<Map<number, WireResponse> | null> {
  const boundary = /^multipart\/mixed\s*;.*?boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? '');
  if (boundary === null) return null;
  const answers = new Map<number, WireResponse>();
  const delimiter = Buffer.from(`--${boundary[1] ?? boundary[2]}`);
  const room = { values: MOST_VALUES };
  let at = body.indexOf(delimiter);
  for (let count = 0; count < BATCH_SIZE && at !== -1; count += 1) {
    const from = at + delimiter.length;
    if (body.toString('latin1', from, from + 2) === '--') break;
    at = body.indexOf(delimiter, from);
    yield;
    const parsed = yield* parsePart(body.subarray(from, at === -1 ? body.length : at), nowMs, room);
    if (parsed !== null) answers.set(parsed.index, parsed.answer);
  }
  return answers;
}

/** Values that the remaining parts of a batch may have together. */
interface Room {
  values: number;
}

function* parsePart(part: Buffer, nowMs: number, room: Room): Pieces<{ index: number; answer: WireResponse } | null> {
  const outer = splitHead(part);
  if (outer === null) return null;
  const index = /^content-id:\s*<?response-(\d+)>?\s*$/im.exec(outer.head);
  if (index === null) return null;
  const inner = splitHead(outer.rest);
  if (inner === null) return null;
  const status = /^HTTP\/\d(?:\.\d)?\s+(\d{3})/i.exec(inner.head);
  if (status === null) return null;
  const body = yield* parseBody(inner.rest, room);
  if (body === CUT_SHORT) return null;
  const response = { status: Number(status[1]), headers: headersOf(inner.head) };
  return {
    index: Number(index[1]),
    answer: { status: response.status, body, retryAfterMs: retryAfterMs(response, nowMs) },
  };
}

/** Returns the lines before the first empty line, and the rest; null for too many characters. A first empty line is omitted. */
function splitHead(part: Buffer): { head: string; rest: Buffer } | null {
  const text = part.toString('latin1', 0, LONGEST_HEAD);
  const [before = ''] = /^[ \t]*\r?\n/.exec(text) ?? [];
  const end = /\r?\n\r?\n/.exec(text.slice(before.length));
  if (end !== null) {
    const [head, to] = [end.input.slice(0, end.index), before.length + end.index + end[0].length];
    return { head, rest: part.subarray(to) };
  }
  return part.length > LONGEST_HEAD ? null : { head: text.slice(before.length), rest: part.subarray(part.length) };
}

const CUT_SHORT = Symbol('cut short');

function* parseBody(text: Buffer, room: Room): Pieces<unknown> {
  const from = afterSpace(text, 0);
  if (from >= text.length) return undefined;
  const parsed = yield* parseInPieces(text, room.values);
  room.values -= Math.min(room.values, parsed.cost);
  if ('value' in parsed) return parsed.value;
  return text[from] === OPENING ? CUT_SHORT : undefined;
}

function headersOf(head: string): AnswerHeaders {
  const lines = head.split(/\r?\n/).slice(1);
  return answerHeaders(
    lines.map((line) => [line.slice(0, Math.max(0, line.indexOf(':'))), line.slice(line.indexOf(':') + 1)]),
  );
}
