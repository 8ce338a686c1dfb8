import type { Texts } from '../../documents/document.ts';

const en = {
  title: 'Overlaps',
  about: (days: number) => `Appointments of one agenda at the same time, in the next ${days} days.`,
  none: 'No appointments overlap.',
  partial: 'The clinic’s list was incomplete: more appointments may overlap.',
  agenda: 'Agenda',
  first: 'Appointment',
  second: 'Overlaps with',
  from: 'Both from',
  minutes: 'Minutes',
  more: (rows: number) => `${rows} more`,
};

const it: typeof en = {
  title: 'Sovrapposizioni',
  about: (days) => `Appuntamenti della stessa agenda nello stesso orario, nei prossimi ${days} giorni.`,
  none: 'Nessun appuntamento si sovrappone.',
  partial: 'L’elenco della clinica era incompleto: possono esserci altre sovrapposizioni.',
  agenda: 'Agenda',
  first: 'Appuntamento',
  second: 'Si sovrappone a',
  from: 'Entrambi dalle',
  minutes: 'Minuti',
  more: (rows) => `altre ${rows}`,
};

/** Words of the report in both languages. */
export const OVERLAPS: Texts<typeof en> = { en, it };
