import { isUtf8 } from 'node:buffer';
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
  if (body.length === 0) throw unreadable(label, 'empty-answer', 'the answer is empty');
  if (isHtml(answer)) throw unreadable(label, 'html-answer', 'an HTML page came instead of JSON', PORTAL);
  if (!isUtf8(body)) throw unreadable(label, 'not-utf8', 'the answer is not UTF-8 text');
  const value = parseJson(body, mostValues);
  if (value !== undefined) return value;
  if (!isModestJson(body, mostValues)) {
    throw unreadable(label, 'answer-too-large', `the answer holds more than ${mostValues} values, or nests too deep`);
  }
  throw unreadable(label, 'not-json', `the answer of ${body.length} bytes is not JSON, or was cut short`);
}

const PORTAL = 'open the configured address in a browser: a login page, a proxy or maintenance stands before it';

/** Whether an answer is an HTML page, by its content type or its first character. */
export function isHtml(answer: Pick<HttpResponse, 'headers' | 'body'>): boolean {
  if (/^\s*(text\/html|application\/xhtml\+xml)/i.test(answer.headers.get('content-type') ?? '')) return true;
  return answer.body.subarray(0, 100).toString('latin1').trimStart().startsWith('<');
}

function unreadable(label: string, code: string, what: string, remedy?: string): MirrorError {
  return new MirrorError(`${label}: ${what}`, { actor: 'contract', code, retry: 'later', remedy });
}
