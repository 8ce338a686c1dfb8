import type { Texts } from '../document.ts';

const en = {
  title: (name: string, date: string) => `What changed in ${name} on ${date}`,
  counts: (created: number, updated: number, deleted: number) =>
    `${created} created, ${updated} changed, ${deleted} deleted.`,
  about:
    'The list has the changed and deleted objects, with the time of the record before and after. Titles, places and created objects are not recorded.',
  reach: 'Journals reach back to',
  nothing: 'No change or deletion is recorded for this day.',
  tooOld: 'The journals do not reach back to this day.',
  cut: 'The day has more changes than this list.',
  headings: ['When', 'Record', 'Change', 'Reason'],
  updated: 'changed',
  deleted: 'deleted',
  before: 'before: ',
  after: 'after: ',
  same: 'same time; other content changed: ',
  more: (rows: number) => `${rows} more`,
};

/** Texts of the changes of a target on one day. */
export const CHANGES: Texts<typeof en> = {
  en,
  it: {
    title: (name, date) => `Che cosa è cambiato in ${name} il ${date}`,
    counts: (created, updated, deleted) => `${created} creati, ${updated} modificati, ${deleted} eliminati.`,
    about:
      'L’elenco contiene gli oggetti modificati ed eliminati, con l’orario del record prima e dopo. Titoli, luoghi e oggetti creati non vengono registrati.',
    reach: 'I diari arrivano fino al',
    nothing: 'Nessuna modifica o eliminazione registrata per questo giorno.',
    tooOld: 'I diari non arrivano fino a questo giorno.',
    cut: 'Il giorno ha più modifiche di questo elenco.',
    headings: ['Quando', 'Record', 'Modifica', 'Motivo'],
    updated: 'modificato',
    deleted: 'eliminato',
    before: 'prima: ',
    after: 'dopo: ',
    same: 'stesso orario; è cambiato altro: ',
    more: (rows) => `altre ${rows}`,
  },
};
