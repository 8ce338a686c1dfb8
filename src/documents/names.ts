import type { Language } from '../messages/message.ts';
import type { HoldKind } from '../model/plan.ts';
import type { FieldChange, FieldValue } from '../model/plan-view.ts';
import { type Inline, type Span, type Texts, toned } from './document.ts';

/** Fields of an event by the names that they have in fingerprints (`sync/identity.ts`). */
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

/** Values that stand for what they say; other texts are shown as they are. */
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

/** What fields hold that is no text of theirs. */
const VALUES: Texts<typeof en> = {
  en,
  it: {
    none: 'nulla',
    withheld: 'non mostrato',
    unread: 'non letto',
    days: (from, to) => `dal ${from} al ${to} escluso`,
  },
};

/** The word for a text of the clinic or of a vendor, which may be any: also one such as `constructor`. */
function wordOf(words: Readonly<Record<string, string>>, text: string): string {
  return (Object.hasOwn(words, text) ? words[text] : undefined) ?? text;
}

/** The name of a field for readers; a field of a CRM is called as the CRM calls it. */
export function fieldName(field: string, language: Language = 'en'): string {
  return wordOf(FIELDS[language], field);
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
      return wordOf(SPOKEN[language], value.text);
    default:
      return toned('quiet', words[value.kind]);
  }
}

/** What a hold keeps back. */
export const HOLD_NAMES: Readonly<Record<Language, Readonly<Record<HoldKind, string>>>> = {
  en: {
    vanished: 'removals of what the clinic no longer shows',
    cancelled: 'removals of what the clinic cancelled',
    'first-run': 'everything of a first run',
    replaced: 'a reading that replaces nearly everything',
    people: 'writes of people',
    corrections: 'messages to patients that their appointment has changed',
  },
  it: {
    vanished: 'rimozioni di ciò che la clinica non mostra più',
    cancelled: 'rimozioni di ciò che la clinica ha annullato',
    'first-run': 'tutto il primo ciclo',
    replaced: 'una lettura che sostituisce quasi tutto',
    people: 'scritture di persone',
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
  },
};

/** Why something was changed, in words; a code that has none is shown as it is. */
export function reasonWord(reason: string, language: Language): string {
  return REASONS[language][reason] ?? reason;
}
