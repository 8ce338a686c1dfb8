import { UNKNOWN_FIELD } from '../sync/identity.ts';

/** The name of a field that differs, as a person reads it. */
export function fieldName(field: string): string {
  return field === UNKNOWN_FIELD ? 'a field that is not known' : field;
}
