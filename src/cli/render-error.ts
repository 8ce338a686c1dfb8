import { forTenant } from '../messages/message.ts';
import type { MirrorError } from '../model/errors.ts';
import { wrap } from './table.ts';

/**
 * An error for the person who gave the command.
 * @param given.tenant the tenant that the command names: the remedy's command then has it in it, to be pasted
 * @param given.asksForData the command shows what the clinic has: then what the other side said stands below in its own words, which may name
 *   patients. What others print ends in the logs of whatever starts them.
 */
export function renderError(
  error: MirrorError,
  { asksForData = false, tenant = null }: { asksForData?: boolean; tenant?: string | null },
): string {
  const { message, code } = error;
  const remedy = forTenant(error.remedy, tenant ?? '<tenant>');
  const vendorMessages = asksForData ? error.told() : [];
  const lines = vendorMessages.map((words) => wrap(`The other side says: ${words}`, '  '));
  return [wrap(`${message} (${code})${remedy === null ? '' : `. What to do: ${remedy}`}`), ...lines].join('\n');
}
