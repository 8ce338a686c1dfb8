import { sentence } from '../model/sentences.ts';

/** Said where a text in Redis is not as this version wrote it, or not in its place: its own words are told by nobody. */
export const FORGED = {
  code: 'record-forged',
  // Whoever may write into Redis is the operator's to settle.
  actor: 'settings',
  message: sentence(
    'what Redis has of it was written by somebody else or an older version: it is told anew with the next try',
  ),
  remedy: sentence('see who else may write into Redis'),
} as const;

const CODE = /^[a-z][a-z0-9-]{0,63}$/;

/** A code as it lies in plain text in Redis: what can hold a sentence or an address is none of ours. */
export function codeIn(text: string): string {
  return CODE.test(text) ? text : FORGED.code;
}
