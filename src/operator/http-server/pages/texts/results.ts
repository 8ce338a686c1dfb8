import type { Texts } from '../../../documents/document.ts';
import { counted } from '../counted.ts';

const enCount = counted('en');
const itCount = counted('it');

const en = {
  read: (n: number) => `Read ${enCount(n, 'appointment', 'appointments')}`,
  readNothing: 'Read no appointments',
  wrote: (n: number) => `wrote ${enCount(n, 'change', 'changes')}`,
  wroteNothing: 'wrote nothing',
  hadAll: 'wrote nothing, because every target already has the current data',
  decided: (n: number) => `planned ${enCount(n, 'change', 'changes')}`,
  pending: (n: number) => `${enCount(n, 'change', 'changes')} still to write`,
  failed: (n: number) => `${enCount(n, 'change', 'changes')} failed`,
  held: (n: number) => `${enCount(n, 'change', 'changes')} on hold`,
  serversAway: (n: number) => enCount(n, 'server does not answer', 'servers do not answer'),
  partial: 'the list of the clinic was incomplete',
  targetsFailed: (n: number) => enCount(n, 'target has a problem', 'targets have a problem'),
  endedEarly: 'The run ended early',
  checked: (objects: number, targets: number) =>
    `Compared ${enCount(objects, 'event or contact', 'events and contacts')} in ${enCount(targets, 'target', 'targets')}`,
  noEdits: 'found no manual changes',
  edited: (n: number) => `${n} edited by hand`,
  removedByHand: (n: number) => `${n} removed by hand`,
  repair: 'The next run restores them.',
  keep: 'They stay as they are.',
  report: 'They stay until you decide.',
  notRead: (n: number) => enCount(n, 'target was not read', 'targets were not read'),
  retry: (clinics: number, targets: number) =>
    `The daemon now retries ${enCount(targets, 'target', 'targets')} of ${enCount(clinics, 'clinic', 'clinics')}. If the server answers, its problem disappears from this page.`,
  retryReads: (clinics: number) =>
    `The daemon now reads ${enCount(clinics, 'clinic', 'clinics')} again. If the server answers, its problem disappears from this page.`,
  retriedNothing: 'Nothing was waiting for this server: no request was sent.',
  withdrawn: 'The link is revoked and no longer works.',
  withdrawnNothing: 'The link was already used, revoked or expired: nothing has changed.',
  linksLeft: (n: number) => `${enCount(n, 'unused link remains', 'unused links remain')}.`,
  noLinksLeft: 'No unused link remains.',
  accepted: (pending: number) =>
    `The account is confirmed. The daemon now writes ${enCount(pending, 'pending change', 'pending changes')}.`,
  acceptedNone: 'The account is confirmed. No change was waiting for it.',
  acceptedAgain: 'The account was already confirmed: nothing has changed.',
  toClinic: 'See the clinic',
  saved: 'The configuration is saved. The daemon applies it now.',
  savedSame: 'The document is saved as it was: nothing has changed.',
  added: 'The clinic is added. The first run starts when the clinic is connected.',
  removed:
    'The clinic is removed. Its events and contacts stay in calendars and CRMs; the daemon deletes its stored state later.',
  removedToFile:
    'The clinic is no longer managed on this page. A file now configures it; its state and connections stay.',
  toConnections: 'Connect the clinic',
  ended: (n: number) => `${enCount(n, 'session has', 'sessions have')} ended. Its browser must sign in again.`,
  endedNothing: 'No such session was open: nothing has changed.',
  runWrote: (n: number, target: string, time: string) =>
    `The run at ${time} wrote ${enCount(n, 'change', 'changes')} to “${target}”.`,
  runPlanned: (n: number, target: string, { time, pending }: { time: string; pending: number }) =>
    `The run at ${time} planned ${enCount(n, 'change', 'changes')} to “${target}”; ${enCount(pending, 'change is', 'changes are')} still to write.`,
  runNothing: (target: string, time: string) => `The run at ${time} had no change to write to “${target}”.`,
  runHeld: (n: number) => `${enCount(n, 'change', 'changes')} of this run wait for approval.`,
  runEnded: (time: string) => `A run has ended since the decision, at ${time}.`,
  toRun: 'See the run',
  otherHolds: (n: number) => enCount(n, 'other hold waits for a decision', 'other holds wait for a decision'),
  noOtherHolds: 'No other hold waits for a decision.',
  restored: (n: number, of: number) => `Restored ${n} of ${enCount(of, 'record', 'records')}`,
  restoredNone: (of: number) => `Nothing was restored: 0 of ${enCount(of, 'record', 'records')}`,
  restoresLater: (n: number) => `${n} not restored yet`,
  notRestored: (n: number) => `${n} not possible, with the reason below`,
};

