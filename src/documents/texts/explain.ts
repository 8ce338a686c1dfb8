import { type Comparison, DECISIONS } from '../../control/record-schemas.ts';
import { type Language, type Message, message, render } from '../../messages/message.ts';
import type { Texts } from '../document.ts';

const ON_HOLD = message('sync-health.on-hold');

const en = {
  title: 'Why is it, or is it not, in the calendar?',
  titleOf: (id: string) => `Appointment ${id}`,
  search: 'Id of the appointment in the clinic',
  find: 'Explain',
  empty:
    'Enter the id of an appointment. This page then shows each step from the clinic to each target, with evidence.',
  nobodyKnows:
    'The clinic has no appointment with this id, and no target ever received one: check the id. The plan lists ids.',
  asJson: 'As JSON',
  command: 'As a command',
  steps: 'Steps',
  read: 'Read from the clinic',
  rules: 'Rules',
  compared: 'Compared',
  written: 'Written',
  readBack: 'Read back',
  there: (status: string, agenda: string) => `${status}, agenda ${agenda}, starts`,
  changedAt: 'changed in the clinic',
  absent: render(DECISIONS.absent),
  unusable: (code: string, field: string) => `the clinic record is unusable (${code} in ${field})`,
  unknown: 'the clinic did not respond',
  lastCycle: 'last cycle',
  cycleFailed: (code: string) => `failed (${code})`,
  noCycle: 'no cycle yet',
  shown: 'belongs here',
  notShown: 'does not belong here',
  never: 'not yet',
  fields: (fields: string) => `differs: ${fields}`,
  waits: 'waiting, next retry',
  fails: (code: string, attempts: number) => `failed ${attempts} times (${code}), next retry`,
  parked: (code: string) => `waiting for a change or an administrator (${code}), next retry`,

  present: 'to be written',
  notPresent: 'to be removed',
  stands: (code: string) => `the target is stopped (${code})`,
  held: render(ON_HOLD),
  nothingWritten: 'nothing was written',
  writtenUnknown: 'written; the time of the first write is not stored',
  version: 'version',
  revision: 'revision',
  named: 'named',
  starting: 'starting',
  history: 'What runs changed',
  updated: 'changed',
  deleted: 'removed',
  run: 'run',
  asWritten: 'as written',
  notSince: 'not read back since the write',
  byHandEdited: (fields: string) => `edited manually (${fields})`,
  byHandRemoved: 'deleted manually',
  unmarked: 'a program or the server removed the marks of clinic-mirror; the name or id identifies the object',
  repair: 'restored by the next cycle, unless the daily limit is reached',
  keep: 'kept until the appointment changes',
  report: 'unchanged until the appointment changes; review required',
  nothingToRead: 'nothing to read back',
  week: 'Show in the week',
};

/** Words of the explanation of an appointment. */
export const EXPLAIN: Texts<typeof en> = {
  en,
  it: {
    title: 'Perché c’è, o non c’è, nel calendario?',
    titleOf: (id) => `Appuntamento ${id}`,
    search: 'Codice dell’appuntamento nella clinica',
    find: 'Spiega',
    empty:
      'Inserire il codice di un appuntamento: la pagina mostra ogni passo dalla clinica a ogni destinazione, con le prove.',
    nobodyKnows:
      'La clinica non ha alcun appuntamento con questo id, e nessuna destinazione ne ha mai ricevuto uno: controllare l’id. Il piano elenca gli id.',
    asJson: 'Come JSON',
    command: 'Come comando',
    steps: 'Passi',
    read: 'Letto dalla clinica',
    rules: 'Regole',
    compared: 'Confrontato',
    written: 'Scritto',
    readBack: 'Riletto',
    there: (status, agenda) => `${status}, agenda ${agenda}, inizia`,
    changedAt: 'cambiato nella clinica',
    absent: render(DECISIONS.absent, 'it'),
    unusable: (code, field) => `il dato della clinica non è utilizzabile (${code} in ${field})`,
    unknown: 'la clinica non ha risposto',
    lastCycle: 'ultimo ciclo',
    cycleFailed: (code) => `non è riuscito (${code})`,
    noCycle: 'ancora nessun ciclo',
    shown: 'deve esserci',
    notShown: 'non deve esserci',
    never: 'non ancora',
    fields: (fields) => `diverso: ${fields}`,
    waits: 'in attesa, prossimo tentativo',
    fails: (code, attempts) => `non riuscito ${attempts} volte (${code}), prossimo tentativo`,
    parked: (code) => `in attesa di una modifica o di un amministratore (${code}), prossimo tentativo`,
    present: 'da scrivere',
    notPresent: 'da togliere',
    stands: (code) => `la destinazione è ferma (${code})`,
    held: render(ON_HOLD, 'it'),
    nothingWritten: 'non è stato scritto nulla',
    writtenUnknown: 'scritto; l’ora della prima scrittura non è conservata',
    version: 'versione',
    revision: 'revisione',
    named: 'con il nome',
    starting: 'inizio',
    history: 'Modifiche dei cicli',
    updated: 'cambiato',
    deleted: 'tolto',
    run: 'ciclo',
    asWritten: 'come scritto',
    notSince: 'non riletto da quando è stato scritto',
    byHandEdited: (fields) => `modificato a mano (${fields})`,
    byHandRemoved: 'tolto a mano',
    unmarked: 'un programma o il server ha tolto i contrassegni di clinic-mirror; il nome o l’id identifica l’oggetto',
    repair: 'ripristinato dal prossimo ciclo, salvo limite giornaliero raggiunto',
    keep: 'resta finché l’appuntamento cambia',
    report: 'invariato fino alla modifica dell’appuntamento; da verificare',
    nothingToRead: 'niente da rileggere',
    week: 'Mostra nella settimana',
  },
};

/** Words for results of a comparison. */
export const COMPARISONS: Readonly<Record<Language, Readonly<Record<Comparison, string>>>> = {
  en: {
    none: 'no event exists, and no write is pending',
    same: 'equal to the last write',
    newer: 'the time changed in the clinic: the next cycle updates the event',
    gone: 'the clinic no longer has the appointment, but the event still exists',
    new: 'to be written for the first time',
    differs: 'to be written again',
    removal: 'to be removed',
  },
  it: {
    none: 'nessun evento, nessuna scrittura in attesa',
    same: 'uguale all’ultima scrittura',
    newer: 'l’orario è cambiato nella clinica: il prossimo ciclo aggiorna l’evento',
    gone: 'la clinica non ha più l’appuntamento, ma l’evento esiste ancora',
    new: 'da scrivere per la prima volta',
    differs: 'da scrivere di nuovo',
    removal: 'da togliere',
  },
};

/** Returns the name of a rule that excludes appointments. A code without a name is shown unchanged. */
export function ruleName(rule: string, language: Language): string {
  const names: Readonly<Record<string, Message>> = DECISIONS;
  return render(names[rule] ?? rule, language);
}
