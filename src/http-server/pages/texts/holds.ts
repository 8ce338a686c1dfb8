import type { Texts } from '../../../documents/document.ts';
import type { Language } from '../../../messages/message.ts';
import type { HoldKind } from '../../../model/plan.ts';

const count = (one: string, many: string) => (n: number) => (n === 1 ? `1 ${one}` : `${n} ${many}`);

const en = {
  title: 'Holds',
  empty: 'Nothing is held. What would take away unusually much waits here until somebody decides.',
  kind: 'What is held',
  target: 'Target',
  items: 'Items',
  since: 'Since',
  state: 'State',
  open: 'waits for you',
  approved: 'approved',
  rejected: 'kept',
  titleOf: (items: number) => `Hold of ${items === 1 ? '1 item' : `${items} items`}`,
  why: 'Why',
  linked: (links: number) => `The target held ${count('event', 'events')(links)} when this was held.`,
  limit: (limit: number, share: number) =>
    `More than ${limit} and more than ${share} % of them at once wait for a person.`,
  usual: 'Usual here',
  usualRange: (least: number, most: number) => (least === most ? `${most} a day` : `${least}–${most} a day`),
  lastDays: 'in the last seven days, the newest first',
  ends: 'Undecided it is kept until',
  command: 'As a command',
  unread: (code: string) =>
    `The clinic’s list could not be read now (${code}): times are those that the target was given.`,
  byAgenda: 'By agenda',
  byDay: 'By day',
  noDay: 'Without a time',
  noAgenda: 'not in the clinic’s list now',
  ofDay: (n: number) => `all ${n} of this day`,
  ofAgenda: (n: number) => `all ${n} of this agenda`,
  tooMany: (most: number) =>
    `More than ${most} items can’t be chosen here one by one. Choose by day or agenda, or use the command with a list of ids.`,
  keep: 'Keep the events…',
  removeSelected: 'Remove selected…',
  removeAll: (n: number) => `Remove all ${n}…`,
  approveOther: 'Let it go on…',
  rejectOther: 'Refuse it…',
  changed: 'It changed since you looked at it, and nothing was decided: here it is as it is now.',
  nothingChosen: 'Choose at least one item, or remove all.',
  wasDecided: 'It was decided',
  willHappen: 'What will happen',
  willRemove: (n: number, target: string) =>
    `${count('event is', 'events are')(n)} removed from “${target}” with the next cycle.`,
  restStays: (n: number) => `${count('other stays', 'others stay')(n)} held and can be decided later.`,
  willKeep: (n: number, target: string) =>
    `${count('event stays', 'events stay')(n)} in “${target}”, and for a week this is not asked again.`,
  willGoOn: (n: number, target: string) =>
    `“${target}” goes on: what is held, ${count('item', 'items')(n)}, is written with the next cycle.`,
  willGoOnPeople:
    'What waits of people is written, in all targets of this clinic: you say that nobody has to be kept out.',
  willRefuse: (target: string) => `Nothing of it is written to “${target}”.`,
  linkedCorrections: (informed: number) =>
    `Patients had been told of ${count('appointment ahead', 'appointments ahead')(informed)} when this was held.`,
  willCorrect: (n: number) =>
    `The patients of ${count('appointment get', 'appointments get')(n)} a message that says what is true now, with the next cycle.`,
  willNotCorrect: (n: number) =>
    `The patients of ${count('appointment get', 'appointments get')(n)} no message. Each stays listed as misinformed until the appointment begins, changes again, or is as the patient was told.`,
  doCorrect: (n: number) => `Send ${count('message', 'messages')(n)}`,
  doNotCorrect: 'Send nothing',
  correctAll: (n: number) => `Tell the patients of ${n}…`,
  correctNone: 'Send nothing…',
  undo: 'Removed events can be put back by an undo of the run.',
  second: (above: number) =>
    `More than ${above} items take two persons: that you want this is noted, and somebody else then does the same here.`,
  requested: (name: string, items: string) =>
    `${name} wants to approve ${items} of these already: somebody else has to want exactly the same.`,
  doRemove: (n: number) => `Remove ${count('event', 'events')(n)}`,
  doKeep: 'Keep the events',
  doApprove: 'Let it go on',
  doReject: 'Refuse it',
  back: 'Back',
  noted: 'That you want this is noted. Somebody else now has to want the same.',
  refused: 'Nothing was decided',
  record: 'Appointment',
  fields: 'Field by field',
};

