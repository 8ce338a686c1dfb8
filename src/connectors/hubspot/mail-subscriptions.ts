import { z } from 'zod';
import type { CrmItem } from '../../model/items.ts';
import type { ItemKey } from '../../model/operations.ts';
import { slices } from '../../model/pieces.ts';
import { parsedBy } from '../errors.ts';
import { errors, namesIn } from './errors.ts';
import type { Scope } from './from-model.ts';
import { STATUS_BATCH_SIZE } from './limits.ts';
import {
  batchSchema,
  definitionSchema,
  type SubscriptionRule,
  subscriberSchema,
  writtenStatusSchema,
} from './schemas.ts';

/** A contact that was just written. */
interface WrittenContact {
  key: ItemKey;
  item: CrmItem;
  /** The address that HubSpot holds for it now. */
  address: string | null;
}

/** What an address should be subscribed to, and for whom. */
interface Wish {
  address: string;
  rule: SubscriptionRule;
  isSubscribed: boolean;
  keys: Set<ItemKey>;
}

type Status = 'SUBSCRIBED' | 'UNSUBSCRIBED';
/** Stands for a status that HubSpot could not tell. */
const UNREAD = 'UNREAD';

/**
 * Sees that every subscription type of the settings is there, and that the mapping gives what they follow.
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
 * Tells HubSpot by its own means who may be written to: it sends by the status of an address, not by a property. A yes subscribes an
 * address of which nothing is said; a no unsubscribes it, also where another contact has it. Nobody who is unsubscribed is ever
 * subscribed again: that may have been the patient's own click. So of relatives who share an address one no is enough, in whatever
 * order they come. Addresses go in bodies; the calls for one contact, which every edition has, would take them in their path.
 * @returns keys of contacts of whom HubSpot did not take a status
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

/** One wish for each address and subscription; where contacts differ, a no counts. */
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

/** What stands for the wishes; what HubSpot can't tell may be an opt-out. */
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

/** @returns the statuses that HubSpot says to hold now */
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
  const statuses = batch.results.flatMap((one) => writtenStatusSchema.safeParse(one).data ?? []);
  return new Map(statuses.map((one) => [nameOf(one.subscriberIdString, one.subscriptionId), one.status]));
}

function nameOf(address: string, subscription: number): string {
  return `${subscription} ${address.trim().toLowerCase()}`;
}
