import { isHtml } from '../../core/http/answer.ts';
import type { HttpResponse } from '../../core/http/client.ts';
import type { AnswerHeaders } from '../../core/http/headers.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import type { Instant } from '../../core/model/time.ts';
import type { ConnectorContext } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { Mutex } from '../shared-state.ts';
import { jsonOf, readEach, type WireResponse } from '../wire.ts';
import { errors, wholeRefusalOf } from './errors.ts';
import { ADDRESS_RENEWAL_MS, API_LIMIT_PAUSE_MS, LARGEST_ANSWER_BYTES, USED_UP_SHARE } from './limits.ts';
import { compositeSchema, partSchema, type SalesforceSettings } from './schemas.ts';

/** Single call to the org. The path starts at `/services` and includes the query. */
export interface OrgCall {
  label: string;
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  /** JSON, or XML that contains the session id, which the SOAP API accepts only in the body. */
  body?: object | ((session: string) => string);
}

/** Part of a composite, with a path below the version. A part inherits only the authorization and content headers of the composite. */
export interface Part {
  method: 'GET' | 'PATCH' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  body?: object;
}

/**
 * Access to the connection's org. `send`, `sendXml` and `composite` cost one API call each. All methods except `pathOf` throw MirrorError.
 */
export interface OrgClient {
  /** Returns the body of a success. */
  send(call: OrgCall): Promise<unknown>;
  /**
   * Runs at most five parts in sequence, independent of each other.
   * @returns responses in the parts' order, null for a missing response
   */
  composite(label: string, parts: readonly Part[]): Promise<(WireResponse | null)[]>;
  /** Returns the org's URL without trailing slash. */
  address(): Promise<string>;
  /** Returns the text of a SOAP response, also for a refusal. */
  sendXml(call: OrgCall): Promise<string>;
  /** Returns the path of a resource in the configured version. */
  pathOf(resource: string): string;
}

type ClientContext = Pick<
  ConnectorContext<SalesforceSettings>,
  'settings' | 'authorizer' | 'http' | 'shared' | 'clock'
> & { signal: AbortSignal };

/** Creates a client for the connection's org that sends calls until the signal aborts. */
export function createOrgClient(context: ClientContext): OrgClient {
  const { settings, authorizer, shared, clock, signal } = context;
  const pathOf = (resource: string) => `/services/data/v${settings.apiVersion}${resource}`;
  const responseTo = async (call: OrgCall) => {
    await authorizer.header(signal);
    const org = shared.of(Org, addressOf(context));
    return await org.turns.run(async () => {
      org.requireCalls(settings.stopAtShare, clock());
      return await sendWithLogin(context, call);
    }, signal);
  };
  const answerTo = async (call: OrgCall) => {
    const answer = await toAnswer(await responseTo(call));
    // Reads the usage for the current URL, since the org may have moved.
    if (answer.status !== 200) throw wholeRefusalOf(answer, shared.of(Org, addressOf(context)).isUsedUp(clock()));
    return answer;
  };
  return {
    pathOf,
    async sendXml(call) {
      const { body } = await responseTo(call);
      return Buffer.from(body).toString('utf8');
    },
    async address() {
      await authorizer.header(signal);
      return addressOf(context);
    },
    async send(call) {
      return (await answerTo(call)).body;
    },
    async composite(label, parts) {
      const body = {
        allOrNone: false,
        // Prevents reads from overtaking earlier writes (REST API Developer Guide, Composite Request Body).
        collateSubrequests: false,
        compositeRequest: parts.map(({ method, path, headers, body: content }, index) => ({
          method,
          url: pathOf(path),
          referenceId: `part${index}`,
          ...(headers === undefined ? {} : { httpHeaders: headers }),
          ...(content === undefined ? {} : { body: content }),
        })),
      };
      const answer = await answerTo({ label, method: 'POST', path: pathOf('/composite'), body });
      return await toParts(answer.body, parts.length);
    },
  };
}

/**
 * Sends a call with the connection's current header and URL, once the org's lock is free. After a 401, a redirect or a failed connection,
 * renews the token and sends the call again to the new URL, since orgs can move.
 */
async function sendWithLogin(context: ClientContext, call: OrgCall): Promise<HttpResponse> {
  const { authorizer, shared, clock, signal } = context;
  const authorization = await authorizer.header(signal);
  const address = addressOf(context);
  const met = await sendOnce(context, call, authorization, address).catch((error) => {
    const failure = asMirrorError(error);
    if (failure.code !== 'connection-failed' || !shared.of(Org, address).maySeekAddress(clock())) throw failure;
    return failure;
  });
  const failed = met instanceof MirrorError ? met : null;
  if (!(met instanceof MirrorError) && met.status !== 401 && !isRedirect(met.status)) return met;
  const renewed = await authorizer.renew(signal).catch((error) => {
    throw failed ?? error;
  });
  const newAddress = addressOf(context);
  if (newAddress === address && failed !== null) throw failed;
  if (newAddress === address && isRedirect(met.status ?? 0))
    throw errors.make('redirected-elsewhere', { status: met.status });
  const again = await sendOnce(context, call, renewed, newAddress);
  if (isRedirect(again.status)) throw errors.make('redirected-elsewhere', { status: again.status });
  return again;
}

