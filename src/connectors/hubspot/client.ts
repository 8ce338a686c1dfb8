import type { z } from 'zod';
import type { HttpClient } from '../../core/http/client.ts';
import type { MirrorError } from '../../core/model/errors.ts';
import { type Clock, isZone } from '../../core/model/time.ts';
import type { Authorizer } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { withLogin } from '../flow.ts';
import { bodyOf, isSuccess, type WireResponse } from '../wire.ts';
import { errors, requireNothing, toMirrorError } from './errors.ts';
import { LARGEST_ANSWER_BYTES, MOST_ANSWER_VALUES } from './limits.ts';
import { accountSchema } from './schemas.ts';

export interface ClientOptions {
  http: HttpClient;
  authorizer: Authorizer;
  clock: Clock;
  apiUrl: string;
  /** Returns the account's IANA zone, or null before the account is known. */
  zone(): string | null;
}

/** Single call. Metrics use `label`. */
export interface HubSpotCall {
  label: string;
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  /** Largest number of values in the answer. Default {@link MOST_ANSWER_VALUES}. */
  mostValues?: number;
}

/** Sends calls under one signal. */
export interface HubSpotClient {
  /** Sends a call, and again after a 401 with a renewed token. Returns the response with any status. */
  send(call: HubSpotCall): Promise<WireResponse>;
  /** Sends a call that must return a success in the schema's form. @throws MirrorError */
  demand<Parsed>(schema: z.ZodType<Parsed>, call: HubSpotCall): Promise<Parsed>;
  /** Sends a call whose success is an empty 204. @throws MirrorError */
  demandNothing(call: HubSpotCall): Promise<void>;
  /** Returns the error of an unsuccessful response, for the whole target. */
  errorOf(answer: WireResponse): MirrorError;
}

/** Creates a client that sends calls until the signal aborts. */
export function createClient(options: ClientOptions, signal: AbortSignal): HubSpotClient {
  const { http, authorizer, clock, apiUrl, zone } = options;
  const errorOf = (answer: WireResponse) => toMirrorError(answer, { at: clock(), zone: zone() });
  const sendOnce = async (call: HubSpotCall, authorization: string): Promise<WireResponse> => {
    const { label, method, path, body, mostValues = MOST_ANSWER_VALUES } = call;
    const answer = await http.send({
      label,
      method,
      url: `${apiUrl}${path}`,
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      maxResponseBytes: LARGEST_ANSWER_BYTES,
      signal,
    });
    return {
      status: answer.status,
      body: await bodyOf(answer, label, mostValues),
      retryAfterMs: answer.retryAfterMs,
    };
  };
  const send = (call: HubSpotCall) =>
    withLogin({ authorizer, loginRefused: errorOf }, signal, (authorization) => sendOnce(call, authorization));
  return {
    send,
    errorOf,
    async demand(schema, call) {
      const answer = await send(call);
      if (!isSuccess(answer)) throw errorOf(answer);
      return parsedBy(errors, schema, answer.body);
    },
    async demandNothing(call) {
      const answer = await send(call);
      if (!isSuccess(answer)) throw errorOf(answer);
      requireNothing(answer);
    },
  };
}

/** HubSpot account of the connection. */
export interface Account {
  portalId: number;
  /** IANA zone whose midnight resets the daily limits; null if HubSpot sends no known zone. */
  zone: string | null;
}

/** Fetches the account of the connection (developers.hubspot.com, account information). */
export async function readAccount(client: HubSpotClient, paths: Paths): Promise<Account> {
  const call = { label: 'hubspot.account', method: 'GET', path: paths.account } as const;
  const { portalId, timeZone } = await client.demand(accountSchema, call);
  return { portalId, zone: timeZone !== undefined && isZone(timeZone) ? timeZone : null };
}

/** Path prefixes of the API, in the version of the settings. */
export interface Paths {
  account: string;
  /** For contacts, meetings, deals, or a custom object by name or type id. */
  objects(object: string): string;
  properties(object: string): string;
  /** For deals or a custom object. */
  pipelines(object: string): string;
  associations(from: string, to: string): string;
  /** Subscriptions of e-mail addresses to mail types. */
  communicationPreferences: string;
}

/**
 * Returns the paths of a date-based version.
 * @see https://developers.hubspot.com/docs/developer-tooling/platform/versioning
 */
export function pathsOf(version: string): Paths {
  return {
    account: `/account-info/${version}/details`,
    objects: (object) => `/crm/objects/${version}/${object}`,
    properties: (object) => `/crm/properties/${version}/${object}`,
    pipelines: (object) => `/crm/pipelines/${version}/${object}`,
    associations: (from, to) => `/crm/associations/${version}/${from}/${to}`,
    communicationPreferences: `/communication-preferences/${version}`,
  };
}
