import type { HoldKind } from '../../core/model/plan.ts';
import type { FieldChange, FieldValue } from '../../core/model/plan-view.ts';
import type { Language } from '../../messages/message.ts';
import { type Inline, type Span, type Texts, toned } from './document.ts';

/** Names of event fields, by the field names in fingerprints (`engine/identity.ts`). */
const FIELDS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    title: 'title',
    description: 'notes',
    location: 'place',
    time: 'time',
    zone: 'time zone',
    busy: 'busy or free',
    tentative: 'tentative',
    visibility: 'visibility',
    presets: 'colour, category or reminder',
    unknown: 'a field that is not known',
    removed: 'removed',
  },
  it: {
    title: 'titolo',
    description: 'note',
    location: 'luogo',
    time: 'orario',
    zone: 'fuso orario',
    busy: 'occupato o libero',
    tentative: 'provvisorio',
    visibility: 'visibilità',
    presets: 'colore, categoria o promemoria',
    unknown: 'qualcosa che non si può dire',
    removed: 'rimosso',
  },
};

/** Words for coded field values. Other values are shown unchanged. */
const SPOKEN: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: { busy: 'busy', free: 'free', yes: 'yes', no: 'no', private: 'private', default: 'as its calendar' },
  it: { busy: 'occupato', free: 'libero', yes: 'sì', no: 'no', private: 'privato', default: 'come il suo calendario' },
};

const en = {
  none: 'nothing',
  withheld: 'not shown',
  unread: 'not read',
  days: (from: string, to: string) => `${from} to ${to}, not included`,
};

/** Words for field values that are not text. */
const VALUES: Texts<typeof en> = {
  en,
  it: {
    none: 'nulla',
    withheld: 'non mostrato',
    unread: 'non letto',
    days: (from, to) => `dal ${from} al ${to} escluso`,
  },
};

/** Returns the word for a text from the clinic or a vendor. The text can be any string, such as `constructor`. */
function wordOf(words: Readonly<Record<string, string>>, text: string): string {
  return (Object.hasOwn(words, text) ? words[text] : undefined) ?? text;
}

/** Returns the display name of a field. CRM fields keep the CRM's name. */
export function fieldName(field: string, language: Language = 'en'): string {
  return wordOf(FIELDS[language], field);
}

/** Joins display names of fields into a list. */
export function fieldNames(fields: readonly string[], language: Language): string {
  return new Intl.ListFormat(language, { type: 'conjunction' }).format(
    fields.map((field) => fieldName(field, language)),
  );
}

/**
 * Lists the changes of an object field by field: old and new value of an update, or the value of a created or deleted object. Null if the
 * fields are unknown.
 * @param options.isUpdate the object exists before and after the change
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
      return wordOf(SPOKEN[language], value.text);
    default:
      return toned('quiet', words[value.kind]);
  }
}

/** Names of the changes that a hold stops. */
export const HOLD_NAMES: Readonly<Record<Language, Readonly<Record<HoldKind, string>>>> = {
  en: {
    vanished: 'removals of appointments that the clinic no longer shows',
    cancelled: 'removals of appointments cancelled in the clinic',
    'first-run': 'all writes of a first sync',
    replaced: 'a read that replaces nearly all data',
    people: 'writes of patient data',
    'manual-changes': 'restorations of many events removed by hand',
    corrections: 'messages to patients about a changed appointment',
  },
  it: {
    vanished: 'rimozioni di ciò che la clinica non mostra più',
    cancelled: 'rimozioni di ciò che la clinica ha annullato',
    'first-run': 'tutto il primo ciclo',
    replaced: 'una lettura che sostituisce quasi tutto',
    people: 'scritture di persone',
    'manual-changes': 'ripristino di molti eventi eliminati a mano',
    corrections: 'messaggi ai pazienti che il loro appuntamento è cambiato',
  },
};

const REASONS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    new: 'new',
    'content-changed': 'changed',
    cancelled: 'cancelled',
    excluded: 'no longer belongs here',
    vanished: 'gone from the clinic',
    'edited-by-hand': 'edited by hand',
    'removed-by-hand': 'deleted by hand',
    forgotten: 'forgotten',
    rescheduled: 'rescheduled',
  },
  it: {
    new: 'nuovi',
    'content-changed': 'modificati',
    cancelled: 'annullati',
    excluded: 'non appartengono più qui',
    vanished: 'scomparsi dalla clinica',
    'edited-by-hand': 'modificati a mano',
    'removed-by-hand': 'cancellati a mano',
    forgotten: 'dimenticati',
    rescheduled: 'spostati',
  },
};

/** Returns the reason of a change in words. A code without words is shown unchanged. */
export function reasonWord(reason: string, language: Language): string {
  return REASONS[language][reason] ?? reason;
}
