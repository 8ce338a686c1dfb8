import type { Texts } from '../../operator/documents/document.ts';

const en = {
  title: 'Retention',
  about:
    'What is stored, for how long, and how it ends. “Last deleted” shows the last check that found data past its period.',
  noCheck: 'No check has run yet: the first one follows the start of a daemon.',
  lastCheck: 'Last check',
  nextCheck: 'Next check',
  headings: ['Data', 'Period', 'Ends', 'Last deleted', 'Items'],
  ends: { check: 'by the check', expiry: 'by Redis expiry', use: 'with its object', never: 'never' },
  more: (rows: number) => `${rows} more`,
};

const it: typeof en = {
  title: 'Conservazione',
  about:
    'Cosa è conservato, per quanto, e come termina. “Ultima eliminazione” indica l’ultimo controllo che ha trovato dati scaduti.',
  noCheck: 'Nessun controllo finora: il primo segue l’avvio di un servizio.',
  lastCheck: 'Ultimo controllo',
  nextCheck: 'Prossimo controllo',
  headings: ['Dati', 'Periodo', 'Termina', 'Ultima eliminazione', 'Elementi'],
  ends: { check: 'con il controllo', expiry: 'con la scadenza', use: 'con l’oggetto', never: 'mai' },
  more: (rows) => `altri ${rows}`,
};

/** Words of the page in both languages. */
export const RETENTION: Texts<typeof en> = { en, it };

/** Kinds of stored data, as in docs/privacy.md: how they end, and their names. */
export const STORED_KINDS = {
  removed: { ends: 'check', en: 'removed tenants and targets', it: 'cliniche e destinazioni rimosse' },
  'audit-log': { ends: 'check', en: 'audit log', it: 'registro delle azioni' },
  approvals: { ends: 'check', en: 'approval requests', it: 'richieste di approvazione' },
  replies: { ends: 'check', en: 'replies of patients', it: 'risposte dei pazienti' },
  reminders: { ends: 'expiry', en: 'reminders', it: 'promemoria' },
  journals: { ends: 'expiry', en: 'run journals', it: 'diari delle esecuzioni' },
  history: { ends: 'expiry', en: 'history', it: 'storico' },
  'saved-plans': { ends: 'expiry', en: 'saved plans, API tasks', it: 'piani salvati, attività dell’API' },
  notifications: { ends: 'expiry', en: 'notifications', it: 'notifiche' },
  sessions: { ends: 'expiry', en: 'sessions', it: 'sessioni' },
  'page-limits': { ends: 'expiry', en: 'limits of the reminder page', it: 'limiti della pagina dei promemoria' },
  links: { ends: 'use', en: 'links, jobs, reports', it: 'collegamenti, lavori, resoconti' },
  outbox: { ends: 'use', en: 'outbox, holds', it: 'modifiche in attesa, sospensioni' },
  contacts: { ends: 'use', en: 'removed contacts', it: 'contatti rimossi' },
  triggers: { ends: 'use', en: 'triggers', it: 'notifiche ad altri programmi' },
  connections: { ends: 'use', en: 'connections', it: 'connessioni' },
  tombstones: { ends: 'never', en: 'tombstones, receipts, opt-outs', it: 'cancellazioni, ricevute, opposizioni' },
} as const;
