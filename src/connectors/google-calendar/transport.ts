import { randomUUID } from 'node:crypto';
import type { HttpDoor } from '../../http/door.ts';
import { isHtml } from '../../http/json.ts';
import { MirrorError } from '../../model/errors.ts';
import type { Clock } from '../../model/time.ts';
import type { Authorizer } from '../connector.ts';
import type { SendCalls } from '../flow.ts';
import type { WireAnswer, WireCall } from '../wire.ts';
import { buildBatch, parseBatch } from './batch.ts';
import { loginRefused, toMirrorError, unexpectedAnswer } from './errors.ts';
import { BATCH_SIZE } from './limits.ts';

/** What batches are sent with. */
export interface BatchTransportOptions {
  http: HttpDoor;
  authorizer: Authorizer;
  clock: Clock;
  rootUrl: string;
}

/**
 * Calls `send` with the login's header; after a 401 once more with a renewed one.
 * @throws MirrorError `authorization` when the renewed login is refused too
 */
export async function withLogin(
  authorizer: Authorizer,
  signal: AbortSignal,
  send: (authorization: string) => Promise<WireAnswer>,
): Promise<WireAnswer> {
  const first = await send(await authorizer.header(signal));
  if (first.status !== 401) return first;
  const second = await send(await authorizer.renew(signal));
  if (second.status === 401) throw loginRefused();
  return second;
}

/**
 * Sends calls in multipart batches, one after the other. A batch that the server finds too large is halved, and later ones are
 * no larger than what it took. Parts that were refused for their login are sent once more with a renewed one.
 * @returns answers in the calls' order, null for a part that the answer lacks
 */
export function createBatchTransport(options: BatchTransportOptions): (signal: AbortSignal) => SendCalls {
  let limit = BATCH_SIZE;
  async function sendAll(calls: readonly WireCall[], send: SendBatch): Promise<(WireAnswer | null)[]> {
    const answers: (WireAnswer | null)[] = [];
    while (answers.length < calls.length) {
      const slice = calls.slice(answers.length, answers.length + limit);
      const batch = await send(slice);
      if (!('refused' in batch)) answers.push(...batch.answers);
      else if (slice.length === 1) answers.push(batch.refused);
      else limit = Math.ceil(slice.length / 2);
    }
    return answers;
  }
  return (signal) => async (calls) => {
    const login = { authorization: await options.authorizer.header(signal), renewed: false };
    const send: SendBatch = (slice) => sendWithLogin(options, slice, login, signal);
    return sendAll(calls, send);
  };
}

type SendBatch = (calls: readonly WireCall[]) => Promise<BatchAnswer>;
/** `refused`: the batch as a whole was refused, and nothing of it was carried out. */
type BatchAnswer = { answers: (WireAnswer | null)[] } | { refused: WireAnswer };

async function sendWithLogin(
  options: BatchTransportOptions,
  calls: readonly WireCall[],
  login: { authorization: string; renewed: boolean },
  signal: AbortSignal,
): Promise<BatchAnswer> {
  const batch = await sendBatch(options, calls, login.authorization, signal);
  const answers = 'refused' in batch ? calls.map(() => batch.refused) : batch.answers;
  const refused = calls.filter((_, index) => answers[index]?.status === 401);
  if (refused.length === 0) return batch;
  if (login.renewed) return allRefused(answers);
  login.authorization = await options.authorizer.renew(signal);
  login.renewed = true;
  const again = await sendBatch(options, refused, login.authorization, signal);
  if ('refused' in again) return again.refused.status === 401 ? allRefused(answers) : again;
  const renewed = again.answers[Symbol.iterator]();
  const merged = answers.map((answer) => (answer?.status === 401 ? (renewed.next().value ?? null) : answer));
  return allRefused(merged);
}

/** When the login was refused for every call there is nothing to say of any. */
function allRefused(answers: (WireAnswer | null)[]): BatchAnswer {
  if (answers.every((answer) => answer?.status === 401)) throw loginRefused();
  return { answers };
}

async function sendBatch(
  { http, clock, rootUrl }: BatchTransportOptions,
  calls: readonly WireCall[],
  authorization: string,
  signal: AbortSignal,
): Promise<BatchAnswer> {
  const { contentType, body } = buildBatch(calls, `batch_${randomUUID()}`);
  const answer = await http.send({
    label: 'google.batch',
    method: 'POST',
    url: `${rootUrl}/batch/calendar/v3`,
    headers: { authorization, 'content-type': contentType },
    body,
    units: calls.length,
    signal,
  });
  const text = answer.body.toString('utf8');
  if (answer.status === 200) {
    const parts = parseBatch(answer.headers.get('content-type'), text, clock());
    if (parts === null) throw isHtml(answer) ? htmlAnswer() : unexpectedAnswer(true);
    return { answers: calls.map((_, index) => parts.get(index) ?? null) };
  }
  const whole: WireAnswer = { status: answer.status, body: parseJson(text), retryAfterMs: answer.retryAfterMs };
  if (answer.status === 400 || answer.status === 401 || answer.status === 413) return { refused: whole };
  throw toMirrorError(whole);
}

function htmlAnswer(): MirrorError {
  return new MirrorError('an HTML page came instead of the Calendar API', {
    actor: 'remote',
    code: 'html-answer',
    retry: 'later',
    ambiguous: true,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
