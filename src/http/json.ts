import { isUtf8 } from 'node:buffer';
import { type Message, message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { isModestJson, MOST_VALUES, parseJson } from '../model/json.ts';
import type { HttpResponse } from './client.ts';

/**
 * The body of an answer as JSON; a byte order mark is let pass.
 * @param label the constant name of the call, for the message
 * @param mostValues that it may hold
 * @throws MirrorError `contract`, tried later: `empty-answer`, `html-answer` (a portal or proxy spoke), `not-utf8`, `not-json`,
 * `answer-too-large` when it holds more values than it may, or nests them deeper than anything that is meant to be read.
 * The message and the error hold nothing of the body, and no cause: a parser's message quotes what it read.
 * @see RFC 8259
 */
export function readJson(
  answer: Pick<HttpResponse, 'headers' | 'body'>,
  label: string,
  mostValues = MOST_VALUES,
): unknown {
  const { body } = answer;
  if (body.length === 0) throw unreadable(label, 'empty-answer', message('empty-answer'));
  if (isHtml(answer)) throw unreadable(label, 'html-answer', message('html-answer'), message('html-answer.remedy'));
  if (!isUtf8(body)) throw unreadable(label, 'not-utf8', message('not-utf8'));
  const value = parseJson(body, mostValues);
  if (value !== undefined) return value;
  if (!isModestJson(body, mostValues)) {
    throw unreadable(label, 'answer-too-large', message('too-many-values', { values: mostValues }));
  }
  throw unreadable(label, 'not-json', message('not-json', { bytes: body.length }));
}

/** Whether an answer is an HTML page, by its content type or its first character. */
export function isHtml(answer: Pick<HttpResponse, 'headers' | 'body'>): boolean {
  if (/^\s*(text\/html|application\/xhtml\+xml)/i.test(answer.headers.get('content-type') ?? '')) return true;
  return answer.body.subarray(0, 100).toString('latin1').trimStart().startsWith('<');
}

function unreadable(label: string, code: string, cause: Message, remedy?: Message): MirrorError {
  return new MirrorError(message('labelled', { label, cause }), { actor: 'contract', code, retry: 'later', remedy });
}
