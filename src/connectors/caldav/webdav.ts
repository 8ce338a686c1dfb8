import { setImmediate } from 'node:timers/promises';
import { getDomain } from 'tldts';
import type { HttpResponse } from '../../http/client.ts';
import { MirrorError } from '../../model/errors.ts';
import type { ConnectorContext } from '../connector.ts';
import { errors } from './errors.ts';
import { LARGE_XML_LENGTH, LARGEST_ANSWER_BYTES, MAX_REDIRECTS } from './limits.ts';
import { child, childrenOf, DAV, multistatusOf, parseXml, type XmlElement } from './xml.ts';

/** With the list's private part: suffixes below which a company lets others have names. */
const WITH_HOSTERS = { allowPrivateDomains: true };

/**
 * Whether a request that was meant for one address may be sent, with its login, to another: the same host, or another
 * host of the same registered domain over https; never from https to http. Below a public suffix, such as that of a hoster or of dynamic
 * names, each name is somebody else's.
 * @see https://publicsuffix.org/
 */
export function isSameSite(from: URL, to: URL): boolean {
  if (to.protocol !== 'https:' && to.protocol !== from.protocol) return false;
  if (to.hostname === from.hostname) return to.port === from.port || to.protocol !== from.protocol;
  const domain = getDomain(from.hostname, WITH_HOSTERS);
  return to.protocol === 'https:' && domain !== null && domain === getDomain(to.hostname, WITH_HOSTERS);
}

/**
 * A DAV href as an address: relative or absolute. One that names a host of another site (a proxy that shows its inner
 * name) is taken as a path on the host that was asked.
 */
export function resolveHref(asked: URL, href: string): URL {
  const target = URL.parse(href.trim(), asked.href) ?? asked;
  if (isSameSite(asked, target)) return target;
  const onHost = new URL(asked);
  onHost.search = '';
  // Not by resolving: a path that begins with two slashes would name a host.
  onHost.pathname = target.pathname;
  return onHost;
}

/** The path for comparison: one spelling for `%40` and `@`, upper and lower case escapes, doubled and closing slashes. */
export function comparablePath(url: URL): string {
  const path = url.pathname.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '');
  try {
    return decodeURIComponent(path).normalize();
  } catch {
    return path;
  }
}

/** The same address with a slash at its end, as collections have. */
export function asCollection(url: URL): URL {
  const copy = new URL(url);
  copy.hash = '';
  copy.search = '';
  if (!copy.pathname.endsWith('/')) copy.pathname += '/';
  return copy;
}

/** The last part of a path, escaped as it stands; empty for a collection. */
export function nameOf(url: URL): string {
  return url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
}

/** Whether an address is that of an object directly in a collection. */
export function isMember(collection: URL, url: URL): boolean {
  return nameOf(url) !== '' && comparablePath(new URL('.', url)) === comparablePath(collection);
}

/** One DAV request. */
export interface DavRequest {
  method: 'PROPFIND' | 'REPORT' | 'GET' | 'PUT' | 'DELETE' | 'MKCALENDAR';
  url: URL;
  headers?: Record<string, string>;
  body?: string;
}

/** An answer, after redirects; `url` is where it came from. */
export interface DavResponse {
  url: URL;
  status: number;
  headers: Headers;
  body: string;
}

/** One response within a 207. */
export interface DavMember {
  /** On the site that was asked. */
  url: URL;
  /** Status of the member as a whole; null when it only has properties. */
  status: number | null;
  /** Properties that were found, by `{namespace}name`. */
  properties: ReadonlyMap<string, XmlElement>;
}

/** A 207, read. */
export interface Multistatus {
  url: URL;
  members: DavMember[];
  /** The token that a sync-collection report ends with. */
  syncToken: string | null;
  /**
   * The server left members out: a 507 for the collection itself.
   * @see RFC 6578 section 3.6
   * @see RFC 4791 section 7.8
   */
  truncated: boolean;
}

/** Members of a 207 that are read without a break: a millisecond of work. */
const MEMBERS_AT_ONCE = 256;

const WRITES = new Set<string>(['PUT', 'DELETE', 'MKCALENDAR']);

