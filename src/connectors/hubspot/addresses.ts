import type { CrmItem } from '../../model/items.ts';
import type { ItemKey } from '../../model/operations.ts';
import { slices } from '../../model/pieces.ts';
import type { Holder } from '../connector.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { type Refusal, readRefusal } from './errors.ts';
import type { Scope } from './from-model.ts';
import { type Row, readRecord, type StoredRecord } from './from-model.ts';
import { BATCH_SIZE } from './limits.ts';
import { batchSchema } from './schemas.ts';

/**
 * HubSpot gives an address to one contact, additional addresses included, and tells a batch with a taken one as refused, whole or by row.
 * So what is known of addresses before is settled before.
 */
export interface SharedOut {
  /** The rows, each address with one of them. */
  rows: Row[];
  /** Rows whose address another record of the batch has now and gives up: they are given it once that is written. */
  afterwards: { row: Row; holderId: string }[];
  /** How many rows go without their address since another of the batch has it. */
  without: number;
}

/**
 * Gives each address to one row: to whose contact has it now, else to the first.
 * @param existing what is known of the records as they are now
 */
export function shareOut(
  { object }: Scope,
  rows: readonly Row[],
  existing: ReadonlyMap<ItemKey, StoredRecord>,
): SharedOut {
  if (object !== 'contacts') return { rows: [...rows], afterwards: [], without: 0 };
  const holders = new Map<string, ItemKey>();
  for (const { key } of rows) holders.set(addressOf(existing.get(key)?.values), key);
  const takers = new Map<string, ItemKey>();
  for (const { key, values } of rows) {
    const address = addressOf(values);
    if (!takers.has(address) || holders.get(address) === key) takers.set(address, key);
  }
  const isTaker = ({ key, values }: Row) => takers.get(addressOf(values)) === key;
  const holderOf = ({ key, values }: Row) => {
    const holder = addressOf(values) === '' ? undefined : holders.get(addressOf(values));
    return holder === key ? undefined : holder;
  };
  const afterwards = rows.flatMap((row) => {
    const holder = isTaker(row) ? holderOf(row) : undefined;
    return holder === undefined ? [] : [{ row, holderId: existing.get(holder)!.id }];
  });
  const isBare = (row: Row) => addressOf(row.values) !== '' && (!isTaker(row) || holderOf(row) !== undefined);
  const shared = rows.map((row) => (isBare(row) ? withoutAddress(row) : row));
  return { rows: shared, afterwards, without: rows.filter(isBare).length - afterwards.length };
}

/** The row with an empty address, so that one of before doesn't stay. */
export function withoutAddress(row: Row): Row {
  return { ...row, values: { ...row.values, email: '' } };
}

/** Whether a contact, or a batch of them, was refused for an address. A conflict that names no property is one of addresses (HTTP 409). */
export function isRefusedForAddress({ object }: Scope, { codes, properties, isTaken }: Refusal): boolean {
  if (object !== 'contacts') return false;
  if (codes.some((code) => code.includes('EMAIL')) || properties.includes('email')) return true;
  return isTaken && properties.length === 0;
}

/**
 * Which rows ask for an address that another contact has, found by one look for all: refused as HubSpot would refuse each alone. Where
 * the look tells nothing, halving finds them.
 */
export async function heldAddresses(scope: Scope, rows: readonly Row[]): Promise<Map<ItemKey, Refusal>> {
  const addresses = addressesOf(rows.map(({ values }) => values));
  if (addresses.length === 0) return new Map();
  const answer = await scope.client.send(holdersCall(scope, addresses));
  const holders: ReadonlyMap<string, StoredRecord> = isSuccess(answer) ? holdersIn(scope, answer) : new Map();
  const held = rows.flatMap(({ key, values }): [ItemKey, Refusal][] => {
    const holder = holders.get(addressOf(values));
    if (holder === undefined || holder.key === key) return [];
    const message = `Contact already exists. Existing ID: ${holder.id}`;
    return [[key, readRefusal(409, { category: 'CONFLICT', message })]];
  });
  return new Map(held);
}

/**
 * Who has the addresses that contacts of ours should have. @param wanted properties by our key
 * @throws MirrorError what the call meets
 */
export async function findHolders(
  scope: Scope,
  wanted: ReadonlyMap<ItemKey, CrmItem['properties']>,
): Promise<Holder[]> {
  const asked = [...wanted].map(([key, { email = null }]) => ({
    key,
    values: { email: email === null ? null : String(email) },
  }));
  const found: Holder[] = [];
  for (const slice of slices(asked, BATCH_SIZE)) {
    const addresses = addressesOf(slice.map(({ values }) => values));
    if (addresses.length === 0) continue;
    const answer = await scope.client.send(holdersCall(scope, addresses));
    if (!isSuccess(answer)) throw scope.client.errorOf(answer);
    const holders = holdersIn(scope, answer);
    for (const { key, values } of slice) {
      const holder = holders.get(addressOf(values));
      if (holder === undefined || holder.key === key) continue;
      found.push({ key, remoteId: holder.id, isOurs: holder.stamp !== null, property: 'email' });
    }
  }
  return found;
}

/**
 * Reads contacts by their address. It stands in the body, never in the path.
 * @see https://developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/guide
 */
function holdersCall({ paths, keyProperty, stampProperty }: Scope, addresses: readonly string[]) {
  return {
    label: 'hubspot.contacts.holders',
    method: 'POST',
    path: `${paths.objects('contacts')}/batch/read`,
    body: {
      inputs: addresses.map((id) => ({ id })),
      properties: [keyProperty, stampProperty, 'email', 'hs_additional_emails'],
      idProperty: 'email',
    },
  } as const;
}

/** Contacts of an answer by every address that they have. */
function holdersIn(scope: Scope, { body }: WireResponse): Map<string, StoredRecord> {
  const holders = new Map<string, StoredRecord>();
  for (const result of batchSchema.safeParse(body).data?.results ?? []) {
    const record = readRecord(scope, result);
    const { email, hs_additional_emails: further } = record?.values ?? {};
    for (const address of [email, ...(further?.split(';') ?? [])]) {
      if (record !== null && address) holders.set(address.trim().toLowerCase(), record);
    }
  }
  return holders;
}

/** Each address once. */
function addressesOf(rows: readonly Readonly<Record<string, string | null>>[]): string[] {
  return [...new Set(rows.map((values) => addressOf(values)))].filter((address) => address !== '');
}

/** An address as HubSpot compares it; empty when there is none. */
function addressOf(values: Readonly<Record<string, string | null>> | undefined): string {
  return values?.email?.trim().toLowerCase() ?? '';
}
