import type { MirrorError } from '../model/errors.ts';
import { wrap } from './table.ts';

/**
 * An error for the person who gave the command.
 * @param asksForData the command shows what the clinic has: then what the other side said stands below in its own words, which may name
 *   patients. What others print ends in the logs of whatever starts them.
 */
export function renderError(error: MirrorError, asksForData: boolean): string {
  const { message, code, remedy } = error;
  const told = asksForData ? error.told() : [];
  const lines = told.map((words) => wrap(`The other side says: ${words}`, undefined, '  '));
  return [wrap(`${message} (${code})${remedy === undefined ? '' : `. What to do: ${remedy}`}`), ...lines].join('\n');
}
