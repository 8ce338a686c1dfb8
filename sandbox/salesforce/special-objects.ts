import { RowFailure } from './errors.ts';
import type { FieldValue } from './fields.ts';
import type { StoredRecord } from './store.ts';
import { fromInstant, toInstant } from './values.ts';
import type { World } from './world.ts';

type Fields = Readonly<Record<string, FieldValue>>;

const MINUTE_MS = 60_000;
const LONGEST_EVENT_MS = 14 * 86_400_000;
/** Fields that a Person Account shares with its contact under the same name. */
const SHARED_FIELDS: ReadonlySet<string> = new Set(['FirstName', 'LastName', 'Name', 'Phone', 'Description']);

/** Sets or refuses fields of some objects as the vendor does. `changed` lists the sent fields. Throws RowFailure. */
export function complete(world: World, type: string, fields: Fields, changed: readonly string[]): Fields {
  switch (type) {
    case 'Contact':
      return { ...fields, Name: [fields.FirstName, fields.LastName].filter(Boolean).join(' ') };
    case 'Event':
      return completeEvent(fields, changed);
    case 'Account':
      return world.settings.personAccounts ? completeAccount(world, fields, changed) : fields;
    default:
      return fields;
  }
}

/** Completes an event that has a start and an end or a duration, by computing the missing value (Object Reference, Event). */
function completeEvent(fields: Fields, changed: readonly string[]): Fields {
  const { StartDateTime: start, EndDateTime: end, DurationInMinutes: minutes } = fields;
  if (typeof start !== 'string') {
    return fields;
  }
  const byDuration = changed.includes('DurationInMinutes') || (typeof end !== 'string' && typeof minutes === 'number');
  const startAt = fromInstant(start);
  const endAt = byDuration
    ? startAt + Number(minutes) * MINUTE_MS
    : typeof end === 'string'
      ? fromInstant(end)
      : undefined;
  if (endAt === undefined) {
    throw new RowFailure('REQUIRED_FIELD_MISSING', 'Required fields are missing: [DurationInMinutes]', [
      'DurationInMinutes',
    ]);
  }
  const isContradiction = byDuration && changed.includes('EndDateTime') && end !== toInstant(endAt);
  if (endAt < startAt || endAt - startAt > LONGEST_EVENT_MS || isContradiction) {
    throw new RowFailure('FIELD_INTEGRITY_EXCEPTION', 'Event duration must fit start and end, up to 14 days', [
      'DurationInMinutes',
    ]);
  }
  return { ...fields, EndDateTime: toInstant(endAt), DurationInMinutes: Math.round((endAt - startAt) / MINUTE_MS) };
}

/**
 * Completes an account. A Person Account has a last name, a business account a name. The record type decides the kind; without a record
 * type, a last name makes a Person Account.
 */
function completeAccount(world: World, fields: Fields, changed: readonly string[]): Fields {
  const types = world.store.live('RecordType');
  const chosen = types.find(({ id }) => id === fields.RecordTypeId);
  const isPerson = chosen ? chosen.fields.IsPersonType === true : typeof fields.LastName === 'string';
  const recordTypeId = types.find((type) => type.fields.IsPersonType === isPerson)?.id ?? null;
  const marked = { ...fields, IsPersonAccount: isPerson, RecordTypeId: recordTypeId };
  if (!isPerson) {
    const wrong = changed.filter((name) => name.startsWith('Person') || name.endsWith('__pc'));
    if (wrong.length > 0 || typeof fields.LastName === 'string') {
      throw notForThisAccount(wrong.length > 0 ? wrong : ['LastName']);
    }
    return marked;
  }
  if (changed.includes('Name')) {
    throw notForThisAccount(['Name']);
  }
  if (typeof fields.LastName !== 'string') {
    throw new RowFailure('REQUIRED_FIELD_MISSING', 'Required fields are missing: [LastName]', ['LastName']);
  }
  return { ...marked, Name: [fields.FirstName, fields.LastName].filter(Boolean).join(' ') };
}

function notForThisAccount(fields: string[]): RowFailure {
  const message = `Unable to create/update fields: ${fields.join(', ')}. They belong to the other kind of account.`;
  return new RowFailure('INVALID_FIELD_FOR_INSERT_UPDATE', message, fields);
}

/** Synchronises the contact of a Person Account with the account. Returns the account with the contact's id. */
export function withPersonContact(world: World, account: StoredRecord): StoredRecord {
  if (account.fields.IsPersonAccount !== true) {
    return account;
  }
  const contact = world.schema.object('Contact');
  const known = world.store.find(String(account.fields.PersonContactId ?? ''));
  const fields: Record<string, FieldValue> = { ...known?.fields, AccountId: account.id, IsPersonAccount: true };
  for (const { name } of contact.fields.values()) {
    const shown = [name, `Person${name}`, name.replace(/__c$/, '__pc')].find(
      (each) => each in account.fields && (each !== name || SHARED_FIELDS.has(name)),
    );
    if (shown !== undefined) {
      fields[name] = account.fields[shown] ?? null;
    }
  }
  const id = known?.id ?? world.store.newId(contact);
  const createdAt = known?.createdAt ?? account.createdAt;
  world.store.put({ id, type: 'Contact', fields, createdAt, modifiedAt: account.modifiedAt });
  return { ...account, fields: { ...account.fields, PersonContactId: id } };
}
