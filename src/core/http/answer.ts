import { isUtf8 } from 'node:buffer';
import { type Message, message } from '../../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { isModestJson, MOST_VALUES, parseJson } from '../model/json.ts';
import { parseInPieces } from '../model/json-pieces.ts';
import type { Pieces } from '../model/pieces.ts';
import { inPieces } from '../pieces/in-pieces.ts';
import type { HttpResponse } from './client.ts';

/**
 * Returns the body of an answer as JSON, without a byte order mark.
 * @param label the constant name of the call, for the message
 * @param mostValues the largest number of values in the body
 * @param mostBytes the largest body
 * @throws MirrorError `contract`, tried later: `empty-answer`, `html-answer` (a portal or proxy answered), `not-utf8`, `not-json`,
 * `answer-too-large` for too many values or too deep nesting. Neither message nor error contains parts of the body, and there is no cause:
 * a parser's message quotes its input.
 * @see RFC 8259
 */
export function readJson(
  answer: Pick<HttpResponse, 'headers' | 'body'>,
  label: string,
  mostValues = MOST_VALUES,
  mostBytes = Number.POSITIVE_INFINITY,
): unknown {
  const { body } = answer;
  if (body.length > mostBytes) throw unreadable(label, 'answer-too-large', message('answer-too-large'));
  requireText(answer, label);
  const value = parseJson(body, mostValues);
  if (value !== undefined) return value;
  throw unparsed(body, label, mostValues, () => !isModestJson(body, mostValues));
}

/**
 * Reads a vendor's JSON of any size like {@link readJson}, with pauses. A part that cannot be divided has at most `MOST_UNSPLIT_BYTES`.
 * @throws MirrorError like {@link readJson}
 */
export async function readLongJson(
  answer: Pick<HttpResponse, 'headers' | 'body' | 'parts'>,
  label: string,
  mostValues = MOST_VALUES,
): Promise<unknown> {
  const { headers } = answer;
  const body = await inPieces(joinedBody(answer));
  requireText({ headers, body }, label);
  const parsed = await inPieces(parseInPieces(body, mostValues));
  if ('value' in parsed) return parsed.value;
  throw unparsed(body, label, mostValues, () => parsed.fault === 'costly');
}

/** Returns the body of an answer, joined with pauses. */
export function* joinedBody(answer: Pick<HttpResponse, 'body' | 'parts'>): Pieces<Buffer> {
  return answer.parts === undefined ? answer.body : yield* answer.parts.joined();
}

function requireText(answer: Pick<HttpResponse, 'headers' | 'body'>, label: string): void {
  const { body } = answer;
  if (body.length === 0) throw unreadable(label, 'empty-answer', message('empty-answer'));
  if (isHtml(answer)) throw unreadable(label, 'html-answer', message('html-answer'), message('html-answer.remedy'));
  if (!isUtf8(body)) throw unreadable(label, 'not-utf8', message('not-utf8'));
}

/** A text that was cut off is not JSON, however many values it has. */
function unparsed(body: Buffer, label: string, values: number, isCostly: () => boolean): MirrorError {
  if (!endsLikeJson(body) || !isCostly())
    return unreadable(label, 'not-json', message('not-json', { bytes: body.length }));
  return unreadable(label, 'answer-too-large', message('too-many-values', { values }));
}

function endsLikeJson(body: Buffer): boolean {
  return /[\]}]\s*$/.test(body.subarray(-100).toString('latin1'));
}

/** Decides by content type or first character whether an answer is an HTML page. */
export function isHtml(answer: Pick<HttpResponse, 'headers' | 'body'>): boolean {
  if (/^\s*(text\/html|application\/xhtml\+xml)/i.test(answer.headers.get('content-type') ?? '')) return true;
  return answer.body.subarray(0, 100).toString('latin1').trimStart().startsWith('<');
}

function unreadable(label: string, code: string, cause: Message, remedy?: Message): MirrorError {
  return new MirrorError(message('labelled', { label, cause }), { actor: 'contract', code, retry: 'later', remedy });
}
