import { defaultProperties } from './default-properties.ts';
import { HubSpotError, invalidInput } from './errors.ts';
import { OBJECT_TYPES, type ObjectTypeName } from './object-types.ts';
import type { NewProperty, Property } from './property.ts';

/** Maximum number of unique properties of an object type (developers.hubspot.com, properties). */
const MAX_UNIQUE_PROPERTIES = 10;
const MAX_CUSTOM_PROPERTIES = 1000;

/** Field types that are allowed for each property type (developers.hubspot.com, properties). */
const FIELD_TYPES: Record<string, readonly string[]> = {
  string: ['text', 'textarea', 'html', 'file', 'phonenumber', 'calculation_equation'],
  number: ['number', 'calculation_equation'],
  date: ['date'],
  datetime: ['date'],
  enumeration: ['select', 'radio', 'checkbox', 'booleancheckbox', 'calculation_equation'],
  bool: ['booleancheckbox', 'calculation_equation'],
  phone_number: ['phonenumber'],
};

/** The properties and groups of all object types. */
export class PropertyCatalogue {
  readonly #properties = new Map<ObjectTypeName, Map<string, Property>>();
  readonly #groups = new Map<ObjectTypeName, Map<string, string>>();

  constructor() {
    for (const { name, singular } of OBJECT_TYPES) {
      const groupName = `${singular}information`;
      const properties = defaultProperties(name, groupName).map((each): [string, Property] => [each.name, each]);
      this.#properties.set(name, new Map(properties));
      this.#groups.set(name, new Map([[groupName, `${singular} information`]]));
    }
  }

  list(object: ObjectTypeName): Property[] {
    return [...this.#of(object).values()];
  }

  find(object: ObjectTypeName, name: string): Property | undefined {
    return this.#of(object).get(name);
  }

  /** Returns the properties by which a record can be found. */
  unique(object: ObjectTypeName): Property[] {
    return this.list(object).filter(({ hasUniqueValue }) => hasUniqueValue);
  }

  groups(object: ObjectTypeName): { name: string; label: string }[] {
    return [...(this.#groups.get(object) ?? [])].map(([name, label]) => ({ name, label }));
  }

  /** Throws HubSpotError 409 if the name is in use. */
  addGroup(object: ObjectTypeName, name: string, label: string): void {
    const groups = this.#groups.get(object) ?? new Map<string, string>();
    if (groups.has(name)) {
      throw taken('property group', name);
    }
    groups.set(name, label);
  }

  /** Creates a custom property. Throws HubSpotError 400 or 409. */
  create(object: ObjectTypeName, wanted: NewProperty, createdAt: number): Property {
    if (this.find(object, wanted.name)) {
      throw taken('property', wanted.name);
    }
    const property: Property = {
      description: '',
      options: [],
      hasUniqueValue: false,
      hidden: false,
      formField: false,
      externalOptions: false,
      dataSensitivity: 'non_sensitive',
      ...wanted,
      hubspotDefined: false,
      readOnly: false,
      createdAt,
    };
    this.#check(object, property);
    this.#of(object).set(property.name, property);
    return property;
  }

  /** Replaces a property with a changed version. Throws HubSpotError 400. */
  replace(object: ObjectTypeName, property: Property): void {
    checkShape(property);
    this.#of(object).set(property.name, property);
  }

  remove(object: ObjectTypeName, name: string): void {
    this.#of(object).delete(name);
  }

  #check(object: ObjectTypeName, property: Property): void {
    if (!/^[a-z][a-z0-9_]{0,99}$/.test(property.name)) {
      throw invalidInput('The name of a property must begin with a letter and hold only a-z, 0-9 and _.');
    }
    if (!this.#groups.get(object)?.has(property.groupName)) {
      throw invalidInput('There is no property group of this name.', { context: { group: [property.groupName] } });
    }
    checkShape(property);
    if (property.hasUniqueValue && this.unique(object).length >= MAX_UNIQUE_PROPERTIES) {
      throw invalidInput(`There may be at most ${MAX_UNIQUE_PROPERTIES} unique properties for an object type.`);
    }
    if (this.list(object).filter(({ hubspotDefined }) => !hubspotDefined).length >= MAX_CUSTOM_PROPERTIES) {
      throw invalidInput(`There may be at most ${MAX_CUSTOM_PROPERTIES} custom properties for an object type.`);
    }
  }

  #of(object: ObjectTypeName): Map<string, Property> {
    const properties = this.#properties.get(object);
    if (!properties) {
      throw new Error(`The sandbox has no object type ${object}`);
    }
    return properties;
  }
}

/** Throws HubSpotError 400 if type, field type, options and uniqueness are not compatible. */
function checkShape({ type, fieldType, options, hasUniqueValue, externalOptions }: Property): void {
  if (!FIELD_TYPES[type]?.includes(fieldType)) {
    throw invalidInput('The type and the fieldType of a property must go together.');
  }
  if (type === 'enumeration' && options.length === 0 && !externalOptions) {
    throw invalidInput('An enumeration needs options.');
  }
  if (new Set(options.map(({ value }) => value)).size < options.length) {
    throw invalidInput('The options of an enumeration must have different values.');
  }
  if (hasUniqueValue && !(['string', 'number'].includes(type) && ['text', 'number'].includes(fieldType))) {
    throw invalidInput('Only a single line of text or a number can be unique.');
  }
}

function taken(what: string, name: string): HubSpotError {
  return new HubSpotError(409, 'OBJECT_ALREADY_EXISTS', `A ${what} named '${name}' already exists.`);
}
