import { setImmediate } from 'node:timers/promises';
import type { HttpResponse } from '../../http/client.ts';
import type { ConnectorContext } from '../connector.ts';
import { comparablePath, isSameSite, resolveHref } from './addresses.ts';
import { errors } from './errors.ts';
import { LARGEST_ANSWER_BYTES, MAX_REDIRECTS } from './limits.ts';
import { multistatusOf } from './multistatus.ts';
import type { XmlElement } from './xml.ts';

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
