import type { MirrorError } from '../model/errors.ts';
import { wrap } from './table.ts';

/** An error for the person who gave the command, with what the other side said in its own words. */
export function renderError(error: MirrorError): string {
  const { message, code, remedy } = error;
  const lines = error.told().map((words) => wrap(`The other side says: ${words}`, undefined, '  '));
  return [wrap(`${message} (${code})${remedy === undefined ? '' : `. What to do: ${remedy}`}`), ...lines].join('\n');
}
