import { contactExists, type ErrorDetail, HubSpotError, invalidInput, missingScopes } from './errors.ts';
import type { ObjectType } from './object-types.ts';
import type { Property, Sensitivity } from './property.ts';
import { emailsOf, type StoredRecord } from './record-store.ts';
import { readValue } from './values.ts';
import type { World } from './world.ts';

/** Values as a client sends them: strings; an empty string clears a property. */
export type Values = Readonly<Record<string, string>>;

/** Author of a write: the scopes of a token, or `person` for a user in the user interface. */
export type Writer = ReadonlySet<string> | 'person';

/** Time within which an archived record can be restored (knowledge.hubspot.com, restore deleted records). */
const RESTORABLE_MS = 90 * 86_400_000;

/** Creates a record. Throws HubSpotError 400, 403 or 409. */
export function createRecord(world: World, type: ObjectType, values: Values, writer: Writer): StoredRecord {
  const read = readValues(world, type, values, writer);
  const missing = type.required.filter((name) => (read[name] ?? '') === '');
  if (missing.length > 0) {
    const message = `Error creating ${type.singular.toUpperCase()}. Some required properties were not set.`;
    throw invalidInput(message, { context: { properties: missing } });
  }
  const now = world.now();
  const id = world.newId();
  const record = { id, properties: filled(read), createdAt: now, updatedAt: now, archivedAt: undefined };
  checkUnique(world, type, record);
  world.records(type.name).put(record);
  return record;
}

/**
 * Changes a record; `isWhole` clears every property without a given value. Returns the stored record, even if nothing changed. Throws
 * HubSpotError 400, 403 or 409.
 */
export function updateRecord(
  world: World,
  type: ObjectType,
  record: StoredRecord,
  values: Values,
  writer: Writer,
  isWhole = false,
): StoredRecord {
  const read = readValues(world, type, values, writer);
  const kept = isWhole ? onlyReadOnly(world, type, record.properties) : record.properties;
  const changed = { ...record, properties: filled({ ...kept, ...read }), updatedAt: world.now() };
  checkUnique(world, type, changed);
  world.records(type.name).put(changed);
  return changed;
}

/** Archives a record. Its unique values become available. */
export function archiveRecord(world: World, type: ObjectType, record: StoredRecord): void {
  if (record.archivedAt === undefined) {
    world.records(type.name).put({ ...record, archivedAt: world.now() });
  }
}

/** Restores an archived record. Throws Error after 90 days, HubSpotError if another record now has a unique value of this record. */
export function restoreRecord(world: World, type: ObjectType, record: StoredRecord): void {
  if (record.archivedAt === undefined || record.archivedAt + RESTORABLE_MS <= world.now()) {
    throw new Error(`Record ${record.id} can't be restored`);
  }
  const restored = { ...record, archivedAt: undefined };
  checkUnique(world, type, restored);
  world.records(type.name).put(restored);
}

/**
 * Merges two records into a new record with a new id; both old ids lead to the new record. If both records have a value, the value of
 * `first` wins, also for unique properties. All e-mail addresses are kept.
 */
export function mergeRecords(world: World, type: ObjectType, first: StoredRecord, second: StoredRecord): StoredRecord {
  const store = world.records(type.name);
  const [, ...further] = [...new Set([...emailsOf(first), ...emailsOf(second)])];
  const merged = [first, second].flatMap(({ id, properties }) => [
    id,
    ...(properties.hs_merged_object_ids ?? '').split(';'),
  ]);
  const properties = filled({
    ...second.properties,
    ...first.properties,
    hs_merged_object_ids: merged.filter((id) => id !== '').join(';'),
    ...(type.name === 'contacts' ? { hs_additional_emails: further.join(';') } : {}),
  });
  const winner = { ...first, id: world.newId(), properties, updatedAt: world.now() };
  for (const record of [first, second]) {
    store.mergeAway(record, winner.id);
  }
  store.put(winner);
  for (const { id } of [first, second]) {
    world.associations.move({ object: type.name, id }, { object: type.name, id: winner.id });
  }
  return winner;
}

/** Runs a GDPR delete: removes the record permanently and blocks its e-mail addresses. */
export function eraseContact(world: World, type: ObjectType, record: StoredRecord): void {
  for (const email of emailsOf(record)) {
    world.blockedEmails.add(email.toLowerCase());
  }
  world.records(type.name).remove(record.id);
  world.associations.move({ object: type.name, id: record.id }, undefined);
}

/** Decides whether the writer has the scopes for values of this sensitivity. */
export function maySee(type: ObjectType, sensitivity: Sensitivity, writer: Writer, access: 'read' | 'write'): boolean {
  return sensitivity === 'non_sensitive' || writer === 'person' || writer.has(scopeFor(type, sensitivity, access));
}

function scopeFor(type: ObjectType, sensitivity: Sensitivity, access: 'read' | 'write'): string {
  return `crm.objects.${type.scope}.${sensitivity}.${access}`;
}

function readValues(world: World, type: ObjectType, values: Values, writer: Writer): Record<string, string> {
  const read: Record<string, string> = {};
  const faults: object[] = [];
  const errors: ErrorDetail[] = [];
  for (const [name, value] of Object.entries(values)) {
    const property = world.properties.find(type.name, name);
    if (property && !maySee(type, property.dataSensitivity, writer, 'write')) {
      throw missingScopes([scopeFor(type, property.dataSensitivity, 'write')]);
    }
    const result = property ? readValue(property, value) : unknownProperty(name);
    if ('stored' in result) {
      read[name] = result.stored;
    } else {
      const { code, message } = result.fault;
      faults.push({ isValid: false, message, error: code, name, localizedErrorMessage: message, propertyValue: value });
      errors.push({ message, code, context: { propertyName: [name] } });
    }
  }
  if (errors.length > 0) {
    throw invalidInput(`Property values were not valid: ${JSON.stringify(faults)}`, { errors });
  }
  return read;
}

function unknownProperty(name: string) {
  return { fault: { code: 'PROPERTY_DOESNT_EXIST', message: `Property "${name}" does not exist` } };
}

function onlyReadOnly(world: World, type: ObjectType, properties: Values): Values {
  const isKept = (property: Property | undefined): boolean => property?.readOnly ?? false;
  const kept = Object.entries(properties).filter(([name]) => isKept(world.properties.find(type.name, name)));
  return Object.fromEntries(kept);
}

/** Returns the values without empty ones. */
function filled(properties: Values): Values {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== ''));
}

function checkUnique(world: World, type: ObjectType, record: StoredRecord): void {
  const store = world.records(type.name);
  for (const name of world.uniqueProperties(type.name)) {
    const value = record.properties[name];
    const other = value === undefined ? undefined : store.findBy(name, value);
    if (other && other.id !== record.id) {
      const where = `portalId=${world.settings.portalId}, objectTypeId=${type.typeId}, propertyName=${name}, value=${value}`;
      throw invalidInput(
        `Cannot set PropertyValueCoordinates{${where}} on ${record.id}. ${other.id} already has that value.`,
      );
    }
  }
  for (const email of type.name === 'contacts' ? emailsOf(record) : []) {
    const other = store.findBy('email', email);
    if (other && other.id !== record.id) {
      throw contactExists(other.id);
    }
    if (world.blockedEmails.has(email.toLowerCase())) {
      throw new HubSpotError(
        400,
        'VALIDATION_ERROR',
        'This contact was permanently deleted and cannot be added again.',
        {
          errors: [{ message: 'The email address is blocked.', code: 'BLOCKED_EMAIL' }],
        },
      );
    }
  }
}
