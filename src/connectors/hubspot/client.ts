import type { z } from 'zod';
import type { HttpClient } from '../../http/client.ts';
import type { MirrorError } from '../../model/errors.ts';
import { type Clock, isZone } from '../../model/time.ts';
import type { Authorizer } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { withLogin } from '../flow.ts';
import { bodyOf, isSuccess, type WireResponse } from '../wire.ts';
import { errors, requireNothing, toMirrorError } from './errors.ts';
import { LARGEST_ANSWER_BYTES } from './limits.ts';
import { accountSchema } from './schemas.ts';

/** What calls are sent with. */
export interface ClientOptions {
  http: HttpClient;
  authorizer: Authorizer;
  clock: Clock;
  apiUrl: string;
  /** The account's IANA zone, as far as it is known by now. */
  zone(): string | null;
}

/** One call; `label` names it in metrics. */
export interface HubSpotCall {
  label: string;
  method: 'GET' | 'POST';
  /** Path and query. */
  path: string;
  body?: object;
}

/** Calls under one signal. */
export interface HubSpotClient {
  /** Sends a call, after a 401 once more with a renewed login; gives the answer whatever its status. */
  send(call: HubSpotCall): Promise<WireResponse>;
  /** The same, for a call whose answer must be a success of the schema's shape. @throws MirrorError */
  demand<Parsed>(schema: z.ZodType<Parsed>, call: HubSpotCall): Promise<Parsed>;
  /** The same, for a call that answers a success with 204 and nothing else. @throws MirrorError */
  demandNothing(call: HubSpotCall): Promise<void>;
  /** An answer that is not a success, as an error of the whole target. */
  errorOf(answer: WireResponse): MirrorError;
}

/** Opens the way to the API for as long as a signal lasts. */
export function createClient(options: ClientOptions, signal: AbortSignal): HubSpotClient {
  const { http, authorizer, clock, apiUrl, zone } = options;
  const errorOf = (answer: WireResponse) => toMirrorError(answer, { at: clock(), zone: zone() });
  const sendOnce = async ({ label, method, path, body }: HubSpotCall, authorization: string): Promise<WireResponse> => {
    const answer = await http.send({
      label,
      method,
      url: `${apiUrl}${path}`,
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      maxResponseBytes: LARGEST_ANSWER_BYTES,
      signal,
    });
    return { status: answer.status, body: bodyOf(answer, label), retryAfterMs: answer.retryAfterMs };
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

/** The account that a login leads to. */
export interface Account {
  portalId: number;
  /** IANA zone, by whose midnight daily limits begin again; null when HubSpot names none that is known. */
  zone: string | null;
}

/** Asks which account it is (developers.hubspot.com, account information). */
export async function readAccount(client: HubSpotClient, paths: Paths): Promise<Account> {
  const call = { label: 'hubspot.account', method: 'GET', path: paths.account } as const;
  const { portalId, timeZone } = await client.demand(accountSchema, call);
  return { portalId, zone: timeZone !== undefined && isZone(timeZone) ? timeZone : null };
}

/** Where the calls of the API begin, in the version of the settings. */
export interface Paths {
  account: string;
  /** Of contacts, meetings, deals, or a custom object by its name or its type id. */
  objects(object: string): string;
  properties(object: string): string;
  /** Of deals or a custom object. */
  pipelines(object: string): string;
  associations(from: string, to: string): string;
  /** Who gets which mails. */
  communicationPreferences: string;
}

/**
 * The paths of a version by date.
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
