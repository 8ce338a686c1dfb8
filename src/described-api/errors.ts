import { paths } from './path-schemas.ts';
import { isJsonObject, valueAt } from './paths.ts';

/** Paths of an error body, which every description spells alike. */
export const errorPaths = {
  codePaths: paths.describe('Paths of the error code in an error body.'),
  detailPaths: paths.describe('Paths of the names of invalid fields.'),
};

/** Format of a field name; a name with a space, or a number, may be a value. */
const FIELD =
  /^[A-Za-z_][A-Za-z0-9_]{0,39}(?:(?:\.\d{1,3})?(?:\.|\[\]\.?|\[\d{1,3}\]\.?)[A-Za-z_][A-Za-z0-9_]{0,39}){0,5}$/;
/** Members of an error's detail that contain only a field name: `name` may be a person's name. */
const NAMES_OF_FIELDS = ['field', 'path', 'pointer', 'property', 'parameter'];

/** Returns the texts at the paths of an error body, such as its codes; a number is a text of digits. */
export function textsAt(body: unknown, paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const value = valueAt(body, path);
    return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
  });
}

/** Returns field names in an error's detail: `start`, `/slot/start`, `$.start`, `["body", "start"]`. A text may be a value, and names no field. */
export function fieldNamesIn(detail: unknown): string[] {
  if (isJsonObject(detail)) return Object.keys(detail).flatMap(fieldName);
  if (!Array.isArray(detail)) return [];
  return detail.filter(isJsonObject).flatMap((row) => {
    const reported = NAMES_OF_FIELDS.map((name) => row[name]).find((each) => each !== undefined && each !== null);
    return fieldName(reported ?? row.loc);
  });
}

function fieldName(reported: unknown): string[] {
  const parts = Array.isArray(reported)
    ? reported.filter((part) => !['body', 'query', 'path'].includes(String(part)))
    : [reported];
  const text = parts.every((part) => typeof part === 'string' || typeof part === 'number') ? parts.join('.') : '';
  const name = text.replace(/^\$\./, '').replace(/^#?\//, '').replaceAll('/', '.');
  return FIELD.test(name) ? [name] : [];
}
