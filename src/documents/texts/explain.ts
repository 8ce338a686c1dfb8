import type { Comparison } from '../../control/explain.ts';
import { type DecisionCode, DECISIONS as ENGLISH_DECISIONS } from '../../control/explain.ts';
import type { Language } from '../../messages/message.ts';
import type { HoldKind } from '../../model/plan.ts';
import type { Texts } from '../document.ts';

const en = {
  title: 'Why is it, or is it not, in the calendar?',
  titleOf: (id: string) => `Appointment ${id}`,
  search: 'Id of the appointment in the clinic',
  find: 'Explain',
  empty: 'Give the id of an appointment: its way into each target appears here, with the evidence of each step.',
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
  absent: 'the clinic has no such appointment',
  unusable: (code: string, field: string) => `its row can’t be used (${code} in ${field})`,
  unknown: 'the clinic could not be asked',
  lastCycle: 'last cycle',
  cycleFailed: (code: string) => `it failed (${code})`,
  noCycle: 'no cycle yet',
  shown: 'belongs here',
  notShown: 'does not belong here',
  never: 'not yet',
  fields: (fields: string) => `differs: ${fields}`,
  waits: 'waits, next try',
  fails: (code: string, attempts: number) => `failed ${attempts} times (${code}), next try`,
  parked: (code: string) => `waits for a change or an operator (${code}), next try`,

  present: 'to be written',
  notPresent: 'to be removed',
  stands: (code: string) => `the whole target stands still (${code})`,
  held: 'in a hold',
  nothingWritten: 'nothing was written',
  writtenUnknown: 'written; the time of a first write is not kept',
  version: 'version',
  revision: 'revision',
  named: 'under the name',
  starting: 'starting',
  history: 'What runs changed',
  updated: 'changed',
  deleted: 'removed',
  run: 'run',
  asWritten: 'as written',
  notSince: 'not read back since it was written',
  byHandEdited: (fields: string) => `edited by hand (${fields})`,
  byHandRemoved: 'deleted by hand',
  repair: 'restored with the next cycle, unless that was done too often today',
  keep: 'kept until the appointment changes',
  report: 'left until the appointment changes, for an operator to look at',
  nothingToRead: 'nothing to read back',
  week: 'See it in the week',
};

/** The words of an appointment's way. */
export const EXPLAIN: Texts<typeof en> = {
  en,
  it: {
    title: 'Perché c’è, o non c’è, nel calendario?',
    titleOf: (id) => `Appuntamento ${id}`,
    search: 'Codice dell’appuntamento nella clinica',
    find: 'Spiega',
    empty:
      'Scrivi il codice di un appuntamento: qui appare il suo percorso verso ogni destinazione, con le prove di ogni passo.',
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
    absent: 'la clinica non ha questo appuntamento',
    unusable: (code, field) => `la sua riga non è utilizzabile (${code} in ${field})`,
    unknown: 'non si è potuta interrogare la clinica',
    lastCycle: 'ultimo ciclo',
    cycleFailed: (code) => `non è riuscito (${code})`,
    noCycle: 'ancora nessun ciclo',
    shown: 'deve esserci',
    notShown: 'non deve esserci',
    never: 'non ancora',
    fields: (fields) => `diverso: ${fields}`,
    waits: 'in attesa, prossimo tentativo',
    fails: (code, attempts) => `non riuscito ${attempts} volte (${code}), prossimo tentativo`,
    parked: (code) => `attende un cambiamento o una persona (${code}), prossimo tentativo`,
    present: 'da scrivere',
    notPresent: 'da togliere',
    stands: (code) => `tutta la destinazione è ferma (${code})`,
    held: 'in una sospensione',
    nothingWritten: 'non è stato scritto nulla',
    writtenUnknown: 'scritto; l’ora di una prima scrittura non si conserva',
    version: 'versione',
    revision: 'revisione',
    named: 'con il nome',
    starting: 'inizio',
    history: 'Che cosa hanno cambiato i cicli',
    updated: 'cambiato',
    deleted: 'tolto',
    run: 'ciclo',
    asWritten: 'come scritto',
    notSince: 'non riletto da quando è stato scritto',
    byHandEdited: (fields) => `cambiato a mano (${fields})`,
    byHandRemoved: 'tolto a mano',
    repair: 'corretto con il prossimo ciclo, se oggi non è già successo troppe volte',
    keep: 'resta finché l’appuntamento cambia',
    report: 'lasciato a chi lo guarda',
    nothingToRead: 'niente da rileggere',
    week: 'Vedilo nella settimana',
  },
};

/** Why an appointment is shown, or is not. */
export const DECISIONS: Texts<Readonly<Record<DecisionCode, string>>> = {
  en: ENGLISH_DECISIONS,
  it: {
    'tenant-paused': 'la clinica è in pausa',
    'target-paused': 'la destinazione è in pausa',
    absent: 'la clinica non ha questo appuntamento',
    unread: 'non si è potuta interrogare la clinica, o la risposta non era utilizzabile',
    forgotten: 'il suo paziente è stato dimenticato su richiesta',
    agenda: 'la sua agenda non alimenta questa destinazione',
    treatment: 'la destinazione non mostra la sua prestazione',
    'blocked-time': 'la destinazione non mostra il tempo bloccato',
    status: 'la destinazione non mostra il suo stato',
    'before-window': 'è prima della finestra: quel che è scritto resta',
    'beyond-window': 'è oltre la finestra: sarà scritto quando si avvicina',
    pinned: 'un annullamento lo ha rimesso, qualunque siano le regole',
    'of-contact': 'passa le regole; anche il suo paziente deve essere tra i contatti',
    shown: 'la sua agenda alimenta questa destinazione, lo stato è mostrato ed è nella finestra',
  },
};

/** What a comparison found. */
export const COMPARISONS: Readonly<Record<Language, Readonly<Record<Comparison, string>>>> = {
  en: {
    none: 'nothing is there, and nothing waits',
    same: 'the same as was written',
    newer: 'the clinic tells another time by now: the next cycle sees it',
    gone: 'the clinic has it no more, and it still stands there',
    new: 'to be written for the first time',
    differs: 'to be written again',
    removal: 'to be taken out',
  },
  it: {
    none: 'non c’è nulla, e nulla attende',
    same: 'uguale a quel che è scritto',
    newer: 'la clinica ora dice un altro orario: lo vede il prossimo ciclo',
    gone: 'la clinica non lo ha più, e lì c’è ancora',
    new: 'da scrivere per la prima volta',
    differs: 'da scrivere di nuovo',
    removal: 'da togliere',
  },
};

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

/** A rule that leaves appointments out, in words; a code that has none is shown as it is. */
export function ruleName(rule: string, language: Language): string {
  const names: Readonly<Record<string, string>> = DECISIONS[language];
  return names[rule] ?? rule;
}
