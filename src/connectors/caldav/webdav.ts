import { getDomain } from 'tldts';
import type { HttpResponse } from '../../core/http/client.ts';
import type { AnswerHeaders } from '../../core/http/headers.ts';
import { answerTooLarge } from '../../core/http/transport.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { storableTag } from '../../core/model/stored-limits.ts';
import { pause } from '../../core/pieces/in-pieces.ts';
import { message } from '../../messages/message.ts';
import type { ConnectorContext } from '../connector.ts';
import { type Body, bytesIn, child, childrenOf, parseXml, type XmlElement } from '../xml.ts';
import { errors } from './errors.ts';
import {
  LARGEST_ANSWER_BYTES,
  LONGEST_PROBLEM,
  LONGEST_URL,
  MAX_REDIRECTS,
  MOST_MEMBERS,
  MOST_URL_CHARACTERS,
} from './limits.ts';
import { multistatusOf } from './multistatus.ts';
import { DAV, SABRE, VOCABULARY } from './xml-names.ts';

/** Includes the private part of the list: suffixes under which a company provides names to customers. */
const WITH_HOSTERS = { allowPrivateDomains: true };

/**
 * Decides whether credentials for one URL may be sent to a second URL: the host is equal, or both hosts share a registered domain and the
 * second URL uses https. A request never changes from https to http. Under a public suffix, such as a hoster's or a dynamic DNS domain,
 * each name has a different owner.
 * @see https://publicsuffix.org/
 */
export function isSameSite(from: URL, to: URL): boolean {
  if (to.protocol !== 'https:' && to.protocol !== from.protocol) return false;
  if (to.hostname === from.hostname) return to.port === from.port || to.protocol !== from.protocol;
  const domain = getDomain(from.hostname, WITH_HOSTERS);
  return to.protocol === 'https:' && domain !== null && domain === getDomain(to.hostname, WITH_HOSTERS);
}

/**
 * Resolves a DAV href, relative or absolute. If the href has a host on a different site (a proxy that exposes an internal name), only its
 * path is used, on the requested host. Returns null if the href or its URL has more than 2,048 characters.
 */
export function resolveHref(asked: URL, href: string): URL | null {
  const url = href.length > LONGEST_URL ? null : onSite(asked, URL.parse(href.trim(), asked.href) ?? asked);
  return url === null || url.href.length > LONGEST_URL ? null : url;
}

function onSite(asked: URL, target: URL): URL {
  if (isSameSite(asked, target)) return target;
  const onHost = new URL(asked);
  onHost.search = '';
  // The path is not resolved as a URL, because a path with two leading slashes would change the host.
  onHost.pathname = target.pathname;
  return onHost;
}

/** Returns a path for comparison, with uniform spelling for `%40` and `@`, case of escapes, and doubled or trailing slashes. */
export function comparablePath({ pathname }: { pathname: string }): string {
  const path = pathname.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '');
  try {
    return path.includes('%') ? decodeURIComponent(path).normalize() : path;
  } catch {
    return path;
  }
}

/** Adds the trailing slash of a collection URL. */
export function asCollection(url: URL): URL {
  const copy = new URL(url);
  copy.hash = '';
  copy.search = '';
  if (!copy.pathname.endsWith('/')) copy.pathname += '/';
  return copy;
}

/** Returns the last segment of a path, still escaped; empty for a collection. */
export function nameOf(url: URL): string {
  return url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
}

/** Checks whether a URL is a direct member of a collection. */
export function isMember(collection: URL, url: URL): boolean {
  const name = nameOf(url);
  const pathname = url.pathname.slice(0, url.pathname.length - name.length);
  return (
    name !== '' && (pathname === collection.pathname || comparablePath({ pathname }) === comparablePath(collection))
  );
}

export interface DavRequest {
  method: 'PROPFIND' | 'REPORT' | 'GET' | 'PUT' | 'DELETE' | 'MKCALENDAR';
  url: URL;
  headers?: Record<string, string>;
  body?: string;
}

/** Response after redirects; `url` is its source. */
export interface DavResponse {
  url: URL;
  status: number;
  headers: AnswerHeaders;
  body: Body;
}

