import type { FieldChange, FieldValue } from '../../model/field-changes.ts';
import { type Html, type HtmlPart, html } from '../../model/html.ts';
import type { PageContext } from './context.ts';
import { fieldNames } from './names.ts';
import { SPOKEN, VALUES } from './texts/fields.ts';

/**
 * What would change of an object, field by field: what is, and what becomes of it; of one that comes or goes what it has. Nothing where
 * nothing is told.
 * @param options.isUpdate the object is there before and after
 */
export function renderFieldChanges(
  context: PageContext,
  changes: readonly FieldChange[],
  { isUpdate = false } = {},
): Html | null {
  if (changes.length === 0) return null;
  const comes = !isUpdate && changes.every(({ before }) => before.kind === 'none');
  const goes = !isUpdate && changes.every(({ after }) => after.kind === 'none');
  const lines = changes.map(({ field, before, after }) => {
    const name = html`<span class="quiet">${fieldNames([field], context.language)}</span>`;
    if (comes || goes) return html`<li>${name} ${valueText(context, comes ? after : before)}</li>`;
    return html`<li>${name} ${valueText(context, before)} → ${valueText(context, after)}</li>`;
  });
  return html`<ul class="changes">${lines}</ul>`;
}

function valueText({ language, times }: PageContext, value: FieldValue): HtmlPart {
  const words = VALUES[language];
  switch (value.kind) {
    case 'time':
      return value.endAt === value.startAt
        ? times.at(value.startAt)
        : html`${times.at(value.startAt)}–${times.clock(value.endAt)}`;
    case 'days':
      return words.days(value.startDate, value.endDate);
    case 'text':
      return SPOKEN[language][value.text] ?? value.text;
    default:
      return html`<span class="quiet">${words[value.kind]}</span>`;
  }
}
