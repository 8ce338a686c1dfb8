import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isHtml } from '../../http/answer.ts';
import {
  type Budget,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  MEBIBYTE,
} from '../../http/client.ts';
import { passingWaitMs, retried } from '../../http/retry.ts';
import type { Logger } from '../../log/logger.ts';
import { message } from '../../messages/message.ts';
import { MirrorError } from '../../model/errors.ts';
import type { Clock } from '../../model/time.ts';
import type { ClinicProfile, CompiledProfile } from '../schema/profile.ts';
import type { ResourceName } from '../schema/resources.ts';
import { clinicError, errorFromAnswer, saysAbsent } from './errors.ts';
import type { PagingMemory } from './paging.ts';
import { asId, type JsonObject } from './rows.ts';

/** Gives the Authorization header of the clinic login. Both throw an `authorization` MirrorError when a person must act. */
interface ClinicAuthorization {
  /** The header's value, refreshed ahead of expiry. */
  header(signal: AbortSignal): Promise<string>;
  /** After a 401: forces one refresh and gives the new value. */
  renew(signal: AbortSignal): Promise<string>;
}

/** A write before it is sent, without the token. */
export interface PreparedWrite {
  method: string;
  /** Whole address. */
  url: string;
  /** Goes out as JSON; where a file goes with it, what is said of that. Null: nothing. */
  body: object | null;
  file: { name: string; sizeBytes: number } | null;
}

/** What the client works with. */
export interface ClinicContext {
  profile: ClinicProfile;
  /** Where it is written, from the configuration directory: what a refused call may have to be corrected in. */
  profileFile: string;
  /** What is made of that profile, for all who work under it. */
  compiled: CompiledProfile;
  /** Address of the API without the version, such as `https://api.example.org`. */
  baseUrl: string;
  http: HttpClient;
  /** The share of the OAuth client, over all users and tenants; null for none. */
  budget: Budget | null;
  authorization: ClinicAuthorization;
  /** What each list showed of how it pages, for as long as the process lives. */
  pagings: Map<ResourceName, PagingMemory>;
  /** Told of each write before it is sent; what it throws holds the write back. */
  beforeWrite?(write: PreparedWrite): void;
  clock: Clock;
  log: Logger;
}

/** One call of the clinic API. */
export interface ClinicCall {
  /** Constant name such as `clinic.appointments.list`, for messages, metrics and logs. */
  label: string;
  /** Whole address; built by `addresses.ts`, never with the token in it. */
  url: string;
  /** GET when absent. */
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: JsonObject | readonly JsonObject[];
  /** In place of `body`: makes what is sent, again for every request. */
  upload?: () => Upload;
  /** Asks for nothing where the answer is still the one of this ETag: then it is a 304, which `accepts` must take. */
  ifNoneMatch?: string;
  /** Longest time until the whole answer is read; the profile's `timeoutMs` when absent. */
  timeoutMs?: number;
  /** Longest answer; the profile's `maxAnswerBytes` when absent. */
  maxResponseBytes?: number;
  signal: AbortSignal;
  /** Told of every request that is sent. */
  onRequest?: () => void;
  /** Answers beside 2xx that the caller understands; their body has been read. */
  accepts?: (answer: HttpResponse) => boolean;
}

/** A body that is never whole in memory. */
export interface Upload {
  contentType: string;
  /** Null when it is not known before the end. */
  lengthBytes: number | null;
  stream: AsyncIterable<Uint8Array>;
  /** What is in it, for whoever looks before it goes. */
  metadata: JsonObject;
  file: { name: string; sizeBytes: number };
}

/**
 * Sends a call with the login's token. A 401 is answered with one renewal and one replay. 429, 5xx and failures of the network
 * are tried again in place as long as the wait is short; a longer one is thrown for the job to come back. A POST that may have been
 * carried out is never sent again here: its caller looks the record up first.
 * @throws MirrorError as `errors.ts` says, and those of the HTTP client and the login
 */
export function send(context: ClinicContext, call: ClinicCall): Promise<HttpResponse> {
  return deliver(context, call, { ask: (request) => context.http.send(request), whole: async (answer) => answer });
}

/** The same for an answer that is read as it comes. @throws as {@link send}; the body may throw what the HTTP client says */
function openAnswer(context: ClinicContext, call: ClinicCall): Promise<HttpStream> {
  return deliver(context, call, { ask: (request) => context.http.open(request), whole: (answer) => answer.whole() });
}

/** How requests go out, and how an answer is read whole to learn what is wrong. */
interface Transport<Answer> {
  ask(request: HttpRequest): Promise<Answer>;
  whole(answer: Answer): Promise<HttpResponse>;
}

