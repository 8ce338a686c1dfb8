import type { CrmTransform, SourceKind } from '../../settings/crm-schema.ts';
import { type FieldRules, type FieldValue, localDate } from './fields.ts';
import { cleanLines, titleCase } from './text.ts';

type Transform = (value: string | number, rules: FieldRules) => FieldValue;

/** What each does to a value that is there; that its kind fits is checked with the configuration. */
const TRANSFORMS: Readonly<Record<CrmTransform, Transform>> = {
  e164: (value, { phone }) => phone(String(value)),
  lower: (value) => String(value).toLowerCase(),
  upper: (value) => String(value).toUpperCase(),
  'title-case': (value) => titleCase(String(value)),
  date: dateOf,
  year: (value, rules) => Number(dateOf(value, rules).split('-', 1)[0]),
  'first-line': (value) => String(value).split('\n', 1)[0] ?? null,
};

/** A value after its transforms, and whether a text was given up because it is no telephone number. */
export function transformed(
  value: FieldValue,
  transforms: readonly CrmTransform[],
  rules: FieldRules,
): { value: FieldValue; isPhoneUnusable: boolean } {
  let current = value;
  for (const name of transforms) {
    if (current === null || typeof current === 'boolean') break;
    current = TRANSFORMS[name](current, rules);
    if (current === null && name === 'e164') return { value: null, isPhoneUnusable: true };
    if (typeof current === 'string') current = cleanLines(current) || null;
  }
  return { value: current, isPhoneUnusable: false };
}

/** An instant is a number here, a date a text. */
function dateOf(value: string | number, { zone }: FieldRules): string {
  return typeof value === 'number' ? localDate(zone, value) : value;
}

/** An instant in the form that CRMs get, ISO 8601 in UTC with milliseconds; other kinds stay as they are. */
export function asProperty(value: FieldValue, kind: SourceKind): FieldValue {
  return kind === 'instant' && typeof value === 'number' ? new Date(value).toISOString() : value;
}
