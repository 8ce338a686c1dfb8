import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isHtml } from '../../core/http/answer.ts';
import {
  type Budget,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  MEBIBYTE,
} from '../../core/http/client.ts';
import type { AnswerHeaders } from '../../core/http/headers.ts';
import { passingWaitMs, retried } from '../../core/http/retry.ts';
import type { Logger } from '../../core/log/logger.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { pathSegment } from '../../core/model/path-segment.ts';
import type { Clock } from '../../core/model/time.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import type { ClinicProfile, CompiledProfile } from '../schema/profile.ts';
import type { ResourceName } from '../schema/resources.ts';
import { clinicError, errorFromAnswer, saysAbsent } from './errors.ts';
import type { PagingMemory } from './paging.ts';
import { asId } from './rows.ts';

/** Authorization header of the clinic connection. Both functions throw an `authorization` MirrorError if an administrator must act. */
interface ClinicAuthorization {
  /** Returns the header's value, refreshed before it expires. */
  header(signal: AbortSignal): Promise<string>;
  /** Forces one refresh after a 401 and returns the new value. */
  renew(signal: AbortSignal): Promise<string>;
}

/** A write before it is sent, without the token. */
export interface PreparedWrite {
  method: string;
  /** Complete URL. */
  url: string;
  /** Sent as JSON; for an upload, its metadata. Null for no body. */
  body: object | null;
  file: { name: string; sizeBytes: number } | null;
}

/** Dependencies of the clinic client. */
export interface ClinicContext {
  profile: ClinicProfile;
  /** Path of the profile in the configuration directory, for messages about refused calls. */
  profileFile: string;
  /** Compiled parts of the profile, shared by all users of the profile. */
  compiled: CompiledProfile;
  /** URL of the API without the version, such as `https://api.example.org`. */
  baseUrl: string;
  http: HttpClient;
  /** Request budget of the OAuth client, over all users and tenants; null for none. */
  budget: Budget | null;
  authorization: ClinicAuthorization;
  /** Observed paging of each list, for the life of the process. */
  pagings: Map<ResourceName, PagingMemory>;
  /** Receives each write before it is sent; an error prevents the write. */
  beforeWrite?(write: PreparedWrite): void;
  clock: Clock;
  log: Logger;
}

/** One call of the clinic API. */
export interface ClinicCall {
  /** Constant name such as `clinic.appointments.list`, for messages, metrics and logs. */
  label: string;
  /** Complete URL without the token, built by {@link addressOf}. */
  url: string;
  /** GET when absent. */
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: JsonObject | readonly JsonObject[];
  /** Replaces `body`: creates the content again for every request. */
  upload?: () => Upload;
  /** Requests no content if the ETag is current: the answer is then 304, which `accepts` must allow. */
  ifNoneMatch?: string;
  /** Time limit for the complete answer; the profile's `timeoutMs` if absent. */
  timeoutMs?: number;
  /** Maximum answer size; the profile's `maxAnswerBytes` if absent. */
  maxResponseBytes?: number;
  signal: AbortSignal;
  /** Receives every sent request. */
  onRequest?: () => void;
  /** Answers outside 2xx that the caller handles; their body has been read. */
  accepts?: (answer: HttpResponse) => boolean;
}

/** A body that is streamed, never completely in memory. */
export interface Upload {
  contentType: string;
  /** Null if unknown before the end. */
  lengthBytes: number | null;
  stream: AsyncIterable<Uint8Array>;
  /** Description of the content, for checks before the upload. */
  metadata: JsonObject;
  file: { name: string; sizeBytes: number };
}

/**
 * Sends a call with the connection's token. A 401 causes one refresh and one repetition. After 429, 5xx and network failures, the call is
 * retried while the delay is short; a longer delay is thrown for a later job. A POST that may have been completed is never repeated here:
 * its caller first looks up the record.
 * @throws MirrorError of `errors.ts`, of the HTTP client and of the connection
 */
export function send(context: ClinicContext, call: ClinicCall): Promise<HttpResponse> {
  return deliver(context, call, { ask: (request) => context.http.send(request), whole: async (answer) => answer });
}

/**
 * Sends a call with a streamed answer.
 * @throws as {@link send}; the body may throw errors of the HTTP client
 */