async function deliver<Answer extends Pick<HttpResponse, 'status'>>(
  context: ClinicContext,
  call: ClinicCall,
  transport: Transport<Answer>,
): Promise<Answer> {
  const { limits: rules } = context.profile;
  const authorized = authorizedSender(context, call, transport);
  if ((call.method ?? 'GET') !== 'GET') context.beforeWrite?.(preparedWrite(call));
  try {
    return await retried(authorized, {
      rules,
      signal: call.signal,
      waitMsAfter(error) {
        if (!isRepeatable(call, error)) return null;
        // The budget was told so, and knows how long to wait before the next try.
        return context.budget !== null && isRefusedForHaste(error) ? 0 : passingWaitMs(error, rules);
      },
    });
  } catch (error) {
    if (call.signal.aborted && !(error instanceof MirrorError)) throw stopped(call.label);
    throw labelled(error, call.label);
  }
}

/** A refusal for haste was surely not carried out; PUT and DELETE come to the same when they are. */
function isRepeatable({ method }: ClinicCall, error: Error): boolean {
  return method !== 'POST' || isRefusedForHaste(error);
}

function isRefusedForHaste(error: Error): boolean {
  return error instanceof MirrorError && error.status === 429;
}

function preparedWrite({ method = 'GET', url, body, upload }: ClinicCall): PreparedWrite {
  if (upload === undefined) return { method, url, body: body ?? null, file: null };
  const { metadata, file } = upload();
  return { method, url, body: metadata, file };
}

function authorizedSender<Answer extends Pick<HttpResponse, 'status'>>(
  context: ClinicContext,
  call: ClinicCall,
  { ask, whole }: Transport<Answer>,
): () => Promise<Answer> {
  const { authorization } = context;
  const request = (header: string) => {
    call.onRequest?.();
    return ask(requestOf(context, call, header));
  };
  let isRenewed = false;
  return async () => {
    let answer = await request(await authorization.header(call.signal));
    if (answer.status === 401 && !isRenewed) {
      await whole(answer);
      context.log.info({ label: call.label }, 'the access token was refused, renewing it once');
      const renewed = await authorization.renew(call.signal);
      // A renewal that failed in passing is tried again with the call: the same 401 says nothing of a fresh token.
      isRenewed = true;
      answer = await request(renewed);
    }
    if (answer.status >= 200 && answer.status < 300) return answer;
    const fullAnswer = await whole(answer);
    if (call.accepts?.(fullAnswer) === true) return answer;
    throw errorFromAnswer(fullAnswer, call.label, context, call.method === 'POST');
  };
}

function requestOf(context: ClinicContext, call: ClinicCall, authorization: string): HttpRequest {
  const { budget, profile } = context;
  const { limits } = profile;
  return {
    label: call.label,
    method: call.method ?? 'GET',
    url: call.url,
    signal: call.signal,
    timeoutMs: call.timeoutMs ?? limits.timeoutMs,
    maxResponseBytes: call.maxResponseBytes ?? limits.maxAnswerBytes,
    ...(budget === null ? {} : { budget }),
    ...contentOf(call, { accept: 'application/json', authorization, ...freshly(call) }),
  };
}

/** Whoever caches between here and the clinic has to ask it. (`no-cache` would say so too, and have many servers send all again.) */
function freshly({ method = 'GET', ifNoneMatch }: ClinicCall): Record<string, string> {
  if (method !== 'GET') return {};
  return { 'cache-control': 'max-age=0', ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }) };
}

