/** What errors of CRMs say, with the same in Italian (`connectors/<vendor>/errors.ts`). */
export const CRMS = {
  // HubSpot.
  'connect the HubSpot account again, or give a Service Key, or the token of a private app, that exists':
    'collegare di nuovo l’account HubSpot, oppure dare una Service Key, o il token di un’app privata, che esista',
  'add them to the app or the Service Key in HubSpot and connect again, or take the properties that need them out of the mapping':
    'aggiungerli in HubSpot all’app o alla Service Key e collegare di nuovo, oppure togliere dalla mappatura le proprietà che li richiedono',
  'HubSpot does not let the user who connected the app join records':
    'HubSpot non permette all’utente che ha collegato l’app di associare record',
  'give that user the permission Edit Associations in HubSpot, or connect as another, or by a Service Key':
    'dare a quell’utente in HubSpot il permesso Edit Associations, oppure collegare con un altro utente o con una Service Key',
  'HubSpot does not allow this to the login': 'HubSpot non lo permette a questo accesso',
  'look in HubSpot whether the app and the account may use this part of the CRM':
    'controllare in HubSpot se l’app e l’account possono usare questa parte del CRM',
  'a target in HubSpot needs its part crm': 'una destinazione in HubSpot richiede la parte crm',
  'give the target its crm part: stream and mapping': 'dare alla destinazione la parte crm: stream e mapping',
  'HubSpot has locked this kind of record for a moment': 'HubSpot ha bloccato per un momento questo tipo di record',
  'HubSpot is moving the account to another data centre': 'HubSpot sta spostando l’account in un altro data center',
  "the account's daily allowance of requests at HubSpot is spent":
    'le richieste giornaliere concesse all’account da HubSpot sono esaurite',
  'it begins again at midnight of the account; all its Service Keys and private apps share it':
    'ricomincia alla mezzanotte dell’account; la condividono tutte le sue Service Key e app private',
  'HubSpot refuses to search for records by our key': 'HubSpot rifiuta di cercare record per la nostra chiave',
  'patients become contacts, since what belongs to them is joined with contacts':
    'i pazienti diventano contatti, perché ciò che li riguarda viene associato ai contatti',
  'take object out of the settings of the target that follows patients':
    'togliere object dalle impostazioni della destinazione che segue i pazienti',
  'HubSpot has no such custom object': 'HubSpot non ha questo oggetto personalizzato',
  'make it in HubSpot, associated with contacts, or correct object in the settings: its id or its full name':
    'crearlo in HubSpot, associato ai contatti, oppure correggere object nelle impostazioni: il suo id o il nome completo',
  'HubSpot has no such subscription type': 'HubSpot non ha questo tipo di iscrizione',
  'make it in HubSpot, or correct its id under subscriptions in the settings of the target':
    'crearlo in HubSpot, oppure correggerne l’id sotto subscriptions nelle impostazioni della destinazione',
  'a subscription follows what the mapping does not give': 'un’iscrizione segue ciò che la mappatura non dà',
  'map the property from a consent, as in newsletter: consents.marketing, and email from the address':
    'mappare la proprietà da un consenso, come newsletter: consents.marketing, ed email dall’indirizzo',
  'HubSpot has no such property': 'HubSpot non ha questa proprietà',
  'create the properties in HubSpot, or correct their names in the mapping: internal names, not labels':
    'creare le proprietà in HubSpot, oppure correggerne i nomi nella mappatura: nomi interni, non etichette',
  'HubSpot fills the property itself': 'HubSpot compila da sé la proprietà',
  'take the properties out of the mapping, or map to others':
    'togliere le proprietà dalla mappatura, oppure usarne altre',
  'the property in HubSpot does not fit': 'la proprietà in HubSpot non è adatta',
  'map to properties of the right type, or change what the mapping gives; our own need names of their own':
    'usare proprietà del tipo giusto, oppure cambiare ciò che la mappatura dà; le nostre richiedono nomi propri',
  'the mapping names what a list in HubSpot does not have':
    'la mappatura indica qualcosa che un elenco in HubSpot non ha',
  'use one of the names, or ids, that the message lists; for a stage whose name several pipelines have map the pipeline too':
    'usare uno dei nomi, o id, elencati nel messaggio; per una fase il cui nome è in più pipeline, mappare anche la pipeline',
  'HubSpot refused to make the property': 'HubSpot ha rifiutato di creare la proprietà',
  'there may be at most ten unique properties of a kind of record, and no archived one of this name; make room, or give another name':
    'ogni tipo di record può avere al massimo dieci proprietà uniche, e nessuna archiviata con questo nome; fare posto o dare un altro nome',
  // Salesforce.
  'the login does not tell where the org is': 'l’accesso non dice dove si trova l’organizzazione',
  'log in again, or set instanceUrl': 'fare di nuovo l’accesso, oppure impostare instanceUrl',
  'the org sends to another address, which the login does not name':
    'l’organizzazione rimanda a un altro indirizzo, che l’accesso non indica',
  'log in again, or correct instanceUrl': 'fare di nuovo l’accesso, oppure correggere instanceUrl',
  'the org or the user may not use the API': 'l’organizzazione o l’utente non può usare l’API',
  'use an edition with API access, and give the user the permission API Enabled':
    'usare un’edizione con accesso API e dare all’utente il permesso API Enabled',
  'Salesforce does not serve this version of its API': 'Salesforce non offre questa versione della sua API',
  'set apiVersion to one that the org lists at /services/data':
    'impostare apiVersion su una di quelle che l’organizzazione elenca in /services/data',
  'the org lacks what the target needs': 'all’organizzazione manca ciò che serve alla destinazione',
  'set up the fields, or correct the mapping': 'preparare i campi, oppure correggere la mappatura',
  'the org has no such object or field any more, or hides it from the login':
    'l’organizzazione non ha più questo oggetto o campo, oppure lo nasconde a questo accesso',
  'run clinic-mirror sync: it names what is missing': 'dare il comando clinic-mirror sync: indica ciò che manca',
  'the org has no such object, or its key field is no external id, or the login may not see them':
    'l’organizzazione non ha questo oggetto, o il suo campo chiave non è un id esterno, o l’accesso non li vede',
  "the org's API calls of 24 hours are used up": 'le chiamate API dell’organizzazione per 24 ore sono esaurite',
  'as many calls run at once in the org as it allows':
    'nell’organizzazione sono in corso tante chiamate insieme quante ne permette',
  "more of the org's API calls of 24 hours are used than stopAtShare allows":
    'delle chiamate API dell’organizzazione per 24 ore ne sono usate più di quanto stopAtShare permette',
  'find out who uses them, or raise stopAtShare': 'scoprire chi le usa, oppure aumentare stopAtShare',
  "the org's storage is full": 'lo spazio dell’organizzazione è pieno',
  'make room in the org': 'fare spazio nell’organizzazione',
  // CRMs by a description.
  'the CRM gave an unexpected status': 'il CRM ha dato uno stato inatteso',
  'the CRM does not accept the login': 'il CRM non accetta l’accesso',
  'renew the key, password or login of the connection': 'rinnovare la chiave, la password o l’accesso del collegamento',
  'the CRM does not let this login do that': 'il CRM non permette a questo accesso di farlo',
  'give the login the right to read, write and delete these records':
    'dare all’accesso il diritto di leggere, scrivere e cancellare questi record',
  'the CRM asks for fewer requests': 'il CRM chiede meno richieste',
  'the CRM is not available': 'il CRM non è disponibile',
  'the CRM failed on the request': 'il CRM non è riuscito a elaborare la richiesta',
  'the mapping names what a list of the CRM does not have': 'la mappatura indica qualcosa che un elenco del CRM non ha',
  'use one of the names, or values, that the message lists': 'usare uno dei nomi, o valori, elencati nel messaggio',
  'the answer lacks what it has by the description': 'alla risposta manca ciò che la descrizione prevede',
  'correct the paths in the description': 'correggere i percorsi nella descrizione',
  'the CRM said that it wrote and does not show it': 'il CRM ha detto di aver scritto, ma non lo mostra',
  'the CRM does not search by the key': 'il CRM non cerca per la chiave',
  'make the property of keyField, correct its name, or correct find in the description':
    'creare la proprietà di keyField, correggerne il nome, oppure correggere find nella descrizione',
  'the CRM has no such property': 'il CRM non ha questa proprietà',
  'make the properties in the CRM, or correct the names in mapping or description':
    'creare le proprietà nel CRM, oppure correggere i nomi nella mappatura o nella descrizione',
  'the description has nothing for the stream of this target':
    'la descrizione non ha nulla per il flusso di questa destinazione',
  'describe the stream under description.streams, or choose another':
    'descrivere il flusso sotto description.streams, oppure sceglierne un altro',
  'there is nothing at the address that the description gives': 'all’indirizzo che la descrizione dà non c’è nulla',
  'correct baseUrl, or the path in the description': 'correggere baseUrl, oppure il percorso nella descrizione',
  'the CRM refuses a search or a list': 'il CRM rifiuta una ricerca o un elenco',
  'see that the properties of keyField and stampField are there, or correct find, get and list in the description':
    'controllare che le proprietà di keyField e stampField ci siano, oppure correggere find, get e list nella descrizione',
  'the pages of a list come to no end, or lead elsewhere': 'le pagine di un elenco non finiscono, o portano altrove',
  'correct paging in the description': 'correggere paging nella descrizione',
} as const;
