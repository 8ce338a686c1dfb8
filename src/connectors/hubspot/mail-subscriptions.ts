import { z } from 'zod';
import type { CrmItem } from '../../core/model/items.ts';
import type { ItemKey } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { parsedBy } from '../errors.ts';
import { errors, namesIn } from './errors.ts';
import type { Scope } from './from-model.ts';
import { STATUS_BATCH_SIZE } from './limits.ts';
import { batchSchema, definitionSchema, type SubscriptionRule, statusSchema, subscriberSchema } from './schemas.ts';

/** Written contact. */
interface WrittenContact {
  key: ItemKey;
  item: CrmItem;
  /** E-mail address stored in HubSpot after the write. */
  address: string | null;
}

/** Desired subscription status of an e-mail address, with its contacts. */
interface Wish {
  address: string;
  rule: SubscriptionRule;
  isSubscribed: boolean;
  keys: Set<ItemKey>;
}

type Status = 'SUBSCRIBED' | 'UNSUBSCRIBED';
/** Placeholder for a status that HubSpot could not return. */
const UNREAD = 'UNREAD';

/**
 * Checks that each subscription type of the settings exists and that the mapping contains its consent.
 * @throws MirrorError `settings`, `subscription-missing` or `subscription-unmapped`
 */
export async function checkSubscriptions(scope: Scope): Promise<void> {
  const { object, paths, properties, subscriptions } = scope;
  if (subscriptions.length === 0) return;
  const kinds = new Map(properties.map(({ name, kind }) => [name, kind]));
  const unmapped = subscriptions.flatMap(({ property }) => (kinds.get(property) === 'boolean' ? [] : [property]));
  if (!kinds.has('email')) unmapped.push('email');
  if (unmapped.length > 0) throw errors.make('subscription-unmapped', { names: namesIn(object, unmapped) });
  const path = `${paths.communicationPreferences}/definitions`;
  const list = await scope.client.demand(batchSchema, { label: 'hubspot.subscriptions.list', method: 'GET', path });
  const existing = new Set(list.results.flatMap((one) => definitionSchema.safeParse(one).data?.id ?? []));
  const missing = subscriptions.map(({ subscription }) => String(subscription)).filter((id) => !existing.has(id));
  if (missing.length > 0) throw errors.make('subscription-missing', { names: missing });
}

/**
 * Writes consents as HubSpot subscriptions, since HubSpot sends mails by the status of an e-mail address, not by a property.
 * - A given consent subscribes an e-mail address without a status.
 * - A refused consent unsubscribes the e-mail address, even if other contacts share it.
 * - An unsubscribed e-mail address is never subscribed again, since the patient may have unsubscribed. Of relatives with a shared e-mail
 *   address, one
 *   refusal is therefore enough, in any order.
 *
 * Requests contain e-mail addresses only in bodies. The calls for single contacts, available in all editions, would put e-mail addresses in
 * paths.
 * @returns keys of contacts whose status HubSpot did not accept
 * @see https://developers.hubspot.com/docs/api-reference/latest/communication-preferences/guide
 */
export async function updateSubscriptions(scope: Scope, contacts: readonly WrittenContact[]): Promise<Set<ItemKey>> {
  const wishes = wishesOf(scope.subscriptions, contacts);
  if (wishes.length === 0) return new Set();
  const statuses = await readStatuses(scope, wishes);
  const untaken = new Set<ItemKey>();
  const changes = wishes.flatMap((wish) => {
    const now = statuses.get(nameOf(wish.address, wish.rule.subscription)) ?? 'NOT_SPECIFIED';
    const next: Status = wish.isSubscribed ? 'SUBSCRIBED' : 'UNSUBSCRIBED';
    if (now === UNREAD && wish.isSubscribed) for (const key of wish.keys) untaken.add(key);
    const isDue = wish.isSubscribed ? now === 'NOT_SPECIFIED' : now !== next;
    return isDue ? [{ wish, next }] : [];
  });
  for (const slice of slices(changes, STATUS_BATCH_SIZE)) {
    const taken = await writeStatuses(scope, slice);
    for (const { wish, next } of slice) {
      if (taken.get(nameOf(wish.address, wish.rule.subscription)) === next) continue;
      for (const key of wish.keys) untaken.add(key);
    }
  }
  return untaken;
}

/** Returns one desired status per e-mail address and subscription. If contacts differ, a refusal takes precedence. */
function wishesOf(rules: readonly SubscriptionRule[], contacts: readonly WrittenContact[]): Wish[] {
  const wishes = new Map<string, Wish>();
  for (const { key, item, address } of contacts) {
    for (const rule of rules) {
      const consent = item.properties[rule.property];
      if (typeof consent !== 'boolean') continue;
      const wanted = consent ? address : (address ?? item.properties.email);
      if (typeof wanted !== 'string' || wanted.trim() === '') continue;
      const name = nameOf(wanted, rule.subscription);
      const existing = wishes.get(name);
      const keys = new Set([...(existing?.keys ?? []), key]);
      const isSubscribed = consent && existing?.isSubscribed !== false;
      wishes.set(name, { address: wanted.trim().toLowerCase(), rule, isSubscribed, keys });
    }
  }
  return [...wishes.values()];
}

/** Fetches the current statuses. An unreadable status may be an opt-out. */
async function readStatuses(
  { client, paths, subscriptions }: Scope,
  wishes: readonly Wish[],
): Promise<Map<string, string>> {
  const statuses = new Map<string, string>();
  for (const inputs of slices([...new Set(wishes.map(({ address }) => address))], STATUS_BATCH_SIZE)) {
    const path = `${paths.communicationPreferences}/statuses/batch/read?channel=EMAIL`;
    const call = { label: 'hubspot.subscriptions.read', method: 'POST', path, body: { inputs } } as const;
    const batch = await client.demand(batchSchema, call);
    const subscribers = parsedBy(errors, z.array(subscriberSchema), batch.results);
    const answered = new Set(subscribers.map(({ subscriberIdString }) => subscriberIdString.trim().toLowerCase()));
    const unread = batch.errors.length === 0 ? [] : inputs.filter((address) => !answered.has(address));
    for (const address of unread) {
      for (const { subscription } of subscriptions) statuses.set(nameOf(address, subscription), UNREAD);
    }
    for (const { subscriptionId, subscriberIdString, status } of subscribers.flatMap((one) => one.statuses)) {
      statuses.set(nameOf(subscriberIdString, subscriptionId), status);
    }
  }
  return statuses;
}

/** @returns the statuses that HubSpot reports after the write */
async function writeStatuses(
  { client, paths }: Scope,
  changes: readonly { wish: Wish; next: Status }[],
): Promise<Map<string, string>> {
  const inputs = changes.map(({ wish: { address, rule }, next }) => ({
    subscriberIdString: address,
    channel: 'EMAIL',
    statusState: next,
    subscriptionId: rule.subscription,
    legalBasis: rule.legalBasis,
    ...(rule.explanation === undefined ? {} : { legalBasisExplanation: rule.explanation }),
  }));
  const path = `${paths.communicationPreferences}/statuses/batch/write`;
  const call = { label: 'hubspot.subscriptions.write', method: 'POST', path, body: { inputs } } as const;
  const batch = await client.demand(batchSchema, call);
  const statuses = batch.results.flatMap((one) => statusSchema.safeParse(one).data ?? []);
  return new Map(statuses.map((one) => [nameOf(one.subscriberIdString, one.subscriptionId), one.status]));
}

function nameOf(address: string, subscription: number): string {
  return `${subscription} ${address.trim().toLowerCase()}`;
}
