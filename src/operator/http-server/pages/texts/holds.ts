import type { HoldKind } from '../../../../core/model/plan.ts';
import type { Language } from '../../../../messages/message.ts';
import type { Texts } from '../../../documents/document.ts';

const count = (one: string, many: string) => (n: number) => (n === 1 ? `1 ${one}` : `${n} ${many}`);

const en = {
  title: 'Holds',
  empty: 'No changes are on hold. A run that would remove unusually many events stops here until an operator decides.',
  kind: 'Changes',
  target: 'Target',
  items: 'Count',
  since: 'Since',
  state: 'Status',
  open: 'action required',
  approved: 'approved',
  rejected: 'rejected',
  titleOf: (changes: number) => `${count('change', 'changes')(changes)} on hold`,
  linked: (links: number) => `The target had ${count('event', 'events')(links)} when the hold began.`,
  limit: (limit: number, share: number, target: string | null) =>
    `More than ${limit} changes${target === null ? '' : ` of ${target}`}, and more than ${share} % of the total, at once require approval.`,
  usual: 'Usual',
  usualRange: (least: number, most: number) => (least === most ? `${most} a day` : `${least} to ${most} a day`),
  usualTold: (range: string, days: number) =>
    days < 10
      ? `Usual: ${range} (${count('known day', 'known days')(days)}).`
      : `Usual: ${range}, on at least nine of ten days.`,
  usualPeak: (most: number, day: string) => `Most: ${most} on ${day}.`,
  usualUnknown: 'No day is known yet.',
  knownSince: (day: string) => `Known since ${day}.`,
  uncounted: 'Changes that an operator approved are not counted.',
  thisHold: (n: number) => `This hold: ${n}.`,
  changesByDay: 'Changes of this kind in this target, by day',
  day: 'Day',
  notKnown: 'not known',
  asTable: 'As a table',
  removals: (n: number, from: string) => `${count('removal', 'removals')(n)} from ${from}`,
  restorations: (n: number, from: string) => `${count('restoration', 'restorations')(n)} in ${from}`,
  messages: (n: number) => count('message', 'messages')(n),
  changes: (n: number, from: string) => `${count('change', 'changes')(n)} in ${from}`,
  held: (what: string, n: number) => `${what} ${n === 1 ? 'waits' : 'wait'} for your decision`,
  otherAgendas: (n: number) => count('other agenda', 'other agendas')(n),
  elsewhere: (exceeded: string, target: string) =>
    `The same read exceeded the limit of ${exceeded}, so the changes in ${target} wait too.`,
  decision: 'Decision',
  agenda: 'Agenda',
  period: 'Period',
  ends: 'Expires without a decision',
  command: 'Command',
  unread: (code: string) => `Cannot read the list of the clinic (${code}). Times are the times in the target.`,
  byAgenda: 'By agenda',
  byDay: 'By day',
  noDay: 'No time',
  noAgenda: 'not in the current list of the clinic',
  ofDay: (n: number) => `all ${n} of this day`,
  ofAgenda: (n: number) => `all ${n} of this agenda`,
  tooMany: (most: number) =>
    `This page lists at most ${most} events one by one. Select by day or agenda, or use the command with a list of ids.`,
  keepAll: (n: number) => `Keep all ${n}…`,
  removeSelected: 'Remove selected…',
  removeAll: (n: number) => `Remove all ${n}…`,
  approveOther: (n: number) => `Approve ${n}…`,
  rejectOther: (n: number) => `Reject ${n}…`,
  changed: 'The hold changed after you opened this page. No decision was saved. The page now shows the current state.',
  nothingChosen: 'Select at least one event, or remove all.',
  wasDecided: 'Decision saved',
  willHappen: 'Result',
  willRemove: (n: number, target: string) => `The next run removes ${count('event', 'events')(n)} from “${target}”.`,
  restStays: (n: number) => `${count('other event stays', 'other events stay')(n)} on hold for a later decision.`,
  willKeep: (n: number, target: string) =>
    `${count('event stays', 'events stay')(n)} in “${target}”. For one week, clinic-mirror does not ask again.`,
  willGoOn: (n: number, target: string) =>
    `The next run writes ${count('change', 'changes')(n)} on hold to “${target}”.`,
  willGoOnPeople:
    'The next run writes pending patient data to all targets of this clinic. By approving, you confirm that no patient has to be excluded.',
  willRefuse: (target: string) => `clinic-mirror writes none of these changes to “${target}”.`,
  linkedCorrections: (informed: number) =>
    `Patients had received reminders for ${count('future appointment', 'future appointments')(informed)} when the hold began.`,
  willCorrect: (n: number) =>
    `The next run sends a correction to the patients of ${count('appointment', 'appointments')(n)}.`,
  willNotCorrect: (n: number) =>
    `The patients of ${count('appointment', 'appointments')(n)} receive no message. Each appointment stays listed as misinformed until it begins, changes again, or matches the reminder.`,
  doCorrect: (n: number) => `Send ${count('message', 'messages')(n)}`,
  doNotCorrect: 'Send nothing',
  correctAll: (n: number) => `Inform the patients of ${n}…`,
  correctNone: 'Send nothing…',
  undo: 'To restore removed events, undo the run.',
  second: (above: number) =>
    `More than ${above} changes require approval by two users: your request is recorded, and a second user repeats the decision here.`,
  requested: (name: string, items: string) =>
    `${name} has requested approval of ${items} changes: a second user must approve exactly the same changes.`,
  doRemove: (n: number) => `Remove ${count('event', 'events')(n)}`,
  doKeep: 'Keep the events',
  doApprove: 'Approve',
  doReject: 'Reject',
  back: 'Back',
  noted: 'Your request is recorded. A second user must now make the same decision.',
  refused: 'No decision was saved',
  record: 'Appointment',
  fields: 'Fields',
};

