import { type ObjectTypeName, objectType } from './object-types.ts';
import type { Pipeline } from './pipelines.ts';
import { OPT_OUT, type SubscriptionStatus } from './preferences.ts';
import type { NewProperty, Property, PropertyOption } from './property.ts';
import { removeProperty } from './property-routes.ts';
import type { StoredRecord } from './record-store.ts';
import {
  archiveRecord,
  createRecord,
  eraseContact,
  mergeRecords,
  restoreRecord,
  updateRecord,
  type Values,
} from './records.ts';
import { type RecordResource, toResource } from './resource.ts';
import type { World } from './world.ts';

/** Changes that a user makes in the user interface, without token or limits. An unknown object throws Error, a bad value HubSpotError. */
export interface ByHand {
  /** Returns the new record's id. */
  add(object: ObjectTypeName, values: Values): string;
  /** Changes the given properties; an empty value clears a property. */
  edit(object: ObjectTypeName, id: string, values: Values): void;
  /** Adds an e-mail address to a contact. Throws Error if a contact already has this address. */
  addEmail(contactId: string, email: string): void;
  archive(object: ObjectTypeName, id: string): void;
  /** Restores an archived record within 90 days. */
  restore(object: ObjectTypeName, id: string): void;
  /** Returns the id of the merged record. The id is new; both old ids lead to the merged record. */
  merge(object: ObjectTypeName, primaryId: string, otherId: string): string;
  /** Runs a GDPR delete. */
  erase(contactId: string): void;
  /** Returns live records with all set properties, oldest first; with `archived`, the archived records. */
  records(object: ObjectTypeName, options?: { archived?: boolean }): RecordResource[];
  /** Returns a record by its id or by the id of a record merged into it. Includes archived records. */
  record(object: ObjectTypeName, id: string): RecordResource | undefined;
  /** Returns the live record with this value, or the oldest if there are several. An e-mail value also matches additional addresses. */
  recordBy(object: ObjectTypeName, property: string, value: string): RecordResource | undefined;
  /** Returns the ids of the associated records of one object type, without archived records. */
  associated(object: ObjectTypeName, id: string, to: ObjectTypeName): string[];
  properties(object: ObjectTypeName): Property[];
  /** Creates a property. The default group is the object's standard group. */
  createProperty(object: ObjectTypeName, property: Omit<NewProperty, 'groupName'> & { groupName?: string }): void;
  removeProperty(object: ObjectTypeName, name: string): void;
  /** Replaces the allowed values of an enumeration property. */
  setOptions(object: ObjectTypeName, name: string, values: string[]): void;
  /** Acts as an administrator who makes a property required on the creation form of an object type. */
  requireOnCreate(object: ObjectTypeName, property: string): void;
  /** Acts as an administrator who makes a property required if another property has a certain value. */
  requireWhen(object: ObjectTypeName, property: string, when: { property: string; is: string }): void;
  /** Adds a pipeline of deals with the named stages. Returns the ids that HubSpot assigns. */
  addPipeline(label: string, stages: readonly string[]): Pipeline;
  /** Adds a subscription type. Returns the id of the type. */
  addSubscriptionType(name: string): number;
  /** Returns the subscription status of an e-mail address; undefined if no status was set. */
  subscription(address: string, id: number): SubscriptionStatus | undefined;
  /** Acts as a contact who follows the unsubscribe link in a mail. */
  unsubscribe(address: string, id: number): void;
  /** Acts as a contact who unsubscribes from all mails. */
  unsubscribeFromAll(address: string): void;
}

/** Returns the manual actions on a world. */
export function byHand(world: World): ByHand {
  const see = (object: ObjectTypeName, record: StoredRecord): RecordResource =>
    toResource(record, { world, type: objectType(object), reader: 'person', properties: 'all' });
  return {
    add: (object, values) => createRecord(world, objectType(object), values, 'person').id,
    edit: (object, id, values) => {
      updateRecord(world, objectType(object), recordOf(world, object, id), values, 'person');
    },
    archive: (object, id) => archiveRecord(world, objectType(object), recordOf(world, object, id)),
    restore: (object, id) => restoreRecord(world, objectType(object), recordOf(world, object, id)),
    merge: (object, primaryId, otherId) => {
      const [first, second] = [recordOf(world, object, primaryId), recordOf(world, object, otherId)];
      return mergeRecords(world, objectType(object), first, second).id;
    },
    erase: (contactId) => eraseContact(world, objectType('contacts'), recordOf(world, 'contacts', contactId)),
    addEmail: (contactId, email) => addEmail(world, recordOf(world, 'contacts', contactId), email),
    records: (object, { archived = false } = {}) => {
      const wanted = world.records(object).values();
      return wanted
        .filter(({ archivedAt }) => (archivedAt !== undefined) === archived)
        .map((each) => see(object, each));
    },
    record: (object, id) => {
      const record = world.records(object).get(id);
      return record && see(object, record);
    },
    recordBy: (object, property, value) => {
      const store = world.records(object);
      const isIt = (record: StoredRecord) => record.archivedAt === undefined && record.properties[property] === value;
      const record = store.findBy(property, value) ?? store.values().find(isIt);
      return record && see(object, record);
    },
    associated: (object, id, to) => {
      const record = recordOf(world, object, id);
      const ids = world.associations.of({ object, id: record.id }, to).map((other) => other.id);
      return ids.filter((other) => world.records(to).get(other)?.archivedAt === undefined);
    },
    ...propertyVerbs(world),
    ...administratorVerbs(world),
  };
}

