import { message, render } from '../messages/message.ts';
import type { StoredError } from '../model/errors.ts';

const TEXTS = { message: message('record-forged'), remedy: message('record-forged.remedy') };

/** Said where a text in Redis is not as this version wrote it, or not in its place: its own words are told by nobody. */
export const FORGED = {
  code: 'record-forged',
  // Whoever may write into Redis is the operator's to settle.
  actor: 'settings',
  message: render(TEXTS.message),
  remedy: render(TEXTS.remedy),
  texts: TEXTS,
} as const satisfies StoredError;

const CODE = /^[a-z][a-z0-9-]{0,63}$/;

/** A code as it lies in plain text in Redis: what can hold a sentence or an address is none of ours. */
export function codeIn(text: string): string {
  return CODE.test(text) ? text : FORGED.code;
}