/** One response within a 207. */
export interface DavMember {
  /** URL on the requested site. */
  url: URL;
  /** Status of the whole member; null if the member has only properties. */
  status: number | null;
  /** Found properties, by `{namespace}name`. */
  properties: ReadonlyMap<string, XmlElement>;
}

/** Parsed 207 response. */
export interface Multistatus {
  url: URL;
  members: DavMember[];
  /** Token at the end of a sync-collection report. */
  syncToken: string | null;
  /**
   * The server omitted members: a 507 for the collection.
   * @see RFC 6578 section 3.6
   * @see RFC 4791 section 7.8
   */
  truncated: boolean;
}

/** Members of a 207 that are processed without a break, which takes about a millisecond. */
const MEMBERS_AT_ONCE = 256;

const WRITES = new Set<string>(['PUT', 'DELETE', 'MKCALENDAR']);

/** Sends DAV requests of one target with its credentials, and only to its site. */
export class DavSession {
  readonly #context: Pick<ConnectorContext<unknown>, 'authorizer' | 'http'>;
  readonly #base: URL;

  constructor(context: Pick<ConnectorContext<unknown>, 'authorizer' | 'http'>, base: URL) {
    this.#context = context;
    this.#base = base;
  }

  /**
   * Sends a request and follows redirects within the site, with unchanged method, body and credentials. Statuses about the resource are
   * returned.
   * @throws MirrorError for failures of the whole target: refused credentials, throttling, or a server without CalDAV
   */
  async send(request: DavRequest, signal: AbortSignal): Promise<DavResponse> {
    let url = request.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      if (!isSameSite(this.#base, url)) throw errors.make('redirected-elsewhere');
      const response = await this.#sendAuthorized(request, url, signal);
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return judged(request, url, response);
      url = URL.parse(location, url.href) ?? url;
      if (url.href.length > LONGEST_URL) throw tooLongUrl();
    }
    throw errors.make('redirected-elsewhere');
  }

  /**
   * Sends a PROPFIND or REPORT.
   * @returns the parsed 207, or a response with a different status
   */
  async ask(request: DavRequest, signal: AbortSignal): Promise<Multistatus | DavResponse> {
    const answer = await this.send(withXml(request), signal);
    return answer.status === 207 ? await readMultistatus(answer) : answer;
  }

  async #sendAuthorized(request: DavRequest, url: URL, signal: AbortSignal): Promise<HttpResponse> {
    const { authorizer } = this.#context;
    const first = await this.#sendOnce(request, url, await authorizer.header(signal), signal);
    if (first.status !== 401) return first;
    const second = await this.#sendOnce(request, url, await authorizer.renew(signal), signal);
    if (second.status !== 401) return second;
    // No third attempt: servers delay or lock accounts after repeated failures.
    throw errors.make('login-refused', { status: 401 });
  }

  async #sendOnce(request: DavRequest, url: URL, authorization: string, signal: AbortSignal): Promise<HttpResponse> {
    return await this.#context.http.send({
      label: `caldav.${request.method.toLowerCase()}`,
      method: request.method,
      url: url.href,
      headers: { ...request.headers, authorization },
      maxResponseBytes: LARGEST_ANSWER_BYTES,
      signal,
      ...(request.body === undefined ? {} : { body: request.body }),
    });
  }
}

function tooLongUrl(): MirrorError {
  return answerTooLarge(message('caldav.too-long-url', { count: LONGEST_URL }));
}

/** Checks whether `ask` returned a 207. */
export function isMultistatus(answer: Multistatus | DavResponse): answer is Multistatus {
  return 'members' in answer;
}

function withXml(request: DavRequest): DavRequest {
  return { ...request, headers: { 'content-type': 'application/xml; charset=utf-8', ...request.headers } };
}

function judged(request: DavRequest, url: URL, response: HttpResponse): DavResponse {
  const { status, headers, retryAfterMs } = response;
  const ambiguous = WRITES.has(request.method);
  if (status === 429) throw errors.make('rate-limited', { status, retryAfterMs });
  if (status >= 502 && status <= 504) throw errors.make('server-unavailable', { status, retryAfterMs, ambiguous });
  const body = [...(response.parts ?? [response.body])];
  if (status === 200 && /^\s*<(!doctype html|html)/i.test(startOf(body))) {
    throw errors.make('not-a-caldav-answer', { status, ambiguous });
  }
  return { url, status, headers, body };
}