/** Texts of holds. */
export const HOLDS: Texts<typeof en> = {
  en,
  it: {
    title: 'Da confermare',
    empty:
      'Nessuna modifica è da confermare. Un’esecuzione che rimuoverebbe un numero insolito di eventi si ferma qui fino alla decisione di un operatore.',
    kind: 'Modifiche',
    target: 'Destinazione',
    items: 'Numero',
    since: 'Da',
    state: 'Stato',
    open: 'intervento richiesto',
    approved: 'approvata',
    rejected: 'rifiutata',
    titleOf: (changes) => `${count('modifica', 'modifiche')(changes)} da confermare`,
    linked: (links) => `La destinazione aveva ${count('evento', 'eventi')(links)} all’inizio della sospensione.`,
    limit: (limit, share, target) =>
      `Più di ${limit} modifiche${target === null ? '' : ` di ${target}`}, e più del ${share} % del totale, in una volta richiedono conferma.`,
    usual: 'Di solito',
    usualRange: (least, most) => (least === most ? `${most} al giorno` : `da ${least} a ${most} al giorno`),
    usualTold: (range, days) =>
      days < 10
        ? `Di solito: ${range} (${count('giorno noto', 'giorni noti')(days)}).`
        : `Di solito: ${range}, in almeno nove giorni su dieci.`,
    usualPeak: (most, day) => `Massimo: ${most} il ${day}.`,
    usualUnknown: 'Nessun giorno è ancora noto.',
    knownSince: (day) => `Noto dal ${day}.`,
    uncounted: 'Le modifiche approvate da un operatore non sono contate.',
    thisHold: (n) => `Questa sospensione: ${n}.`,
    changesByDay: 'Modifiche di questo tipo in questa destinazione, per giorno',
    day: 'Giorno',
    notKnown: 'non noto',
    asTable: 'Come tabella',
    removals: (n, from) => `${count('rimozione', 'rimozioni')(n)} da ${from}`,
    restorations: (n, from) => `${count('ripristino', 'ripristini')(n)} in ${from}`,
    messages: (n) => count('messaggio', 'messaggi')(n),
    changes: (n, from) => `${count('modifica', 'modifiche')(n)} in ${from}`,
    held: (what, n) => `${what} ${n === 1 ? 'attende' : 'attendono'} una decisione`,
    otherAgendas: (n) => count('altra agenda', 'altre agende')(n),
    elsewhere: (exceeded, target) =>
      `La stessa lettura ha superato il limite di ${exceeded}, quindi anche le modifiche in ${target} attendono.`,
    decision: 'Decisione',
    agenda: 'Agenda',
    period: 'Periodo',
    ends: 'Scade senza decisione',
    command: 'Comando',
    unread: (code) => `Impossibile leggere l’elenco della clinica (${code}). Gli orari sono quelli della destinazione.`,
    byAgenda: 'Per agenda',
    byDay: 'Per giorno',
    noDay: 'Senza orario',
    noAgenda: 'non nell’elenco attuale della clinica',
    ofDay: (n) => `tutte le ${n} di questo giorno`,
    ofAgenda: (n) => `tutte le ${n} di questa agenda`,
    tooMany: (most) =>
      `Questa pagina elenca al massimo ${most} eventi uno per uno. Selezionare per giorno o agenda, oppure usare il comando con un elenco di id.`,
    keepAll: (n) => `Mantieni tutti i ${n}…`,
    removeSelected: 'Rimuovi i selezionati…',
    removeAll: (n) => `Rimuovi tutti i ${n}…`,
    approveOther: (n) => `Approva ${n}…`,
    rejectOther: (n) => `Rifiuta ${n}…`,
    changed:
      'La sospensione è cambiata dopo l’apertura della pagina. Nessuna decisione è stata salvata. La pagina mostra ora lo stato attuale.',
    nothingChosen: 'Selezionare almeno un evento, oppure rimuoverli tutti.',
    wasDecided: 'Decisione salvata',
    willHappen: 'Risultato',
    willRemove: (n, target) => `La prossima esecuzione rimuove ${count('evento', 'eventi')(n)} da “${target}”.`,
    restStays: (n) => `${count('altro evento resta', 'altri eventi restano')(n)} in attesa di conferma.`,
    willKeep: (n, target) =>
      `${count('evento resta', 'eventi restano')(n)} in “${target}”. Per una settimana clinic-mirror non chiede più conferma.`,
    willGoOn: (n, target) =>
      `La prossima esecuzione scrive in “${target}” ${count('modifica sospesa', 'modifiche sospese')(n)}.`,
    willGoOnPeople:
      'La prossima esecuzione scrive i dati dei pazienti in coda in tutte le destinazioni di questa clinica. Approvando si conferma che nessun paziente deve essere escluso.',
    willRefuse: (target) => `clinic-mirror non scrive nessuna di queste modifiche in “${target}”.`,
    linkedCorrections: (informed) =>
      `All’inizio della sospensione i pazienti avevano ricevuto promemoria per ${count('appuntamento futuro', 'appuntamenti futuri')(informed)}.`,
    willCorrect: (n) =>
      `La prossima esecuzione invia una correzione ai pazienti di ${count('appuntamento', 'appuntamenti')(n)}.`,
    willNotCorrect: (n) =>
      `I pazienti di ${count('appuntamento', 'appuntamenti')(n)} non ricevono alcun messaggio. Ogni appuntamento resta elencato come comunicato in modo errato finché inizia, cambia di nuovo o coincide con il promemoria.`,
    doCorrect: (n) => `Invia ${count('messaggio', 'messaggi')(n)}`,
    doNotCorrect: 'Non inviare nulla',
    correctAll: (n) => `Informa i pazienti di ${n}…`,
    correctNone: 'Non inviare nulla…',
    undo: 'Per ripristinare gli eventi rimossi, annullare l’esecuzione.',
    second: (above) =>
      `Più di ${above} modifiche richiedono la conferma di due utenti: la richiesta viene registrata e un secondo utente ripete qui la decisione.`,
    requested: (name, items) =>
      `${name} ha richiesto la conferma di ${items} modifiche: un secondo utente deve confermare esattamente le stesse modifiche.`,
    doRemove: (n) => `Rimuovi ${count('evento', 'eventi')(n)}`,
    doKeep: 'Mantieni gli eventi',
    doApprove: 'Approva',
    doReject: 'Rifiuta',
    back: 'Indietro',
    noted: 'La richiesta è registrata. Ora un secondo utente deve prendere la stessa decisione.',
    refused: 'Nessuna decisione è stata salvata',
    record: 'Appuntamento',
    fields: 'Campi',
  },
};

