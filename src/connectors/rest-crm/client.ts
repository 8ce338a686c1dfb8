import { isHtml } from '../../core/http/answer.ts';
import type { HttpClient, HttpResponse } from '../../core/http/client.ts';
import type { AnswerHeaders } from '../../core/http/headers.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { MOST_UNSPLIT_VALUES } from '../../core/model/json.ts';
import { isPathSegment } from '../../core/model/path-segment.ts';
import { isJsonObject } from '../../described-api/paths.ts';
import { renderBody, renderText } from '../../described-api/templates.ts';
import type { Authorizer } from '../connector.ts';
import { bodyOf, type WireResponse } from '../wire.ts';
import type { CrmCall, CrmValues } from './description.ts';
import { errors, hasError, toMirrorError } from './errors.ts';
import { LARGEST_ANSWER_BYTES } from './limits.ts';
import type { RestCrmSettings } from './schemas.ts';

/** Successful response, or a response with a status that the call accepts as "nothing". */
export interface CrmAnswer extends WireResponse {
  isNothing: boolean;
  /** Headers of the response: some show the next page. */
  headers: Pick<AnswerHeaders, 'get'>;
}

/** Sends calls of a description. */
export interface CrmClient {
  /**
   * Sends one call, and again after a 401 with a renewed token.
   * @param label constant name of the call, for metrics
   * @throws MirrorError for each unsuccessful response
   */
  send(label: string, call: CrmCall, values: CrmValues, signal: AbortSignal): Promise<CrmAnswer>;
  /** Sends a call to a URL from the CRM, which the caller has validated. */
  follow(label: string, call: CrmCall, url: string, signal: AbortSignal): Promise<CrmAnswer>;
}

export interface CrmClientOptions {
  http: HttpClient;
  authorizer: Authorizer;
  settings: RestCrmSettings;
  /** Property names that errors may repeat. */
  codes: ReadonlySet<string>;
}

/** Read-only calls. */
const QUESTIONS: ReadonlySet<string> = new Set(['rest-crm.find', 'rest-crm.get', 'rest-crm.list', 'rest-crm.fields']);

/** Calls that write properties of objects. */
const WRITES: ReadonlySet<string> = new Set(['rest-crm.create', 'rest-crm.update', 'rest-crm.upsert']);

/** Calls that change existing objects. */
const CHANGES: ReadonlySet<string> = new Set([
  'rest-crm.update',
  'rest-crm.delete',
  'rest-crm.delete-many',
  'rest-crm.erase',
]);

/** Creates the client of one target. */
export function createCrmClient({ http, authorizer, settings, codes }: CrmClientOptions): CrmClient {
  const { baseUrl, description } = settings;
  const withoutAutomations = settings.automations === 'suspended' ? description.withoutAutomations : undefined;
  const bodyFor = (label: string, template: unknown, values: CrmValues) => {
    const rendered = renderBody(template, values);
    return withoutAutomations !== undefined && WRITES.has(label) && isJsonObject(rendered)
      ? { ...rendered, ...withoutAutomations }
      : rendered;
  };
  const exchange = async (
    label: string,
    call: CrmCall,
    signal: AbortSignal,
    to: { url: string; values: CrmValues },
  ) => {
    const { url, values } = to;
    const body = call.body === undefined ? undefined : JSON.stringify(bodyFor(label, call.body, values));
    const headers = {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headersOf({ ...description.headers, ...call.headers }, values),
    };
    const sendWith = (login: string) =>
      http.send({
        label,
        method: call.method,
        url,
        headers: {
          ...headers,
          [authorizer.headerName ?? 'authorization']: withScheme(login, authorizer, description.scheme),
        },
        ...(body === undefined ? {} : { body }),
        maxResponseBytes: LARGEST_ANSWER_BYTES,
        signal,
      });
    const answerWith = async (login: string) =>
      await toAnswer(label, call, await sendWith(login), { described: description.errors, codes });
    const login = await authorizer.header(signal);
    try {
      return await answerWith(login);
    } catch (error) {
      // Some CRMs report refused credentials with a specific code and a status other than 401.
      if (!(error instanceof MirrorError && error.code === 'login-refused')) throw error;
    }
    return await answerWith(await authorizer.renew(signal));
  };
  return {
    send: (label, call, values, signal) =>
      exchange(label, call, signal, { url: addressOf(baseUrl, call, values), values }),
    follow: (label, call, url, signal) => exchange(label, call, signal, { url, values: {} }),
  };
}