const XML = 'text/xml; charset=utf-8';

/** Returns the token without its scheme: the SOAP API's session id. */
function sessionOf(authorization: string): string {
  return authorization.replace(/^\S+ /, '');
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

function addressOf({ authorizer, settings }: ClientContext): string {
  const address = authorizer.baseUrl?.() ?? settings.instanceUrl;
  if (address === undefined) throw errors.make('instance-unknown');
  return address.replace(/\/+$/, '');
}

async function sendOnce(
  { authorizer, http, shared, clock, signal }: ClientContext,
  { label, method, path, headers, body }: OrgCall,
  authorization: string,
  address: string,
): Promise<HttpResponse> {
  const answer = await http.send({
    label,
    method,
    url: `${address}${path}`,
    headers: {
      [authorizer.headerName ?? 'authorization']: authorization,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': typeof body === 'function' ? XML : 'application/json' }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === 'function' ? body(sessionOf(authorization)) : JSON.stringify(body) }),
    maxResponseBytes: LARGEST_ANSWER_BYTES,
    signal,
  });
  shared.of(Org, address).recordUsage(answer.headers, clock());
  return answer;
}

/** An unreadable body is an error only for a success; for a refusal, the status is enough. */
async function toAnswer(response: HttpResponse): Promise<WireResponse> {
  const { status, retryAfterMs } = response;
  const body = await jsonOf(response.body);
  if (status === 200 && body === undefined)
    throw errors.make(isHtml(response) ? 'html-answer' : 'unexpected-answer', { ambiguous: true });
  return { status, body, retryAfterMs };
}

/** Returns the parts by the names in the request. */
async function toParts(body: unknown, count: number): Promise<(WireResponse | null)[]> {
  const { compositeResponse } = parsedBy(errors, compositeSchema, body, { ambiguous: true });
  const parts = new Map<string, WireResponse>();
  const read = await readEach(compositeResponse, (each) => partSchema.safeParse(each).data ?? null);
  for (const { referenceId, httpStatusCode, body: content } of read) {
    parts.set(referenceId, { status: httpStatusCode, body: content, retryAfterMs: null });
  }
  return Array.from({ length: count }, (_, index) => parts.get(`part${index}`) ?? null);
}

/** State of one org, shared by all targets of all connections: a lock for serial calls, and the API usage. */
class Org {
  #usage: { share: number; at: Instant } | null = null;
  #addressSoughtAt: Instant | null = null;

  /** Overlapping writes would lock their shared parent records. */
  readonly turns = new Mutex();

  /** Stores the usage from `Sforce-Limit-Info` (REST API Developer Guide, Limit Info Header). */
  recordUsage(headers: AnswerHeaders, now: Instant): void {
    const [, used, limit] = /(?:^|[;,\s])api-usage=(\d+)\/(\d+)/.exec(headers.get('sforce-limit-info') ?? '') ?? [];
    if (used !== undefined && Number(limit) > 0) this.#usage = { share: Number(used) / Number(limit), at: now };
  }

  /**
   * Checks that the org has API calls left. Usage data older than an hour is ignored, since the next call updates the usage.
   * @throws MirrorError `remote`, code `api-limit-near`, with the reserved share
   */
  requireCalls(stopAtShare: number, now: Instant): void {
    if (this.#usage === null || now - this.#usage.at >= API_LIMIT_PAUSE_MS) return;
    if (this.#usage.share >= stopAtShare)
      throw errors.make('api-limit-near', { names: [`${Math.floor(stopAtShare * 100)} %`] });
  }

  /** Checks whether the API calls of 24 hours are nearly used up, according to usage data of the last hour. */
  isUsedUp(now: Instant): boolean {
    return this.#usage !== null && now - this.#usage.at < API_LIMIT_PAUSE_MS && this.#usage.share >= USED_UP_SHARE;
  }

  /** Decides whether to request a new URL for a connection whose known URL does not respond. */
  maySeekAddress(now: Instant): boolean {
    if (this.#addressSoughtAt !== null && now - this.#addressSoughtAt < ADDRESS_RENEWAL_MS) return false;
    this.#addressSoughtAt = now;
    return true;
  }
}