/** Returns the part of a body that shows its kind. */
function startOf([first]: Body): string {
  return Buffer.from(first?.subarray(0, LONGEST_URL) ?? []).toString();
}

/**
 * Returns the response to a write, with the object's status if the response is a 207. Servers send 207 for a deletion, and Xandikos sends
 * it for a refused PUT. Of several statuses, the worst applies. Some servers send the body of a 207 with 200; an empty one proves nothing.
 * @see RFC 4918 section 9.6.1
 */
export async function withOwnStatus(answer: DavResponse): Promise<DavResponse> {
  const { status, body } = answer;
  if (status !== 207 && !(status === 200 && /<([a-z]+:)?multistatus[\s>]/i.test(startOf(body)))) return answer;
  const { members } = await readMultistatus(answer);
  const worst = members.reduce((status, member) => Math.max(status, member.status ?? 0), 0);
  if (worst === 0) return { ...answer, status: 207 };
  return { ...answer, status: worst < 300 ? 204 : worst };
}

/**
 * Parses a 207. Other work can run in between, since a calendar may contain tens of thousands of objects. A member whose URL is too long is
 * left out, as if the server had omitted it.
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 * @see RFC 4918 section 13
 */
async function readMultistatus({ url: asked, body }: DavResponse): Promise<Multistatus> {
  const answer: Multistatus = { url: asked, members: [], syncToken: null, truncated: false };
  const collectionPath = comparablePath(asked);
  let [read, characters] = [0, 0];
  for (const { syncToken, responses } of multistatusOf(body)) {
    answer.syncToken ??= syncToken;
    for (const { hrefs, status, found } of responses) {
      const properties = new Map(found.map((property) => [property.name, property]));
      for (const href of hrefs) {
        read += 1;
        if (read % MEMBERS_AT_ONCE === 0) await pause();
        const url = resolveHref(asked, href);
        if (url === null) continue;
        characters += url.href.length;
        if (answer.members.length >= MOST_MEMBERS || characters > MOST_URL_CHARACTERS)
          throw answerTooLarge(message('caldav.too-many-members', { count: MOST_MEMBERS }));
        answer.members.push({ url, status, properties });
        answer.truncated ||= status === 507 && comparablePath(url) === collectionPath;
      }
    }
    await pause();
  }
  return answer;
}

/**
 * Returns an ETag for If-Match: strong, with the quotes that RFC 9110 section 8.8.3 requires (some servers omit the quotes). Returns null
 * for a weak ETag, which never matches in If-Match, and for one that is too long.
 */
export function strongTag(text: string | null | undefined): string | null {
  const tag = text?.trim() ?? '';
  if (tag === '' || /^W\//i.test(tag)) return null;
  return storableTag(tag.startsWith('"') ? tag : `"${tag}"`);
}

/** Decisive content of a refusal's body. Texts are only matched, never passed on. */
export interface DavProblem {
  /**
   * Names of unmet conditions without namespace, such as `no-uid-conflict`.
   * @see RFC 4918 section 16
   * @see RFC 4791 section 5.3.2.1
   */
  conditions: readonly string[];
  /** Conflicting object, if the server reports its href. */
  href: string | null;
  /** Class and text of the exception from servers built on sabre/dav. */
  detail: string;
}

/**
 * Conditions for a UID in use: in this calendar, or in the whole account with Cyrus (Fastmail), Open-Xchange and Apple's server. Cyrus also
 * reports events without guests.
 * @see https://github.com/cyrusimap/cyrus-imapd/pull/2859
 * @see RFC 6638 section 3.2.4.1
 */
const UID_TAKEN = ['no-uid-conflict', 'unique-scheduling-object-resource'];

/**
 * Conditions for an exceeded quota of the account.
 * @see RFC 4331 section 6
 */
const NO_ROOM = ['quota-not-exceeded', 'sufficient-disk-space'];

/** Statuses of a refused write that can also mean an absent or read-only calendar. */
const OF_AN_ABSENT_CALENDAR = [403, 404, 405, 409, 410];

const IN_TRASH_BIN = /into the trashbin/i;

/**
 * Elements next to the conditions that are not conditions: a text for users, and the header with the failed condition, which DAViCal
 * reports.
 */
const NO_CONDITION = /}(responsedescription|if-(none-)?match)$/;