/** The words of holds. */
export const HOLDS: Texts<typeof en> = {
  en,
  it: {
    title: 'Sospensioni',
    empty: 'Non c’è nulla di sospeso. Ciò che toglierebbe più del solito aspetta qui finché qualcuno decide.',
    kind: 'Che cosa è sospeso',
    target: 'Destinazione',
    items: 'Elementi',
    since: 'Da',
    state: 'Stato',
    open: 'attende una decisione',
    approved: 'approvata',
    rejected: 'conservati',
    titleOf: (items) => `Sospensione di ${items === 1 ? '1 elemento' : `${items} elementi`}`,
    why: 'Perché',
    linked: (links) => `La destinazione aveva ${count('evento', 'eventi')(links)} quando è stata sospesa.`,
    limit: (limit, share) => `Più di ${limit} e più del ${share} % in una volta attendono una persona.`,
    usual: 'Di solito qui',
    usualRange: (least, most) => (least === most ? `${most} al giorno` : `${least}–${most} al giorno`),
    lastDays: 'negli ultimi sette giorni, dal più recente',
    ends: 'Senza decisione restano fino a',
    command: 'Come comando',
    unread: (code) => `L’elenco della clinica ora non si può leggere (${code}): gli orari sono quelli già scritti.`,
    byAgenda: 'Per agenda',
    byDay: 'Per giorno',
    noDay: 'Senza orario',
    noAgenda: 'ora non nell’elenco della clinica',
    ofDay: (n) => `tutti i ${n} di questo giorno`,
    ofAgenda: (n) => `tutti i ${n} di questa agenda`,
    tooMany: (most) =>
      `Più di ${most} elementi non si scelgono qui uno per uno. Si può scegliere per giorno o agenda, oppure usare il comando con un elenco di codici.`,
    keep: 'Conserva gli eventi…',
    removeSelected: 'Togli i selezionati…',
    removeAll: (n) => `Togli tutti i ${n}…`,
    approveOther: 'Lascia proseguire…',
    rejectOther: 'Rifiuta…',
    changed: 'È cambiata nel frattempo, e non è stato deciso nulla: eccola com’è ora.',
    nothingChosen: 'Scegliere almeno un elemento, oppure togliere tutti.',
    wasDecided: 'È stata decisa',
    willHappen: 'Che cosa succederà',
    willRemove: (n, target) =>
      `${count('evento è tolto', 'eventi sono tolti')(n)} da “${target}” con il prossimo ciclo.`,
    restStays: (n) => `${count('altro resta sospeso', 'altri restano sospesi')(n)} e si può decidere più tardi.`,
    willKeep: (n, target) =>
      `${count('evento resta', 'eventi restano')(n)} in “${target}”, e per una settimana non si chiede più.`,
    willGoOn: (n, target) =>
      `“${target}” prosegue: ciò che è sospeso, ${count('elemento', 'elementi')(n)}, è scritto con il prossimo ciclo.`,
    willGoOnPeople:
      'Ciò che attende di persone è scritto, in tutte le destinazioni di questa clinica: dici che nessuno dev’essere tenuto fuori.',
    willRefuse: (target) => `Non ne viene scritto nulla in “${target}”.`,
    linkedCorrections: (informed) =>
      `I pazienti avevano ricevuto messaggi per ${count('appuntamento futuro', 'appuntamenti futuri')(informed)} quando è stata sospesa.`,
    willCorrect: (n) =>
      `I pazienti di ${count('appuntamento ricevono', 'appuntamenti ricevono')(n)} un messaggio con ciò che è vero ora, con il prossimo ciclo.`,
    willNotCorrect: (n) =>
      `I pazienti di ${count('appuntamento non ricevono', 'appuntamenti non ricevono')(n)} alcun messaggio. Ciascuno resta elencato come informato male finché l’appuntamento comincia, cambia di nuovo o è come fu comunicato.`,
    doCorrect: (n) => `Invia ${count('messaggio', 'messaggi')(n)}`,
    doNotCorrect: 'Non inviare nulla',
    correctAll: (n) => `Avvisa i pazienti di ${n}…`,
    correctNone: 'Non inviare nulla…',
    undo: 'Gli eventi tolti si possono rimettere annullando il ciclo.',
    second: (above) =>
      `Oltre ${above} elementi servono due persone: la richiesta viene annotata, e un’altra persona poi fa lo stesso qui.`,
    requested: (name, items) =>
      `${name} vuole già approvarne ${items}: un’altra persona deve volere esattamente lo stesso.`,
    doRemove: (n) => `Togli ${count('evento', 'eventi')(n)}`,
    doKeep: 'Conserva gli eventi',
    doApprove: 'Lascia proseguire',
    doReject: 'Rifiuta',
    back: 'Indietro',
    noted: 'La richiesta è annotata. Ora un’altra persona deve volere lo stesso.',
    refused: 'Non è stato deciso nulla',
    record: 'Appuntamento',
    fields: 'Campo per campo',
  },
};

/** Why something is held. */
export const HOLD_REASONS: Readonly<Record<Language, Readonly<Record<HoldKind, string>>>> = {
  en: {
    vanished:
      'The clinic’s list no longer shows these appointments, and each was asked for alone, or is about to be. Are they really gone?',
    cancelled: 'The clinic says that these appointments are cancelled: more than usual at once.',
    'first-run': 'This is the first run of this target, and its settings ask for a look before anything is written.',
    replaced: 'The clinic’s list shows nearly nothing of what the target holds: it may be another clinic’s.',
    people: 'It is not known for certain who was forgotten, since the state was lost or went back.',
    corrections:
      'So many appointments changed within an hour after patients were reminded that the time zone or the clinic’s list may be wrong. Are these changes true?',
  },
  it: {
    vanished:
      'L’elenco della clinica non mostra più questi appuntamenti, e ciascuno è stato chiesto da solo, o sta per esserlo. Sono davvero spariti?',
    cancelled: 'La clinica dice che questi appuntamenti sono annullati: più del solito in una volta.',
    'first-run': 'È il primo ciclo di questa destinazione, e le impostazioni chiedono uno sguardo prima di scrivere.',
    replaced: 'L’elenco della clinica non mostra quasi nulla di ciò che c’è: può essere di un’altra clinica.',
    people: 'Non si sa con certezza chi è stato dimenticato, perché lo stato è andato perso o è tornato indietro.',
    corrections:
      'In un’ora sono cambiati, dopo il promemoria, così tanti appuntamenti che il fuso orario o l’elenco della clinica possono essere errati. Le modifiche sono vere?',
  },
};
