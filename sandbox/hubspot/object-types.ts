/** The object types that the sandbox supports. */
export type ObjectTypeName = 'contacts' | 'companies' | 'deals' | 'meetings' | 'visits';

/** Definition of one object type in the API. */
export interface ObjectType {
  name: ObjectTypeName;
  /** As in `/crm/v3/objects/0-1`. */
  typeId: string;
  /** Set for a custom object: paths contain its number or this full name. */
  fullName?: RegExp;
  singular: string;
  /** A token needs `crm.objects.….read` and `.write` of this object type. Meetings use the scopes of contacts. */
  scope: string;
  /** Properties with the time of creation and of the last change. */
  createdProperty: string;
  modifiedProperty: string;
  /** Properties that a read returns by default, in addition to the two dates and the id. */
  shown: readonly string[];
  required: readonly string[];
}

/** Type ids and default properties: developers.hubspot.com, object type ids and search guide. */
export const OBJECT_TYPES: readonly ObjectType[] = [
  {
    name: 'contacts',
    typeId: '0-1',
    singular: 'contact',
    scope: 'contacts',
    createdProperty: 'createdate',
    modifiedProperty: 'lastmodifieddate',
    shown: ['email', 'firstname', 'lastname'],
    required: [],
  },
  {
    name: 'companies',
    typeId: '0-2',
    singular: 'company',
    scope: 'companies',
    createdProperty: 'createdate',
    modifiedProperty: 'hs_lastmodifieddate',
    shown: ['domain', 'name'],
    required: [],
  },
  {
    name: 'deals',
    typeId: '0-3',
    singular: 'deal',
    scope: 'deals',
    createdProperty: 'createdate',
    modifiedProperty: 'hs_lastmodifieddate',
    shown: ['amount', 'closedate', 'dealname', 'dealstage', 'pipeline'],
    required: [],
  },
  {
    name: 'meetings',
    typeId: '0-47',
    singular: 'meeting',
    scope: 'contacts',
    createdProperty: 'hs_createdate',
    modifiedProperty: 'hs_lastmodifieddate',
    shown: [],
    required: ['hs_timestamp'],
  },
  {
    name: 'visits',
    typeId: '2-3141592',
    fullName: /^p\d*_visits$/,
    singular: 'visit',
    scope: 'custom',
    createdProperty: 'hs_createdate',
    modifiedProperty: 'hs_lastmodifieddate',
    shown: [],
    required: [],
  },
];

/**
 * Returns the object type for the plural, the singular or the type id in a path; undefined if the sandbox does not support the object type.
 */
export function findObjectType(name: string): ObjectType | undefined {
  const wanted = name.toLowerCase();
  return OBJECT_TYPES.find(({ name: plural, singular, typeId, fullName }) =>
    fullName === undefined ? [plural, singular, typeId].includes(wanted) : typeId === wanted || fullName.test(wanted),
  );
}

/** Returns the object type with a known name. */
export function objectType(name: ObjectTypeName): ObjectType {
  const type = OBJECT_TYPES.find((each) => each.name === name);
  if (!type) {
    throw new Error(`The sandbox has no object type ${name}`);
  }
  return type;
}