/** Parses the body of a refusal, also within a 207. An unreadable or oversized body results in a problem without details. */
export function readProblem(body: Body): DavProblem {
  const error = errorIn(bytesIn(body) > LONGEST_PROBLEM ? null : tryParse(Buffer.concat(body).toString()));
  if (error === undefined) return { conditions: [], href: null, detail: '' };
  const conditions = error.children.filter(({ name }) => !name.startsWith(SABRE) && !NO_CONDITION.test(name));
  return {
    conditions: conditions.map(({ name }) => name.slice(name.indexOf('}') + 1)),
    href: conditions.flatMap((condition) => childrenOf(condition, `${DAV}href`))[0]?.text.trim() ?? null,
    detail: `${child(error, `${SABRE}exception`)?.text ?? ''} ${child(error, `${SABRE}message`)?.text ?? ''}`,
  };
}

function errorIn(root: XmlElement | null): XmlElement | undefined {
  if (root?.name === `${DAV}error`) return root;
  const within = childrenOf(root ?? undefined, `${DAV}response`).map((response) => child(response, `${DAV}error`));
  return within.find((error) => error !== undefined);
}

function tryParse(body: string): XmlElement | null {
  if (!body.trimStart().startsWith('<')) return null;
  try {
    return parseXml(body, VOCABULARY);
  } catch {
    return null;
  }
}

/**
 * Checks whether the server refused a create because its UID is in use: by a condition, or by Nextcloud's texts. Nextcloud's trash bin
 * keeps UIDs and causes a 400 or a database error.
 * @see https://github.com/nextcloud/server/issues/30096
 */
export function isUidConflict(status: number, { conditions, detail }: DavProblem): boolean {
  if (conditions.some((condition) => UID_TAKEN.includes(condition))) return true;
  if (status === 400) return /with uid already exists/i.test(detail);
  return status >= 500 && /UniqueConstraintViolation/i.test(detail);
}

/** Checks whether a refused write without a reason may concern the calendar rather than the object. */
export function mayConcernCalendar(status: number, { conditions, detail }: DavProblem): boolean {
  return OF_AN_ABSENT_CALENDAR.includes(status) && conditions.length === 0 && !IN_TRASH_BIN.test(detail);
}

/** Returns the error of one refused write, except 404 and 412. */
export function refusal(status: number, { conditions, detail }: DavProblem): MirrorError {
  if (conditions.includes('max-resource-size') || status === 413) return errors.make('record-too-large', { status });
  if (status === 403 && IN_TRASH_BIN.test(detail)) return errors.make('trash-bin-keeps-name', { status });
  if (conditions.some((condition) => NO_ROOM.includes(condition))) return errors.make('storage-full', { status });
  if (conditions.includes('need-privileges')) return errors.make('calendar-read-only', { status });
  // An unknown reason affects only one object, never the whole target.
  if (conditions.length > 0 && status < 500 && status !== 423) return errors.make('record-refused', { status });
  return errors.make(errors.kindOf({ status, body: undefined }), { status });
}

/** Returns the error of an absent calendar. */
export function calendarGone({ isOwn }: { isOwn: boolean }, status: number): MirrorError {
  return errors.make(isOwn ? 'own-calendar-gone' : 'calendar-gone', { status });
}

/** Returns the error of a refused request for the calendar's content. */
export function readRefused(status: number): MirrorError {
  return status === 403 ? errors.make('calendar-forbidden', { status }) : unexpectedStatus(status);
}

/** Checks whether the requested data caused a failure, and not the calendar, the credentials or the network. */
export function isUnreadable(error: unknown): error is MirrorError {
  return error instanceof MirrorError && error.code === 'unexpected-status';
}

/** Returns the error of a response that the protocol does not allow here. */
export function unexpectedStatus(status: number): MirrorError {
  return errors.make(status >= 500 ? 'unexpected-server-status' : 'unexpected-status', { status });
}
