import { message, type Text } from '../messages/message.ts';
import type { MirrorError } from '../model/errors.ts';
import { layoutWorkIn, MOST_LAYOUT_WORK, MOST_VALUES, mayHoldManyNames, parseJson, valuesIn } from '../model/json.ts';
import { APART_LIMITS, Apart } from './apart.ts';
import { answerTooLarge } from './transport.ts';

/** Larger answers are parsed in a thread first. */
export const LARGE_BYTES = 2 ** 20;
/** Smallest average size of a value; a higher limit for bytes therefore allows more values. */
const LEAST_VALUE_BYTES = 32;

/** 32 MiB take half a second. The main thread parses accepted answers a second time. */
const MOST_PROCESSOR_MS = 2_000;

const threads = new Apart(new URL('./json-check-entry.ts', import.meta.url), {
  ...APART_LIMITS,
  processorMs: MOST_PROCESSOR_MS,
});

/**
 * Accepts a JSON answer if parsing is cheap. A thread with limits for time and memory parses an answer that is large or has many members.
 * The parsed object stays in the thread: receiving an object costs the main thread up to 50 times as much as `JSON.parse` of the accepted
 * text.
 * @throws MirrorError `contract`, code `answer-too-large`, with the host and the limit
 */
export async function checkJson(pieces: readonly Uint8Array[], host: string): Promise<void> {
  if (!mayBeJson(pieces)) return;
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= LARGE_BYTES && !mayHoldManyNames(pieces)) return;
  for await (const _ of threads.ask(pieces, host));
}

/** Recognises the first characters of JSON, or of a multipart answer with JSON parts. */
function mayBeJson([first]: readonly Uint8Array[]): boolean {
  return /^(\xef\xbb\xbf)?\s*([[{]|--)/.test(Buffer.from(first?.subarray(0, 100) ?? []).toString('latin1'));
}

/** Performs the check inside the thread. */
export function checkInThread(pieces: readonly Uint8Array[]): void {
  const body = Buffer.concat(pieces);
  const mostValues = Math.floor(Math.max(MOST_VALUES, body.length / LEAST_VALUE_BYTES));
  let values = 0;
  let work = 0;
  for (const text of textsIn(body)) {
    values += valuesIn(text, mostValues);
    if (values > mostValues) throw tooLarge(message('too-many-values', { values: mostValues }));
    work += layoutWorkIn(text);
    if (work > MOST_LAYOUT_WORK) throw tooLarge(message('too-many-layouts', { count: MOST_LAYOUT_WORK }));
    parseJson(text, mostValues);
  }
}

/** Returns a plain answer as is, and the parts of a multipart answer without both headers (RFC 2046 section 5.1). */
function textsIn(body: Buffer): Buffer[] {
  if (!body.subarray(0, 100).toString().trimStart().startsWith('--')) return [body];
  const text = body.toString();
  const [delimiter = ''] = text.trimStart().split(/\r?\n/, 1);
  return text.split(delimiter).map((part) =>
    Buffer.from(
      part
        .split(/\r?\n\r?\n/)
        .slice(2)
        .join('\n\n'),
    ),
  );
}

function tooLarge(text: Text): MirrorError {
  return answerTooLarge(text);
}
