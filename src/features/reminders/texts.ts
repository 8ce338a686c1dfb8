import type { Texts } from '../../operator/documents/document.ts';

const en = {
  title: 'Replies of patients',
  about: 'Replies to reminders that ask for no end of messages. A reply is deleted after three days.',
  answered: 'After you have read a reply, delete it by its id, for example the first one:',
  none: 'No patient replied in the last three days.',
  headings: ['Time', 'Number', 'Reply', 'Id'],
  more: (rows: number) => `${rows} more`,
};
const it: typeof en = {
  title: 'Risposte dei pazienti',
  about: 'Risposte ai promemoria che non chiedono di fermare i messaggi. Una risposta è eliminata dopo tre giorni.',
  answered: 'Dopo aver letto una risposta, eliminarla con il suo id, ad esempio la prima:',
  none: 'Nessun paziente ha risposto negli ultimi tre giorni.',
  headings: ['Ora', 'Numero', 'Risposta', 'Id'],
  more: (rows) => `altre ${rows}`,
};

/** Words of the list of replies in both languages. */
export const REPLIES: Texts<typeof en> = { en, it };
