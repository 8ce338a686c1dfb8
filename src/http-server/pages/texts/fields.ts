import type { Language } from '../../languages.ts';

/** Fields of an event by the names that they have in fingerprints (`sync/identity.ts`). */
export const FIELDS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    title: 'title',
    description: 'notes',
    location: 'place',
    time: 'time',
    busy: 'busy or free',
    tentative: 'tentative',
    visibility: 'visibility',
    presets: 'colour, category or reminder',
    unknown: 'something that can’t be told',
    removed: 'removed',
  },
  it: {
    title: 'titolo',
    description: 'note',
    location: 'luogo',
    time: 'orario',
    busy: 'occupato o libero',
    tentative: 'provvisorio',
    visibility: 'visibilità',
    presets: 'colore, categoria o promemoria',
    unknown: 'qualcosa che non si può dire',
    removed: 'rimosso',
  },
};
