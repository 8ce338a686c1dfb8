import type { SCHEMAS_EN } from './schemas-en.ts';

/** Italian sentences about the settings of connectors and channels, and about profiles of clinics and CRMs, by code. */
export const SCHEMAS_IT = {
  'settings.name-rule': 'usa lettere minuscole, cifre e trattini, al massimo 41, senza trattino all’inizio',
  'settings.zone': 'indica un fuso orario IANA, come Europe/Rome',
  'settings.mail-address': 'indica un indirizzo e-mail, come reminders@clinic.example',
  'settings.text': 'scrivi qualcosa qui',

  'profile.path': 'indica nomi di campi separati da punti, come patient.firstName o phones[].number',
  'profile.time-path':
    'indica nomi di campi separati da punti, come slot.start, oppure due percorsi di questo tipo uniti da " + ": data + ora del giorno',
  'profile.answer-path':
    'indica nomi di campi separati da punti, come meta.next, oppure header: e il nome di un’intestazione',
  'profile.short-page': 'short-page richiede cap: senza, una pagina troncata sembra l’ultima; usa empty-page',
  'profile.no-next': 'no-next vale per gli stili cursor, next-link e link-header',
  'profile.empty-page': 'empty-page vale per gli stili offset-limit e page-size',
  'profile.rule-needs': '{rule} richiede {setting}',
  'profile.number': 'indica un id, una parola, una scelta o un flag di questo elenco',
  'profile.filters': 'from e to vanno indicati insieme',
  'profile.page-url':
    'scrivi un indirizzo https con {placeholder} nel percorso, nella query o nel frammento, e nient’altro tra graffe',
  'profile.updated-at': 'richiede fields.updatedAt: senza, non si conosce l’ora dell’ultima modifica',
  'profile.pattern': 'indica un’espressione regolare',

  'description.path': 'indica nomi separati da punti, come data.people, oppure list[nome=valore] per scegliere',
  'description.header': 'scegli un’altra intestazione: questa la imposta clinic-mirror',
  'description.call-path': 'inizia con una barra; una query va sotto query',
  'description.body-only': '{placeholder} è ammesso solo nel corpo: i server registrano gli indirizzi nei log',
  'description.placeholder': '{placeholder} qui non ha significato; sono disponibili {placeholders}',
  'description.no-placeholder': '{placeholder} qui non ha significato; non ne è disponibile nessuno',
  'description.only': 'solo {placeholder} ha un significato qui',
  'description.needs': 'deve contenere {placeholders}',
  'description.page': 'indica un indirizzo http o https',
  'description.keys': 'più chiavi insieme richiedono {placeholder}: le altre sembrerebbero assenti',
  'description.created': 'indica dove la risposta contiene il record, o il suo id',
  'description.row': 'una riga può contenere {placeholders}',
  'description.paging': 'la chiamata richiede il segnaposto con cui si passa alla pagina successiva: {placeholders}',
  'description.stamp': 'qui è necessario: il contatto e la data si leggono da questo campo',
  'description.patients': 'è necessario per trovare il contatto a cui appartiene',
  'description.automations':
    'la descrizione non dice come le scritture evitano di avviare le automazioni: indica withoutAutomations, o lascia run',

  'salesforce.api-name': 'indica il nome API, come Contact o Clinic_Key__c',
  'salesforce.version': 'indica una versione da 50.0 in poi, come 68.0',
  'salesforce.duplicates-version': 'allowDuplicates richiede la versione {version} o una successiva',
  'hubspot.internal-name': 'inizia con una lettera e usa a-z, 0-9 e _, come HubSpot vuole i suoi nomi interni',
  'hubspot.explanation':
    'indica in explanation dove e come i pazienti hanno dato il consenso: HubSpot lo conserva come prova della base giuridica',
  'hubspot.version': 'indica anno e mese di una versione, come 2026-09; v3 e v4 terminano nel 2027',
  'hubspot.object': 'indica l’id o il nome completo di un oggetto personalizzato, come 2-3141592',
  'caldav.address': 'indica un indirizzo https senza credenziali; http solo su questo host o verso un nome semplice',
  'caldav.server-needed': 'home: discover richiede server',
  'microsoft.mailbox': 'indica "me", o il nome principale utente (UPN) della casella',
  'sms.account': 'indica l’account SID: AC e 32 cifre esadecimali',
  'sms.sender': 'indica un numero come +393331234567, un numero breve, o un nome di al massimo 11 lettere',
  'sms.service': 'indica il SID di un servizio di messaggistica: MG e 32 cifre esadecimali',
  'sms.server': 'indica un indirizzo https, oppure http su questo host',
  'sms.one-sender': 'indica from oppure messagingServiceSid, non entrambi',
} as const satisfies Record<keyof typeof SCHEMAS_EN, string>;
