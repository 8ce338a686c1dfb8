import { isHtml } from '../../http/answer.ts';
import type { HttpResponse } from '../../http/client.ts';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import { parseJson } from '../../model/json.ts';
import type { Instant } from '../../model/time.ts';
import type { ConnectorContext } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { Mutex } from '../shared-state.ts';
import type { WireResponse } from '../wire.ts';
import { errors, wholeRefusalOf } from './errors.ts';
import { ADDRESS_RENEWAL_MS, API_LIMIT_PAUSE_MS, LARGEST_ANSWER_BYTES, USED_UP_SHARE } from './limits.ts';
import { compositeSchema, partSchema, type SalesforceSettings } from './schemas.ts';

/** One call to the org: a path with its query from `/services` on. */
export interface OrgCall {
  label: string;
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  /** JSON; or XML that carries the session, which the SOAP API takes from nowhere else. */
  body?: object | ((session: string) => string);
}

/** One part of a composite; its path begins below the version. It has no headers of the whole but those of login and content. */
export interface Part {
  method: 'GET' | 'PATCH' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  body?: object;
}

/** The org, as the login reaches it. `send`, `sendXml` and `composite` are one API call each; all but `pathOf` throw MirrorError. */
export interface OrgClient {
  /** Gives the body of a success. */
  send(call: OrgCall): Promise<unknown>;
  /**
   * Runs at most five parts one after the other, each for itself.
   * @returns answers in the parts' order, null for one that the answer lacks
   */
  composite(label: string, parts: readonly Part[]): Promise<(WireResponse | null)[]>;
  /** Where the org is, without a slash at its end. */
  address(): Promise<string>;
  /** Gives the text of an answer of the SOAP API, a refusal too. */
  sendXml(call: OrgCall): Promise<string>;
  /** Path of a resource in the version that is asked for. */
  pathOf(resource: string): string;
}

type ClientContext = Pick<
  ConnectorContext<SalesforceSettings>,
  'settings' | 'authorizer' | 'http' | 'shared' | 'clock'
> & { signal: AbortSignal };

/** Opens the way to the org of a login for as long as a signal lasts. */
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
    const answer = toAnswer(await responseTo(call));
    // The org may have moved: what it told of its calls is known by its address of now.
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
        // Else reads may overtake the writes before them (REST API Developer Guide, Composite Request Body).
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
      return toParts(answer.body, parts.length);
    },
  };
}

/**
 * Sends with the header that the login gives when our turn has come, to the address that came with it. After a 401, a redirect or a
 * connection that failed the login is renewed, and the call goes once more, to the address of then: orgs are moved.
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

/** The token alone: the SOAP API calls it a session. */
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

/** The body matters where a success was promised; a refusal without one speaks by its status. */
function toAnswer(response: HttpResponse): WireResponse {
  const { status, retryAfterMs } = response;
  const body = parseJson(response.body);
  if (status === 200 && body === undefined)
    throw errors.make(isHtml(response) ? 'html-answer' : 'unexpected-answer', { ambiguous: true });
  return { status, body, retryAfterMs };
}

/** The parts by the names that we gave them. */
function toParts(body: unknown, count: number): (WireResponse | null)[] {
  const { compositeResponse } = parsedBy(errors, compositeSchema, body, { ambiguous: true });
  const parts = new Map<string, WireResponse>();
  for (const each of compositeResponse) {
    const part = partSchema.safeParse(each);
    if (!part.success) continue;
    const { referenceId, httpStatusCode, body: content } = part.data;
    parts.set(referenceId, { status: httpStatusCode, body: content, retryAfterMs: null });
  }
  return Array.from({ length: count }, (_, index) => parts.get(`part${index}`) ?? null);
}

/** What all targets in one org share, whichever login leads there: they take turns, and know its count of API calls. */
class Org {
  #usage: { share: number; at: Instant } | null = null;
  #addressSoughtAt: Instant | null = null;

  /** Writes that overlap would lock each other's parents out. */
  readonly turns = new Mutex();

  /** Takes note of the org's count in `Sforce-Limit-Info` (REST API Developer Guide, Limit Info Header). */
  recordUsage(headers: Headers, now: Instant): void {
    const [, used, limit] = /(?:^|[;,\s])api-usage=(\d+)\/(\d+)/.exec(headers.get('sforce-limit-info') ?? '') ?? [];
    if (used !== undefined && Number(limit) > 0) this.#usage = { share: Number(used) / Number(limit), at: now };
  }

  /**
   * Whether another call may be made. What was told an hour ago counts no more: a call then finds out.
   * @throws MirrorError `remote`, code `api-limit-near`, with the rest to keep
   */
  requireCalls(stopAtShare: number, now: Instant): void {
    if (this.#usage === null || now - this.#usage.at >= API_LIMIT_PAUSE_MS) return;
    if (this.#usage.share >= stopAtShare)
      throw errors.make('api-limit-near', { names: [`${Math.floor(stopAtShare * 100)} %`] });
  }

  /** Whether the API calls of 24 hours are nearly all used, as far as the org told in the last hour. */
  isUsedUp(now: Instant): boolean {
    return this.#usage !== null && now - this.#usage.at < API_LIMIT_PAUSE_MS && this.#usage.share >= USED_UP_SHARE;
  }

  /** Whether the login may be asked for another address, since the known one does not answer. */
  maySeekAddress(now: Instant): boolean {
    if (this.#addressSoughtAt !== null && now - this.#addressSoughtAt < ADDRESS_RENEWAL_MS) return false;
    this.#addressSoughtAt = now;
    return true;
  }
}
