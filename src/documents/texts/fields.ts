import type { Language } from '../../messages/message.ts';
import type { Texts } from './texts.ts';

/** Fields of an event by the names that they have in fingerprints (`sync/identity.ts`). */
export const FIELDS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
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
export const SPOKEN: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
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
export const VALUES: Texts<typeof en> = {
  en,
  it: {
    none: 'nulla',
    withheld: 'non mostrato',
    unread: 'non letto',
    days: (from, to) => `dal ${from} al ${to} escluso`,
  },
};