function contentOf({ body, upload }: ClinicCall, headers: Record<string, string>) {
  if (upload !== undefined) {
    const { contentType, lengthBytes, stream } = upload();
    const length = lengthBytes === null ? {} : { 'content-length': String(lengthBytes) };
    return { headers: { ...headers, 'content-type': contentType, ...length }, upload: stream };
  }
  if (body === undefined) return { headers };
  return { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function stopped(label: string): MirrorError {
  return new MirrorError(message('labelled', { label, cause: message('call-stopped') }), {
    actor: 'remote',
    code: 'aborted',
    retry: 'later',
  });
}

/** The HTTP client does not know what a call is for; its errors get the label in front. */
function labelled(error: unknown, label: string): unknown {
  if (!(error instanceof MirrorError) || error.message.startsWith(label)) return error;
  return error.reworded(message('labelled', { label, cause: error.texts.message }));
}

type Address = Pick<ClinicContext, 'baseUrl' | 'profile'>;

/**
 * The address of a path below the version prefix. Every segment is encoded.
 * @throws MirrorError `contract`, code `bad-id`, for a segment that is empty or would climb up the path
 */
export function addressOf(context: Address, segments: readonly string[], parameters: [string, string][] = []): string {
  const path = segments.map((segment) => `/${encodeURIComponent(usable(segment))}`).join('');
  const query = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
  return `${context.baseUrl.replace(/\/+$/, '')}${context.profile.pathPrefix}${path}${query}`;
}

/**
 * The address of a link that the clinic gave for the next page. It must stay on the clinic's own origin, since the token goes there.
 * @throws MirrorError `contract`, code `foreign-link`
 */
export function addressOfLink(context: Address, link: string, currentUrl: string, label: string): string {
  const url = URL.parse(link, currentUrl);
  if (url !== null && url.origin === new URL(context.baseUrl).origin) return url.href;
  throw clinicError('foreign-link', message('clinic.foreign-link', { label }));
}

function usable(segment: string): string {
  const id = asId(segment);
  if (id !== null) return id;
  throw new MirrorError(message('bad-id'), { actor: 'contract', code: 'bad-id', retry: 'never' });
}

/** A PDF to be sent. */
export interface PdfSource {
  fileName: string;
  sizeBytes: number;
  /** Its bytes, from the start; asked for again when the request has to be sent again. */
  open(): AsyncIterable<Uint8Array>;
}

/** A PDF that comes from the clinic. `chunks` is to be read to its end or given up, else its connection stays taken. */
export interface PdfDownload {
  /** Null when the clinic doesn't tell it. */
  sizeBytes: number | null;
  /** @throws MirrorError `remote`, code `file-cut-short`, when fewer or more bytes came than told */
  chunks: AsyncIterable<Uint8Array>;
}

/** Largest PDF that is fetched: the clinic takes 25 MB (specification section 8), and no more than a piece is in memory. */
const LARGEST_PDF_BYTES = 64 * MEBIBYTE;
const PDF_BEGIN = Buffer.from('%PDF-');

/** A PDF on the disk. @throws MirrorError `settings`, code `file-unusable`, when it can't be read */
export async function pdfFile(path: string, fileName: string): Promise<PdfSource> {
  const found = await stat(path).catch(() => null);
  const isReadable =
    found?.isFile() === true &&
    (await access(path, constants.R_OK).then(
      () => true,
      () => false,
    ));
  if (isReadable) return { fileName, sizeBytes: found.size, open: () => createReadStream(path) };
  throw clinicError('file-unusable', message('clinic.file-unusable'));
}

/** @throws MirrorError `contract`, code `not-a-pdf`, for a file that does not begin as PDF files do (ISO 32000-2 section 7.5.2) */
export async function requirePdf(file: PdfSource, label: string): Promise<void> {
  const source = file.open()[Symbol.asyncIterator]();
  const head = await readHead(source);
  await source.return?.();
  if (!startsAsPdf(head)) throw notPdf(label);
}

/**
 * Gets a PDF as a stream; null when there is none (404, 410).
 * @throws MirrorError `contract`, code `not-a-pdf`, when something else came, such as a page of a portal
 */
export async function downloadPdf(
  context: ClinicContext,
  { label, url, signal }: { label: string; url: string; signal: AbortSignal },
): Promise<PdfDownload | null> {
  let isAbsent = false;
  const answer = await openAnswer(context, {
    label,
    url,
    signal,
    timeoutMs: context.profile.limits.fileTimeoutMs,
    maxResponseBytes: Math.max(context.profile.limits.maxAnswerBytes, LARGEST_PDF_BYTES),
    accepts(each) {
      isAbsent = saysAbsent(each, context.profile);
      return isAbsent;
    },
  });
  if (isAbsent) return null;
  const source = answer.body[Symbol.asyncIterator]();
  const head = await readHead(source);
  if (isHtml({ headers: answer.headers, body: head }) || !startsAsPdf(head)) {
    await source.return?.();
    throw notPdf(label);
  }
  const sizeBytes = sizeOf(answer.headers);
  return { sizeBytes, chunks: checked(head, source, sizeBytes, label) };
}

function startsAsPdf(head: Uint8Array): boolean {
  return PDF_BEGIN.equals(head.subarray(0, PDF_BEGIN.length));
}

function notPdf(label: string): MirrorError {
  return new MirrorError(message('not-a-pdf', { label }), { actor: 'contract', code: 'not-a-pdf', retry: 'never' });
}

async function readHead(source: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < PDF_BEGIN.length) {
    const { done, value } = await source.next();
    if (done === true) return head;
    head = Buffer.concat([head, value]);
  }
  return head;
}

async function* checked(
  head: Buffer,
  source: AsyncIterator<Uint8Array>,
  statedBytes: number | null,
  label: string,
): AsyncGenerator<Uint8Array> {
  let size = head.length;
  try {
    yield head;
    for (let next = await source.next(); next.done !== true; next = await source.next()) {
      size += next.value.length;
      yield next.value;
    }
  } finally {
    await source.return?.();
  }
  if (statedBytes === null || statedBytes === size) return;
  throw clinicError('file-cut-short', message('clinic.file-cut-short', { label }));
}

/** The length that was told; that of a coded body is not the file's. */
function sizeOf(headers: Headers): number | null {
  const stated = headers.get('content-length');
  return stated === null || headers.has('content-encoding') ? null : Number(stated);
}
