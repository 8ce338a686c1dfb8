import { OBJECT_TYPES, type ObjectType } from './object-types.ts';

/** Scopes that need Enterprise and the account's consent to hold sensitive data. */
export const SENSITIVE_SCOPES: readonly string[] = OBJECT_TYPES.flatMap(({ scope }) =>
  ['sensitive', 'highly_sensitive'].flatMap((level) =>
    ['read', 'write'].map((access) => `crm.objects.${scope}.${level}.${access}`),
  ),
);

/** The scopes that every account can grant. */
export const PLAIN_SCOPES: readonly string[] = [
  'oauth',
  'communication_preferences.read_write',
  'communication_preferences.statuses.batch.read',
  'communication_preferences.statuses.batch.write',
  ...new Set(
    OBJECT_TYPES.flatMap(({ scope }) =>
      ['objects', 'schemas'].flatMap((area) => ['read', 'write'].map((access) => `crm.${area}.${scope}.${access}`)),
    ),
  ),
];

/** Returns the scope that a token needs for records of a type. */
export function objectScope(type: ObjectType, access: 'read' | 'write'): string {
  return `crm.objects.${type.scope}.${access}`;
}

/** Returns the scopes for the properties of a type; one of the scopes is sufficient. */
export function schemaScopes(type: ObjectType, access: 'read' | 'write'): string[] {
  const schema = `crm.schemas.${type.scope}.${access}`;
  return access === 'read' ? [schema, objectScope(type, 'read')] : [schema];
}