/** Sends DAV requests of one target with its login, and never off its site. */
export class DavSession {
  readonly #context: Pick<ConnectorContext<unknown>, 'authorizer' | 'http'>;
  readonly #base: URL;

  constructor(context: Pick<ConnectorContext<unknown>, 'authorizer' | 'http'>, base: URL) {
    this.#context = context;
    this.#base = base;
  }

  /**
   * Sends a request and follows redirects with method, body and login unchanged, within the site. Statuses about the
   * resource are answers.
   * @throws MirrorError what concerns the whole target: login refused, throttled, no CalDAV server at the other end
   */
  async send(request: DavRequest, signal: AbortSignal): Promise<DavResponse> {
    let url = request.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      if (!isSameSite(this.#base, url)) throw errors.make('redirected-elsewhere');
      const response = await this.#sendAuthorized(request, url, signal);
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return judged(request, url, response);
      url = URL.parse(location, url.href) ?? url;
    }
    throw errors.make('redirected-elsewhere');
  }

  /**
   * Sends a PROPFIND or REPORT.
   * @returns the 207, or the answer when it has another status
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
    // No third try: servers slow down or lock logins that fail often.
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

/** Whether `ask` brought a 207. */
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
  const body = response.body.toString('utf8');
  if (status === 200 && /^\s*<(!doctype html|html)/i.test(body)) {
    throw errors.make('not-a-caldav-answer', { status, ambiguous });
  }
  return { url, status, headers, body };
}

/**
 * The answer to a write, with the status of the object where a 207 tells it: of a delete, and Xandikos refuses a
 * PUT so as well. Of several the worst counts. Some servers give the body of a 207 with 200; one that tells of nothing proves nothing.
 * @see RFC 4918 section 9.6.1
 */
export async function withOwnStatus(answer: DavResponse): Promise<DavResponse> {
  const { status, body } = answer;
  if (status !== 207 && !(status === 200 && /<([a-z]+:)?multistatus[\s>]/i.test(body))) return answer;
  const { members } = await readMultistatus(answer);
  const worst = members.reduce((status, member) => Math.max(status, member.status ?? 0), 0);
  if (worst === 0) return { ...answer, status: 207 };
  return { ...answer, status: worst < 300 ? 204 : worst };
}

/**
 * Reads a 207. Others have their turn meanwhile: a calendar may hold tens of thousands of objects.
 * @throws MirrorError `contract`, codes `bad-xml` and `answer-too-large`
 * @see RFC 4918 section 13
 */
async function readMultistatus(answer: DavResponse): Promise<Multistatus> {
  const members: DavMember[] = [];
  let syncToken: string | null = null;
  for await (const part of multistatusOf(answer.body, answer.url.host)) {
    syncToken ??= part.syncToken;
    for (const { hrefs, status, found } of part.responses) {
      const properties = new Map(found.map((property) => [property.name, property]));
      for (const href of hrefs) {
        members.push({ url: resolveHref(answer.url, href), status, properties });
        if (members.length % MEMBERS_AT_ONCE === 0) await setImmediate();
      }
    }
  }
  const collectionPath = comparablePath(answer.url);
  return {
    url: answer.url,
    members,
    syncToken,
    truncated: members.some(({ status, url }) => status === 507 && comparablePath(url) === collectionPath),
  };
}

/**
 * An ETag that If-Match can use: strong, and quoted as RFC 9110 section 8.8.3 wants (some servers leave the quotes out).
 * Null for a weak one, which a server must never find equal.
 */
export function strongTag(text: string | null | undefined): string | null {
  const tag = text?.trim() ?? '';
  if (tag === '' || /^W\//i.test(tag)) return null;
  return tag.startsWith('"') ? tag : `"${tag}"`;
}

/** What the body of a refusal says, as far as it decides something; texts are matched and never passed on. */
export interface DavProblem {
  /**
   * Names of unmet conditions without namespace, such as `no-uid-conflict`.
   * @see RFC 4918 section 16
   * @see RFC 4791 section 5.3.2.1
   */
  conditions: readonly string[];
  /** The object that stands in the way, when the server names it. */
  href: string | null;
  /** Class and text of the exception that servers built on sabre/dav add. */
  detail: string;
}

const SABRE = '{http://sabredav.org/ns}';

/**
 * Conditions that say that a UID is taken: in this calendar, or in any of the account, as Cyrus (Fastmail),
 * Open-Xchange and Apple's server have it, Cyrus for events without guests too.
 * @see https://github.com/cyrusimap/cyrus-imapd/pull/2859
 * @see RFC 6638 section 3.2.4.1
 */
const UID_TAKEN = ['no-uid-conflict', 'unique-scheduling-object-resource'];

/**
 * Conditions that concern the account's room.
 * @see RFC 4331 section 6
 */
const NO_ROOM = ['quota-not-exceeded', 'sufficient-disk-space'];

/** Statuses that a write gets also where the calendar is gone, or may not be written. */
const OF_AN_ABSENT_CALENDAR = [403, 404, 405, 409, 410];

const IN_TRASH_BIN = /into the trashbin/i;

/** What stands among the conditions and is none: words for a person, and the header whose condition does not hold, which DAViCal names. */
const NO_CONDITION = /}(responsedescription|if-(none-)?match)$/;

/** Reads the body of a refusal, which may stand within a 207; anything unreadable, or as long as no refusal is, is a problem without details. */
export function readProblem(body: string): DavProblem {
  const error = errorIn(tryParse(body));
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
  if (body.length > LARGE_XML_LENGTH || !body.trimStart().startsWith('<')) return null;
  try {
    return parseXml(body);
  } catch {
    return null;
  }
}

/**
 * Whether a create was refused because its UID is taken: by a condition, or in the words of Nextcloud, whose trash bin keeps UIDs behind
 * a 400 or a database error.
 * @see https://github.com/nextcloud/server/issues/30096
 */
export function isUidConflict(status: number, { conditions, detail }: DavProblem): boolean {
  if (conditions.some((condition) => UID_TAKEN.includes(condition))) return true;
  if (status === 400) return /with uid already exists/i.test(detail);
  return status >= 500 && /UniqueConstraintViolation/i.test(detail);
}

/** Whether a refused write may be about the calendar rather than the object: it gives no reason. */
export function mayConcernCalendar(status: number, { conditions, detail }: DavProblem): boolean {
  return OF_AN_ABSENT_CALENDAR.includes(status) && conditions.length === 0 && !IN_TRASH_BIN.test(detail);
}

/** A refused write of one object, once 404 and 412 are dealt with. */
export function refusal(status: number, { conditions, detail }: DavProblem): MirrorError {
  if (conditions.includes('max-resource-size') || status === 413) return errors.make('item-too-large', { status });
  if (status === 403 && IN_TRASH_BIN.test(detail)) return errors.make('trash-bin-keeps-name', { status });
  if (conditions.some((condition) => NO_ROOM.includes(condition))) return errors.make('storage-full', { status });
  if (conditions.includes('need-privileges')) return errors.make('calendar-read-only', { status });
  // A reason that is not known here stops one object, never all of them.
  if (conditions.length > 0 && status < 500 && status !== 423) return errors.make('item-refused', { status });
  return errors.make(errors.kindOf({ status, body: undefined }), { status });
}

/** The error of a calendar that is not there. */
export function calendarGone({ isOwn }: { isOwn: boolean }, status: number): MirrorError {
  return errors.make(isOwn ? 'own-calendar-gone' : 'calendar-gone', { status });
}

/** A refused question about the calendar. */
export function readRefused(status: number): MirrorError {
  return status === 403 ? errors.make('calendar-forbidden', { status }) : unexpectedStatus(status);
}

/** Whether a question failed by what was asked for, and not by the calendar, the login or the connection. */
export function isUnreadable(error: unknown): error is MirrorError {
  return error instanceof MirrorError && error.code === 'unexpected-status';
}

/** An answer that the protocol does not foresee here. */
export function unexpectedStatus(status: number): MirrorError {
  return errors.make(status >= 500 ? 'unexpected-server-status' : 'unexpected-status', { status });
}
