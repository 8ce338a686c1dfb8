import { anySign } from '../../clinic/http/more-rows.ts';
import { asFlag } from '../../clinic/http/rows.ts';
import { type AnswerHeaders, answerHeaders } from '../../core/http/headers.ts';
import { readCount, totalHeader } from '../../described-api/answers.ts';
import { valueAt } from '../../described-api/paths.ts';
import { type Envelope, envelopeOf } from './lists.ts';
import { sampled } from './values.ts';

/** An answer of a clinic to a GET request. */
export interface Answer {
  status: number;
  /** Parsed JSON; undefined if not JSON. */
  body: unknown;
  headers: AnswerHeaders;
}

/** The records of an answer. */
export interface RowsSeen extends Omit<Answer, 'status'> {
  rows: unknown[];
  envelope: Envelope;
}

/** Returns the records of an answer with their envelope; null without records. */
export function rowsIn({ status, body, headers }: Answer, list: string): RowsSeen | null {
  const inBody = status >= 200 && status < 300 ? envelopeOf(sampled([body]), list) : null;
  if (inBody === null) return null;
  const counts = [...headers.keys()].filter((name) => readCount(headers.get(name)) !== null);
  const rows = inBody.listPath === null ? body : valueAt(body, inBody.listPath);
  if (!Array.isArray(rows)) return null;
  const next = inBody.cursorPath ?? inBody.linkPath ?? nextIn(body, rows.length);
  const isLink = next !== null && isAddress(valueAt(body, next));
  const envelope = {
    ...inBody,
    totalPath: inBody.totalPath ?? totalHeader(counts),
    cursorPath: isLink ? inBody.cursorPath : (inBody.cursorPath ?? next),
    linkPath: isLink ? (inBody.linkPath ?? next) : inBody.linkPath,
  };
  return { rows, envelope, body, headers };
}

/** Signs of further rows that are tried for a cursor or URL: flags and totals come before it. */
const MOST_SIGNS = 5;

/** Returns the path of a cursor or URL under a name in any language, as a list under style `none` would be called partial by it. */
function nextIn(body: unknown, rows: number): string | null {
  const passed: string[] = [];
  while (passed.length < MOST_SIGNS) {
    const path = anySign({ body, headers: answerHeaders([]) }, { rows, pages: 1 }, passed);
    if (path === null) return null;
    const value = valueAt(body, path);
    if (typeof value === 'string' && asFlag(value) === null && !/^\d+$/.test(value)) return path;
    passed.push(path);
  }
  return null;
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^(?:https?:\/\/|\/|\?)/i.test(value);
}
