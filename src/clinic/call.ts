import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { HttpResponse } from '../http/door.ts';
import { MirrorError } from '../model/errors.ts';
import type { ClinicContext } from './context.ts';
import { errorFromAnswer } from './errors.ts';
import type { JsonObject } from './rows.ts';

/** One call of the clinic API. */
export interface ClinicCall {
  /** Constant name such as `clinic.appointments.list`, for messages, metrics and logs. */
  label: string;
  /** Whole address; built by `addresses.ts`, never with the token in it. */
  url: string;
  /** GET when absent. */
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: JsonObject;
  signal: AbortSignal;
  /** Told of every request that is sent. */
  onRequest?: () => void;
  /** Answers beside 2xx that the caller understands. */
  accepts?: (answer: HttpResponse) => boolean;
}

/** Codes of waits that are somebody else's: the operator stops, or the shared budget said how long. */
const NOT_HERE = new Set(['aborted', 'budget-exhausted']);

/**
 * Sends a call with the login's token. A 401 is answered with one renewal and one replay. 429, 5xx and failures of the network
 * are tried again in place as long as the wait is short; a longer one is thrown for the job to come back. A POST that may have been
 * carried out is never sent again here: its caller looks the record up first.
 * @throws MirrorError as `errors.ts` says, and those of the door and the login
 */
export async function send(context: ClinicContext, call: ClinicCall): Promise<HttpResponse> {
  const { limits } = context.profile;
  const authorized = authorizedSender(context, call);
  try {
    return await pRetry(authorized, {
      retries: limits.tries - 1,
      minTimeout: limits.firstWaitMs,
      maxTimeout: limits.longestWaitMs,
      randomize: true,
      signal: call.signal,
      shouldRetry: async ({ error, retryDelay }) => {
        const isShort = isRepeatable(call, error) && isWorthWaiting(error, limits.longestWaitMs);
        if (isShort)
          await sleep(Math.max(0, (error.retryAfterMs ?? 0) - retryDelay), undefined, { signal: call.signal });
        return isShort;
      },
    });
  } catch (error) {
    if (call.signal.aborted && !(error instanceof MirrorError)) throw stopped(call.label);
    throw labelled(error, call.label);
  }
}

/** A refusal for haste was surely not carried out; PUT and DELETE come to the same when they are. */
function isRepeatable({ method }: ClinicCall, error: Error): boolean {
  return method !== 'POST' || (error instanceof MirrorError && error.status === 429);
}

/** Whether the same request may go out again after a wait that can be sat through. */
function isWorthWaiting(error: Error, longestWaitMs: number): error is MirrorError {
  if (!(error instanceof MirrorError) || error.actor !== 'remote' || NOT_HERE.has(error.code)) return false;
  return error.retry !== 'never' && (error.retryAfterMs ?? 0) <= longestWaitMs;
}

function authorizedSender(context: ClinicContext, call: ClinicCall): () => Promise<HttpResponse> {
  const { authorization } = context;
  let isRenewed = false;
  return async () => {
    let answer = await sendOnce(context, call, await authorization.header(call.signal));
    if (answer.status === 401 && !isRenewed) {
      isRenewed = true;
      context.log.info({ label: call.label }, 'the access token was refused, renewing it once');
      answer = await sendOnce(context, call, await authorization.renew(call.signal));
    }
    const isUnderstood = (answer.status >= 200 && answer.status < 300) || call.accepts?.(answer) === true;
    if (!isUnderstood) throw errorFromAnswer(answer, call.label, context.profile, call.method === 'POST');
    return answer;
  };
}

function sendOnce(context: ClinicContext, call: ClinicCall, authorization: string): Promise<HttpResponse> {
  const { http, budget, profile } = context;
  const { body } = call;
  const contentType = body === undefined ? {} : { 'content-type': 'application/json' };
  call.onRequest?.();
  return http.send({
    label: call.label,
    method: call.method ?? 'GET',
    url: call.url,
    headers: { accept: 'application/json', authorization, ...contentType },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: call.signal,
    timeoutMs: profile.limits.timeoutMs,
    maxResponseBytes: profile.limits.maxAnswerBytes,
    ...(budget === null ? {} : { budget }),
  });
}

function stopped(label: string): MirrorError {
  return new MirrorError(`${label}: the call was stopped`, { actor: 'remote', code: 'aborted', retry: 'later' });
}

/** The door does not know what a call is for; its errors get the label in front. */
function labelled(error: unknown, label: string): unknown {
  if (!(error instanceof MirrorError) || error.message.startsWith(label)) return error;
  const { actor, code, retry, retryAfterMs, ambiguous, status, remedy, cause } = error;
  return new MirrorError(`${label}: ${error.message}`, {
    actor,
    code,
    retry,
    ambiguous,
    cause,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(status === undefined ? {} : { status }),
    ...(remedy === undefined ? {} : { remedy }),
  });
}