/** Reasons of holds. */
export const HOLD_REASONS: Readonly<Record<Language, Readonly<Record<HoldKind, string>>>> = {
  en: {
    vanished:
      'The clinic’s list no longer shows these appointments. clinic-mirror has checked each appointment separately, or is about to. Were these appointments deleted?',
    cancelled: 'The clinic reports these appointments as cancelled: more than usual at once.',
    'first-run': 'This is the first run of this target. Its settings require approval before clinic-mirror writes.',
    replaced:
      'The clinic’s list shows almost none of the appointments in the target. The list may belong to another clinic.',
    'manual-changes':
      'Someone or a program removed these events from the target, more than clinic-mirror restores by itself (`guard.vanished`, or half of a small target). Approve to create the events again. Reject to leave them removed for a week.',
    people: 'The list of erased patients is uncertain: the state was lost or restored from an older copy.',
    corrections:
      'Many appointments changed within one hour after patients received reminders. The time zone or the clinic’s list may be wrong. Are these changes correct?',
  },
  it: {
    vanished:
      'L’elenco della clinica non mostra più questi appuntamenti. clinic-mirror ha verificato ogni appuntamento singolarmente, o sta per farlo. Gli appuntamenti sono stati eliminati?',
    cancelled: 'La clinica segnala questi appuntamenti come annullati: più del solito in una volta.',
    'first-run': 'Prima esecuzione di questa destinazione. Le impostazioni richiedono una conferma prima di scrivere.',
    replaced:
      'L’elenco della clinica non mostra quasi nessuno degli appuntamenti della destinazione. L’elenco può essere di un’altra clinica.',
    'manual-changes':
      'Qualcuno o un programma ha eliminato questi eventi dalla destinazione, più di quanti clinic-mirror ripristina da solo (`guard.vanished`, o metà di una destinazione piccola). Approva per crearli di nuovo. Rifiuta per lasciarli eliminati per una settimana.',
    people:
      'L’elenco dei pazienti cancellati è incerto: lo stato è andato perso o è stato ripristinato da una copia meno recente.',
    corrections:
      'Molti appuntamenti sono cambiati entro un’ora dopo l’invio dei promemoria. Il fuso orario o l’elenco della clinica possono essere errati. Le modifiche sono corrette?',
  },
};