/** Texts that tell the result of an action. */
export const RESULTS: Texts<typeof en> = {
  en,
  it: {
    read: (n) => `Letti ${itCount(n, 'appuntamento', 'appuntamenti')}`,
    readNothing: 'Nessun appuntamento letto',
    wrote: (n) => `scritte ${itCount(n, 'modifica', 'modifiche')}`,
    wroteNothing: 'nessuna modifica scritta',
    hadAll: 'nessuna modifica scritta, perché ogni destinazione ha già i dati attuali',
    decided: (n) => `pianificate ${itCount(n, 'modifica', 'modifiche')}`,
    pending: (n) => `${itCount(n, 'modifica', 'modifiche')} ancora da scrivere`,
    failed: (n) => itCount(n, 'modifica non riuscita', 'modifiche non riuscite'),
    held: (n) => `${itCount(n, 'modifica', 'modifiche')} da confermare`,
    serversAway: (n) => itCount(n, 'server non risponde', 'server non rispondono'),
    partial: 'l’elenco della clinica era incompleto',
    targetsFailed: (n) => itCount(n, 'destinazione ha un problema', 'destinazioni hanno un problema'),
    endedEarly: 'L’esecuzione è terminata in anticipo',
    checked: (objects, targets) =>
      `Confrontati ${itCount(objects, 'evento o contatto', 'eventi e contatti')} in ${itCount(targets, 'destinazione', 'destinazioni')}`,
    noEdits: 'nessuna modifica manuale trovata',
    edited: (n) => `${n} modificati a mano`,
    removedByHand: (n) => `${n} eliminati a mano`,
    repair: 'La prossima esecuzione li ripristina.',
    keep: 'Restano come sono.',
    report: 'Restano fino a una decisione.',
    notRead: (n) => itCount(n, 'destinazione non è stata letta', 'destinazioni non sono state lette'),
    retry: (clinics, targets) =>
      `Il daemon riprova ora ${itCount(targets, 'destinazione', 'destinazioni')} di ${itCount(clinics, 'clinica', 'cliniche')}. Se il server risponde, il problema scompare da questa pagina.`,
    retryReads: (clinics) =>
      `Il daemon legge ora di nuovo ${itCount(clinics, 'clinica', 'cliniche')}. Se il server risponde, il problema scompare da questa pagina.`,
    retriedNothing: 'Nulla era in attesa di questo server: nessuna richiesta è stata inviata.',
    withdrawn: 'Il link è revocato e non funziona più.',
    withdrawnNothing: 'Il link era già usato, revocato o scaduto: nulla è cambiato.',
    linksLeft: (n) => `${itCount(n, 'link non ancora usato resta', 'link non ancora usati restano')}.`,
    noLinksLeft: 'Non resta alcun link non usato.',
    accepted: (pending) =>
      `L’account è confermato. Il daemon scrive ora ${itCount(pending, 'modifica in coda', 'modifiche in coda')}.`,
    acceptedNone: 'L’account è confermato. Nessuna modifica era in attesa.',
    acceptedAgain: 'L’account era già confermato: nulla è cambiato.',
    toClinic: 'Vedi la clinica',
    saved: 'La configurazione è salvata. Il daemon la applica ora.',
    savedSame: 'Il documento è salvato com’era: nulla è cambiato.',
    added: 'La clinica è aggiunta. La prima esecuzione inizia quando la clinica è collegata.',
    removed:
      'La clinica è rimossa. Eventi e contatti restano nei calendari e nei CRM; il daemon elimina più tardi lo stato memorizzato.',
    removedToFile:
      'La clinica non è più gestita in questa pagina. Ora la configura un file; stato e collegamenti restano.',
    toConnections: 'Collega la clinica',
    ended: (n) => `${itCount(n, 'sessione terminata', 'sessioni terminate')}. Il browser deve accedere di nuovo.`,
    endedNothing: 'Nessuna sessione di questo tipo era aperta: nulla è cambiato.',
    runWrote: (n, target, time) =>
      `L’esecuzione delle ${time} ha scritto ${itCount(n, 'modifica', 'modifiche')} in “${target}”.`,
    runPlanned: (n, target, { time, pending }) =>
      `L’esecuzione delle ${time} ha pianificato ${itCount(n, 'modifica', 'modifiche')} in “${target}”; ${itCount(pending, 'modifica è', 'modifiche sono')} ancora da scrivere.`,
    runNothing: (target, time) => `L’esecuzione delle ${time} non aveva modifiche da scrivere in “${target}”.`,
    runHeld: (n) => `${itCount(n, 'modifica', 'modifiche')} di questa esecuzione da confermare.`,
    runEnded: (time) => `Un’esecuzione è terminata dopo la decisione, alle ${time}.`,
    toRun: 'Vedi l’esecuzione',
    otherHolds: (n) =>
      itCount(n, 'altra sospensione attende una decisione', 'altre sospensioni attendono una decisione'),
    noOtherHolds: 'Nessun’altra sospensione attende una decisione.',
    restored: (n, of) => `Ripristinati ${n} di ${itCount(of, 'record', 'record')}`,
    restoredNone: (of) => `Nulla è stato ripristinato: 0 di ${itCount(of, 'record', 'record')}`,
    restoresLater: (n) => `${n} non ancora ripristinati`,
    notRestored: (n) => `${n} non possibili, con il motivo sotto`,
  },
};
