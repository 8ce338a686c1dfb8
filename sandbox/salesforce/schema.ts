import { noSuchField, notFound } from './errors.ts';
import { type Field, type FieldAccess, type FieldOptions, toField } from './fields.ts';
import { objectsOf, type StandardObject } from './objects.ts';

/** An object of the org; `fields` has the field names in lower case as keys. */
export interface SObject extends Omit<StandardObject, 'fields'> {
  fields: ReadonlyMap<string, Field>;
}

const SYSTEM: FieldOptions[] = [
  { name: 'Id', type: 'id', readOnly: true },
  { name: 'IsDeleted', type: 'boolean', readOnly: true },
  { name: 'CreatedDate', type: 'datetime', readOnly: true },
  { name: 'LastModifiedDate', type: 'datetime', readOnly: true },
  { name: 'SystemModstamp', type: 'datetime', readOnly: true },
];
const MASTER: FieldOptions = { name: 'MasterRecordId', type: 'reference', readOnly: true };
/**
 * The default owner is the user that creates the record. An empty owner is refused, as users of data import report
 * (https://intercom.help/salescore/ja/articles/11596181); the error code is an assumption of the sandbox.
 */
const OWNER: FieldOptions = {
  name: 'OwnerId',
  type: 'reference',
  referenceTo: ['User'],
  relationshipName: 'Owner',
  required: true,
};

/** Objects, their fields, and the access of the integration's user to each field. Names are case-insensitive. */
export class Schema {
  readonly #objects = new Map<string, SObject>();
  readonly #access = new Map<string, FieldAccess>();

  /** Throws Error if a custom field has no known object or no name in the form `…__c`. */
  constructor(customFields: Record<string, FieldOptions[]>, personAccounts: boolean) {
    for (const object of objectsOf(customFields, personAccounts)) {
      const system = [...SYSTEM, ...(object.mergeable ? [MASTER] : []), ...(object.readOnly ? [] : [OWNER])];
      const fields = [...system, ...object.fields].map(toField);
      this.#objects.set(object.name.toLowerCase(), {
        ...object,
        fields: new Map(fields.map((field) => [field.name.toLowerCase(), field])),
      });
    }
    for (const [object, fields] of Object.entries(customFields)) {
      if (!this.find(object) || fields.some(({ name }) => !name.endsWith('__c'))) {
        throw new Error(`Custom fields need an object that exists and a name that ends with __c: ${object}`);
      }
    }
  }

  get objects(): SObject[] {
    return [...this.#objects.values()];
  }

  find(name: string): SObject | undefined {
    return this.#objects.get(name.toLowerCase());
  }

  /** Throws ApiError 404. */
  object(name: string): SObject {
    const found = this.find(name);
    if (!found) {
      throw notFound();
    }
    return found;
  }

  /**
   * Returns a field visible to the user; an administrator sees all fields. Throws ApiError 400 INVALID_FIELD, which refuses the whole
   * request.
   */
  field(object: SObject, name: string, isAdministrator = false): Field {
    const found = object.fields.get(name.toLowerCase());
    if (!found || (!isAdministrator && this.access(object, found) === 'hidden')) {
      throw noSuchField(name, object.name);
    }
    return found;
  }

  /** Returns the fields visible to the user. */
  visibleFields(object: SObject): Field[] {
    return [...object.fields.values()].filter((field) => this.access(object, field) !== 'hidden');
  }

  access(object: SObject, field: Field): FieldAccess {
    return this.#access.get(accessKey(object, field)) ?? 'edit';
  }

  /** Sets the access of the integration's user to a field. Throws ApiError if the object or the field is unknown. */
  setAccess(objectName: string, fieldName: string, access: FieldAccess): void {
    const object = this.object(objectName);
    const field = object.fields.get(fieldName.toLowerCase());
    if (!field) {
      throw noSuchField(fieldName, object.name);
    }
    this.#access.set(accessKey(object, field), access);
  }
}

function accessKey(object: SObject, field: Field): string {
  return `${object.name}.${field.name}`;
}