/** Returns the URL of a call. A value stays within its path segment or parameter. */
export function addressOf(baseUrl: string, { path, query }: CrmCall, values: CrmValues): string {
  const segments = path.split('/').map((segment) => {
    const rendered = renderText(segment, values, encodeURIComponent);
    // A segment of dots would lead to the parent path, and an empty segment to the list of all objects.
    if (segment.includes('{{') && !isPathSegment(rendered)) throw errors.make('record-without-id');
    return rendered;
  });
  const parameters = Object.entries(query).flatMap(([name, template]) => {
    const value = renderBody(template, values);
    if (value === null || value === '') return [];
    return (Array.isArray(value) ? value : [value]).map(
      (one) => `${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`,
    );
  });
  return `${baseUrl}${segments.join('/')}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`;
}

function headersOf(templates: Record<string, string>, values: CrmValues): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(templates)) {
    const value = renderText(template, values).replaceAll(/[^\x20-\x7e]/g, '');
    if (value !== '') headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Replaces the connection's scheme by the description's scheme, as in `Zoho-oauthtoken …`. */
function withScheme(login: string, { headerName }: Authorizer, scheme: string | undefined): string {
  if (scheme === undefined || (headerName ?? 'authorization') !== 'authorization') return login;
  return `${scheme} ${login.slice(login.indexOf(' ') + 1)}`;
}

async function toAnswer(
  label: string,
  call: CrmCall,
  response: HttpResponse,
  { described, codes }: { described: RestCrmSettings['description']['errors']; codes: ReadonlySet<string> },
): Promise<CrmAnswer> {
  const { status, retryAfterMs, headers } = response;
  const isOk = status >= 200 && status < 300;
  const answer: CrmAnswer = {
    status,
    retryAfterMs,
    body: isOk && response.body.length === 0 ? undefined : await bodyOf(response, label, MOST_UNSPLIT_VALUES),
    // An HTML page comes from a proxy and shows nothing about the CRM's data.
    isNothing: status === 204 || (call.nothing.includes(status) && !isHtml(response)),
    headers,
  };
  if (status === 401) throw errors.make('login-refused', { status });
  const isFailed = isOk ? !call.partial && hasError(answer, described) : !answer.isNothing;
  if (isFailed) throw asked(toMirrorError(answer, described, codes), label);
  return answer;
}

/**
 * Adjusts the error of a read-only call: a refused read concerns the request, not an object. A forbidden object does not affect other
 * objects.
 */
function asked(error: MirrorError, label: string): MirrorError {
  if (error.code === 'record-refused' && QUESTIONS.has(label)) {
    return errors.make('crm-question-refused', { status: error.status });
  }
  return error.code === 'crm-forbidden' && CHANGES.has(label)
    ? errors.make('record-forbidden', { status: 403 })
    : error;
}

/**
 * Checks whether a response matches a call about an object: it contains the object's id, is empty, or is `true`, as in EspoCRM. A proxy in
 * front of the CRM may respond with 200 instead.
 */
export function speaksOf({ status, body }: CrmAnswer, id: string): boolean {
  if (status === 204 || body === true) return true;
  const mentionsId = (value: unknown): boolean =>
    Object.entries(value ?? {}).some(([name, inner]) =>
      typeof inner === 'object' ? mentionsId(inner) : /id$/i.test(name) && String(inner) === id,
    );
  return mentionsId(body);
}

/** Checks whether the response reports an absent object; a 204 is an empty success. */
export function isMissing(answer: CrmAnswer): boolean {
  return answer.isNothing && answer.status !== 204;
}
