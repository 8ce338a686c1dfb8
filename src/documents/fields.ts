import type { Language } from '../messages/message.ts';
import type { FieldChange, FieldValue } from '../model/plan-view.ts';
import { type Inline, type Span, toned } from './document.ts';
import { FIELDS, SPOKEN, VALUES } from './texts/fields.ts';

/** The name of a field for readers; a field of a CRM is called as the CRM calls it. */
export function fieldName(field: string, language: Language = 'en'): string {
  return FIELDS[language][field] ?? field;
}

/** Names of fields in a row. */
export function fieldNames(fields: readonly string[], language: Language): string {
  return new Intl.ListFormat(language, { type: 'conjunction' }).format(
    fields.map((field) => fieldName(field, language)),
  );
}

/**
 * What would change of an object, field by field: the present value and the next one; of an object that comes or goes only its values. Null
 * where nothing is known.
 * @param options.isUpdate the object is there before and after
 */
export function fieldChangeLines(
  changes: readonly FieldChange[],
  language: Language,
  { isUpdate = false } = {},
): (Span & { is: 'lines' }) | null {
  if (changes.length === 0) return null;
  const comes = !isUpdate && changes.every(({ before }) => before.kind === 'none');
  const goes = !isUpdate && changes.every(({ after }) => after.kind === 'none');
  const lines = changes.map(({ field, before, after }) => {
    const name = [toned('quiet', fieldName(field, language)), ' '];
    if (comes || goes) return [name, valueText(comes ? after : before, language)];
    return [name, valueText(before, language), ' → ', valueText(after, language)];
  });
  return { is: 'lines', lines, folded: null };
}

function valueText(value: FieldValue, language: Language): Inline {
  const words = VALUES[language];
  switch (value.kind) {
    case 'time':
      return { is: 'range', startAt: value.startAt, endAt: value.endAt };
    case 'days':
      return words.days(value.startDate, value.endDate);
    case 'text':
      return SPOKEN[language][value.text] ?? value.text;
    default:
      return toned('quiet', words[value.kind]);
  }
}
