import type { FoundState } from '../../../control/find-appointments.ts';
import type { Texts } from '../../../documents/document.ts';

const states: Readonly<Record<FoundState, string>> = {
  'on-hold': 'on hold',
  failing: 'failing',
  waiting: 'waiting',
  'changed-by-hand': 'changed by hand',
  'in-calendar': 'in the calendar',
  excluded: 'excluded',
};

const en = {
  ...states,
  id: 'Id',
  date: 'Date',
  time: 'Time',
  doctor: 'Doctor',
  state: 'Status',
  any: 'any',
  find: 'Find',
  hint: 'Without a date, the search covers today and the next six days. A time also finds appointments within 30 minutes.',
  found: (count: number) => (count === 1 ? '1 appointment' : `${count} appointments`),
  none: 'No appointment matches.',
  more: (count: number) => `${count} more: narrow the search.`,
  starts: 'Starts',
  record: 'Id',
  targets: 'Targets',
  notRead: 'Cannot read the clinic: only appointments with a waiting change or on hold are listed',
};

/** Texts of the search for appointments. */
export const SEARCH: Texts<typeof en> = {
  en,
  it: {
    'on-hold': 'da confermare',
    failing: 'non riuscito',
    waiting: 'in attesa',
    'changed-by-hand': 'modificato a mano',
    'in-calendar': 'nel calendario',
    excluded: 'escluso',
    id: 'Id',
    date: 'Data',
    time: 'Ora',
    doctor: 'Medico',
    state: 'Stato',
    any: 'tutti',
    find: 'Cerca',
    hint: 'Senza data la ricerca riguarda oggi e i sei giorni successivi. Un’ora trova anche gli appuntamenti entro 30 minuti.',
    found: (count) => (count === 1 ? '1 appuntamento' : `${count} appuntamenti`),
    none: 'Nessun appuntamento corrisponde.',
    more: (count) => `altri ${count}: restringere la ricerca.`,
    starts: 'Inizia',
    record: 'Id',
    targets: 'Destinazioni',
    notRead:
      'Impossibile leggere la clinica: sono elencati solo gli appuntamenti con una modifica in attesa o da confermare',
  },
};