function administratorVerbs(world: World) {
  return {
    requireOnCreate: (object: ObjectTypeName, property: string): void => {
      world.rules.push({ object, property, when: 'created' });
    },
    requireWhen: (object: ObjectTypeName, property: string, when: { property: string; is: string }): void => {
      world.rules.push({ object, property, when: when.property, is: when.is });
    },
    addPipeline: (label: string, stages: readonly string[]): Pipeline => {
      const pipeline = world.pipelines.add(label, stages);
      addOptions(world, 'pipeline', [pipeline]);
      addOptions(world, 'dealstage', pipeline.stages);
      return pipeline;
    },
    addSubscriptionType: (name: string): number => {
      const id = world.preferences.addType(name);
      const like = propertyOf(world, 'contacts', OPT_OUT);
      world.properties.replace('contacts', { ...like, name: `${OPT_OUT}_${id}`, label: `Opted out of email: ${name}` });
      return id;
    },
    subscription: (address: string, id: number): SubscriptionStatus | undefined =>
      world.preferences.status(address, id),
    unsubscribeFromAll: (address: string): void => world.preferences.unsubscribeFromAll(address),
    unsubscribe: (address: string, id: number): void => {
      const nothing = { legalBasis: undefined, legalBasisExplanation: undefined };
      world.preferences.set(address, id, {
        status: 'UNSUBSCRIBED',
        source: 'Email footer',
        ...nothing,
        at: world.now(),
      });
    },
  };
}

/** Adds options to an enumeration property of deals. Existing options remain. */
function addOptions(world: World, name: string, added: readonly { id: string; label: string }[]): void {
  const { options, ...property } = propertyOf(world, 'deals', name);
  const more = added.map(({ id: value, label }, index): PropertyOption => {
    return { label, value, displayOrder: options.length + index, hidden: false };
  });
  world.properties.replace('deals', { ...property, options: [...options, ...more] });
}

function propertyVerbs(world: World) {
  return {
    properties: (object: ObjectTypeName): Property[] => world.properties.list(object),
    createProperty: (
      object: ObjectTypeName,
      property: Omit<NewProperty, 'groupName'> & { groupName?: string },
    ): void => {
      const groupName = `${objectType(object).singular}information`;
      world.properties.create(object, { groupName, ...property }, world.now());
    },
    removeProperty: (object: ObjectTypeName, name: string): void => {
      propertyOf(world, object, name);
      removeProperty(world, objectType(object), name);
    },
    setOptions: (object: ObjectTypeName, name: string, values: string[]): void => {
      const options = values.map(
        (value, displayOrder): PropertyOption => ({ label: value, value, displayOrder, hidden: false }),
      );
      world.properties.replace(object, { ...propertyOf(world, object, name), options });
    },
  };
}

function addEmail(world: World, contact: StoredRecord, email: string): void {
  const address = email.trim().toLowerCase();
  const other = world.records('contacts').findBy('email', address);
  if (other) {
    throw new Error(`Contact ${other.id} has this e-mail address`);
  }
  const further = [...(contact.properties.hs_additional_emails ?? '').split(';'), address].filter(
    (each) => each !== '',
  );
  const properties = { ...contact.properties, hs_additional_emails: further.join(';') };
  world.records('contacts').put({ ...contact, properties, updatedAt: world.now() });
}

function recordOf(world: World, object: ObjectTypeName, id: string): StoredRecord {
  const record = world.records(object).get(id);
  if (!record) {
    throw new Error(`The sandbox has no ${object} record ${id}`);
  }
  return record;
}

function propertyOf(world: World, object: ObjectTypeName, name: string): Property {
  const property = world.properties.find(object, name);
  if (!property) {
    throw new Error(`The sandbox has no property ${name} of ${object}`);
  }
  return property;
}
