import type { Language } from '../languages.ts';
import { DECISIONS } from './texts/explain.ts';
import { FIELDS } from './texts/fields.ts';

/** Names of fields in a row, as people read them; those of a CRM are called as the CRM calls them. */
export function fieldNames(fields: readonly string[], language: Language): string {
  return new Intl.ListFormat(language, { type: 'conjunction' }).format(
    fields.map((field) => nameIn(FIELDS[language], field)),
  );
}

/** A rule that leaves appointments out, in words. */
export function ruleName(code: string, language: Language): string {
  return nameIn(DECISIONS[language], code);
}

/** A code that has no words here is shown as it is. */
function nameIn(names: Readonly<Record<string, string>>, code: string): string {
  return names[code] ?? code;
}