function openAnswer(context: ClinicContext, call: ClinicCall): Promise<HttpStream> {
  return deliver(context, call, { ask: (request) => context.http.open(request), whole: (answer) => answer.whole() });
}

/** Sends requests, and reads a complete answer to find an error's cause. */
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
        // The budget received the refusal, and determines the delay.
        return context.budget !== null && isRefusedForHaste(error) ? 0 : passingWaitMs(error, rules);
      },
    });
  } catch (error) {
    if (call.signal.aborted && !(error instanceof MirrorError)) throw stopped(call.label);
    throw labelled(error, call.label);
  }
}

/** A rate-limited call was certainly not completed; PUT and DELETE are idempotent. */
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
      context.log.info({ label: call.label }, 'access token was refused: refreshing the token once');
      const renewed = await authorization.renew(call.signal);
      // A temporary failure of the refresh is retried with the call: the 401 says nothing about a new token.
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

/**
 * A cache between here and the clinic must revalidate. (`no-cache` would have this effect too, but many servers then send the complete
 * answer.)
 */
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

/** Prefixes the label, which the HTTP client does not know. */
function labelled(error: unknown, label: string): unknown {
  if (!(error instanceof MirrorError) || error.message.startsWith(label)) return error;
  return error.reworded(message('labelled', { label, cause: error.texts.message }));
}

type Address = Pick<ClinicContext, 'baseUrl' | 'profile'>;

/**
 * Builds the URL of a path after the version prefix, with every segment encoded.
 * @throws MirrorError `contract`, code `bad-id`, for an empty segment or one that would leave the path
 */
export function addressOf(context: Address, segments: readonly string[], parameters: [string, string][] = []): string {
  const path = segments.map((segment) => `/${pathSegment(asId(segment) ?? '')}`).join('');
  const query = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
  return `${context.baseUrl.replace(/\/+$/, '')}${context.profile.pathPrefix}${path}${query}`;
}

/**
 * Returns the URL of the clinic's link to the next page. The URL must have the clinic's origin, since the token is sent there.
 * @throws MirrorError `contract`, code `foreign-link`
 */
export function addressOfLink(context: Address, link: string, currentUrl: string, label: string): string {
  const url = URL.parse(link, currentUrl);
  if (url !== null && url.origin === new URL(context.baseUrl).origin) return url.href;
  throw clinicError('foreign-link', message('clinic.foreign-link', { label }));
}

/** A PDF to be uploaded. */
export interface PdfSource {
  fileName: string;
  sizeBytes: number;
  /** Returns the bytes from the start; called again for each repetition of the request. */
  open(): AsyncIterable<Uint8Array>;
}

/** A PDF from the clinic. `chunks` must be read to the end or closed; otherwise its connection remains occupied. */
export interface PdfDownload {
  /** Null if the clinic does not report the size. */
  sizeBytes: number | null;
  /**
   * The file's bytes.
   * @throws MirrorError `remote`, code `file-cut-short`, if the number of bytes differs from the reported size
   */
  chunks: AsyncIterable<Uint8Array>;
}

/** Maximum size of a downloaded PDF: the clinic accepts 25 MB (specification section 8), and only one chunk is in memory. */
const LARGEST_PDF_BYTES = 64 * MEBIBYTE;
const PDF_BEGIN = Buffer.from('%PDF-');

/**
 * Opens a PDF on disk.
 * @throws MirrorError `settings`, code `file-unusable`, if it is unreadable
 */
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

/**
 * Checks the beginning of a PDF file (ISO 32000-2 section 7.5.2).
 * @throws MirrorError `contract`, code `not-a-pdf`, for other files
 */
export async function requirePdf(file: PdfSource, label: string): Promise<void> {
  const source = file.open()[Symbol.asyncIterator]();
  const head = await readHead(source);
  await source.return?.();
  if (!startsAsPdf(head)) throw notPdf(label);
}

/**
 * Downloads a PDF as a stream; null if it does not exist (404, 410).
 * @throws MirrorError `contract`, code `not-a-pdf`, for other content, such as a portal's page
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

/** Returns the reported length, except for an encoded body, whose length is not the file's. */
function sizeOf(headers: AnswerHeaders): number | null {
  const stated = headers.get('content-length');
  return stated === null || headers.has('content-encoding') ? null : Number(stated);
}
