import type { LoginLinkDescription } from '../control/logins.ts';
import type { Language } from '../messages/message.ts';

/**
 * What a login is for: the clinic's own system; a calendar that we make, by a permission that reaches no other; a calendar by a permission that
 * reaches others too; a CRM.
 */
export type ConnectKind = 'clinic' | 'own-calendar' | 'calendar' | 'crm';

/** How vendors call themselves; what is not here has a word in each language. */
export const VENDORS: Readonly<Partial<Record<LoginLinkDescription['vendor'], string>>> = {
  google: 'Google',
  microsoft: 'Microsoft',
  hubspot: 'HubSpot',
  salesforce: 'Salesforce',
};

interface ConnectWords {
  title(clinic: string): string;
  intro: string;
  will: string;
  wont: string;
  kinds: Readonly<Record<ConnectKind, { will: readonly string[]; wont: readonly string[] }>>;
  expected: string;
  goOn(vendor: string): string;
  vendor: Readonly<Record<'clinic' | 'other', string>>;
  once: string;
  caution: string;
}

/** The words of the page at which a practitioner connects an account. */
export const CONNECT: Readonly<Record<Language, ConnectWords>> = {
  en: {
    title: (clinic) => `Connect your account to ${clinic}`,
    intro:
      'The clinic asks for your consent. On the next page you choose your account and see the permission once more.',
    will: 'What will be done',
    wont: 'What will not be done',
    kinds: {
      clinic: {
        will: ['Read the clinic’s appointments, agendas and what belongs to them, with your rights'],
        wont: ['Change anything in the clinic system by itself, but for what patients answer to their reminders'],
      },
      'own-calendar': {
        will: ['Make one calendar in your account', 'Keep the clinic’s appointments in it up to date'],
        wont: [
          'Read or change events of your other calendars: the permission does not reach them',
          'Invite anybody or write to anybody',
        ],
      },
      calendar: {
        will: ['Keep the clinic’s appointments up to date in the calendar that the clinic has chosen'],
        wont: [
          'Change or delete an event that it did not write itself',
          'Store anything of your other events: the permission covers them too, but only its own are looked for',
        ],
      },
      crm: {
        will: ['Keep contacts, and what belongs to them, as the clinic’s data say'],
        wont: ['Delete contacts that it did not make itself'],
      },
    },
    expected: 'Account that is expected',
    goOn: (vendor) => `Continue with ${vendor}`,
    vendor: { clinic: 'the clinic system', other: 'your account' },
    once: 'The button works once. You can withdraw your consent at any time in the settings of your account, or tell the clinic.',
    caution: 'Go on only if the clinic has sent you this link.',
  },
  it: {
    title: (clinic) => `Colleghi il suo account a ${clinic}`,
    intro: 'La clinica le chiede il consenso. Nella pagina seguente sceglie il suo account e rivede il permesso.',
    will: 'Che cosa si farà',
    wont: 'Che cosa non si farà',
    kinds: {
      clinic: {
        will: ['Leggere gli appuntamenti e le agende della clinica, e ciò che vi appartiene, con i suoi permessi'],
        wont: ['Cambiare da sé qualcosa nel gestionale, tranne ciò che i pazienti rispondono ai promemoria'],
      },
      'own-calendar': {
        will: ['Creare un calendario nel suo account', 'Tenervi aggiornati gli appuntamenti della clinica'],
        wont: [
          'Leggere o cambiare gli eventi degli altri suoi calendari: il permesso non li raggiunge',
          'Invitare qualcuno o scrivere a qualcuno',
        ],
      },
      calendar: {
        will: ['Tenere aggiornati gli appuntamenti della clinica nel calendario che la clinica ha scelto'],
        wont: [
          'Cambiare o cancellare eventi che non ha scritto da sé',
          'Conservare altri suoi eventi: il permesso comprende anche quelli, ma si cercano solo i propri',
        ],
      },
      crm: {
        will: ['Tenere i contatti, e ciò che vi appartiene, come dicono i dati della clinica'],
        wont: ['Cancellare contatti che non ha creato da sé'],
      },
    },
    expected: 'Account previsto',
    goOn: (vendor) => `Continua con ${vendor}`,
    vendor: { clinic: 'il gestionale', other: 'il suo account' },
    once: 'Il pulsante funziona una volta. Può ritirare il consenso in ogni momento nelle impostazioni del suo account, oppure dirlo alla clinica.',
    caution: 'Prosegua solo se questo link le è stato inviato dalla clinica.',
  },
};
