import type { Texts } from '../../../documents/texts/texts.ts';

const en = {
  'in-sync': 'in sync',
  waiting: 'waiting',
  failing: 'failing',
  held: 'held',
  excluded: 'left out',
  'by-hand': 'changed by hand',
  states: 'State',
  record: 'Record',
  why: 'Why',
  about: 'About',
  starts: 'Starts',
  since: 'Since',
  nextTry: 'Next try',
  week: 'Week',
  none: 'No record stands there.',
  left: 'Left out by the target’s rules, as of',
  countsOnly: 'Calendars tell how many are left out, not which.',
  command: 'The same as a command:',
};

/** The words of a target's records. */
export const RECORDS: Texts<typeof en> = {
  en,
  it: {
    'in-sync': 'sincronizzati',
    waiting: 'in attesa',
    failing: 'con errori',
    held: 'sospesi',
    excluded: 'esclusi',
    'by-hand': 'modificati a mano',
    states: 'Stato',
    record: 'Record',
    why: 'Perché',
    about: 'Riguarda',
    starts: 'Inizia',
    since: 'Da',
    nextTry: 'Prossimo tentativo',
    week: 'Settimana',
    none: 'Nessun record si trova qui.',
    left: 'Esclusi dalle regole della destinazione, alle',
    countsOnly: 'I calendari dicono quanti sono esclusi, non quali.',
    command: 'Lo stesso come comando:',
  },
};
