import type { Item } from '../model/items.ts';
import type { ItemKey, Outcome } from '../model/operations.ts';
import type { Instant } from '../model/time.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Codes of activities and deals whose contact is not there. */
export const CONTACT_MISSING: ReadonlySet<string> = new Set(['contact-missing']);

/**
 * Until when activities and deals rest whose contact the CRM refuses: until that is tried again. Contacts that are on their way are not
 * waited for so long. Empty when no outcome asks for it.
 * @returns by the contact's key
 */
export async function restsOfContacts(
  { outbox, targets }: Pick<OpenTenant, 'outbox' | 'targets'>,
  { configuration: { crm } }: Pick<OpenTarget, 'configuration'>,
  outcomes: readonly Outcome<Item>[],
): Promise<ReadonlyMap<ItemKey, Instant>> {
  const contacts = targets.get(crm?.contacts ?? '');
  const isAny = outcomes.some((one) => one.result === 'failed' && CONTACT_MISSING.has(one.error.code));
  if (contacts === undefined || !isAny) return new Map();
  const refused = [...(await outbox.pending(contacts.id)).values()].filter(({ parked }) => parked);
  return new Map(refused.map(({ recordId, dueAt }) => [contacts.identity.key(recordId, 0), dueAt]));
}

/** Has what waits for contacts tried again, once some were made. */
export async function wakeBelonging(
  { clock, outbox, targets }: Pick<OpenTenant, 'clock' | 'outbox' | 'targets'>,
  { id }: Pick<OpenTarget, 'id'>,
): Promise<void> {
  for (const { id: other, configuration } of targets.values()) {
    if (configuration.crm?.contacts === id) await outbox.hurry(other, clock(), CONTACT_MISSING);
  }
}
