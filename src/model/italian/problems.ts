/** What is the matter and what to do, as problems and forecasts tell it, with the same in Italian. */
export const PROBLEMS = {
  // What a problem concerns.
  'target {id}': 'destinazione {id}',
  'login {id}': 'accesso {id}',
  'reminders by {id}': 'promemoria per {id}',
  'appointment {id}': 'appuntamento {id}',
  'triggers to {id}': 'notifiche a {id}',
  'alerts by {channel}': 'avvisi per {channel}',
  'server {name}': 'server {name}',
  'it does not answer, or fails each request: {code}': 'non risponde, o rifiuta ogni richiesta: {code}',
  'it was away and answers again': 'non rispondeva e ora risponde di nuovo',
  'quota of {client}': 'quota di {client}',
  configuration: 'configurazione',
  clinic: 'clinica',
  state: 'stato',
  approvals: 'approvazioni',
  cycles: 'cicli',
  // The installation.
  'it is not run: {count:fault|faults} in its file': 'non è in funzione: {count:errore|errori} nel suo file',
  'Redis has no managed tenant any more, and clinic-mirror did not remove them':
    'Redis non contiene più alcuna clinica gestita, e non è stato clinic-mirror a rimuoverle',
  'a changed file is refused, and what it held before goes on':
    'un file modificato è stato rifiutato: resta in vigore la versione di prima',
  'changed settings wait for a restart: {settings}': 'impostazioni modificate attendono un riavvio: {settings}',
  'restart the daemon': 'riavviare il servizio',
  'nobody can be told of problems': 'nessuno può essere avvisato dei problemi',
  'check "alerts" in clinic-mirror.yaml, and the server that it names':
    'controllare "alerts" in clinic-mirror.yaml e il server che vi è indicato',
  'the memory of alerts in Redis was forged: problems are told again':
    'la memoria degli avvisi in Redis è stata falsificata: i problemi vengono segnalati di nuovo',
  'what Redis has of it was written by somebody else or an older version: it is told anew with the next try':
    'ciò che Redis ne contiene è stato scritto da altri o da una versione precedente: al prossimo tentativo viene segnalato di nuovo',
  'see who else may write into Redis': 'verificare chi altro può scrivere in Redis',
  'this problem has passed': 'questo problema è passato',
  'Redis did not confirm the last decision in time: reminders wait':
    'Redis non ha confermato in tempo l’ultima decisione: i promemoria attendono',
  'its calendar was gone, and another one is written to: who looks at the old one sees nothing new':
    'il suo calendario non c’era più e si scrive in un altro: chi guarda quello di prima non vede nulla di nuovo',
  'share the new calendar with whoever looked at the old one':
    'condividere il nuovo calendario con chi guardava quello di prima',
  // A clinic.
  'it is not known who was forgotten or opted out, so nothing is written or sent of people':
    'non si sa più chi è stato dimenticato o ha rinunciato ai messaggi: nulla che riguardi persone viene scritto o inviato',
  'restore a backup, or: {command}': 'ripristinare un backup, oppure: {command}',
  '{verb} waits for a second person: {name} wants it': '{verb} attende una seconda persona: lo ha chiesto {name}',
  '{verb} of hold {hold} waits for a second person: {name} wants it':
    '{verb} della sospensione {hold} attende una seconda persona: lo ha chiesto {name}',
  'somebody else gives the same command, or lets it expire':
    'un’altra persona dà lo stesso comando, oppure lo lascia scadere',
  'a process with an older configuration waits until it has the files of today':
    'un processo con una configurazione precedente attende di avere i file di oggi',
  'the last cycle failed: {cause}': 'l’ultimo ciclo non è riuscito: {cause}',
  // A login.
  'what is kept of it does not open: the sealing key is not the one of before':
    'ciò che ne è conservato non si apre: la chiave di sigillo non è quella di prima',
  'put the key of before back into secrets.sealingKeys in clinic-mirror.yaml, or log in again':
    'rimettere la chiave di prima in secrets.sealingKeys di clinic-mirror.yaml, oppure rifare l’accesso',
  'the login has ended and a person must log in again': 'l’accesso è terminato: una persona deve farlo di nuovo',
  'nobody has logged in yet': 'nessuno ha ancora fatto l’accesso',
  'the user of this login may not work in the clinic': 'l’utente di questo accesso non può lavorare nella clinica',
  'nobody has said that its account is the right account':
    'nessuno ha ancora confermato che il suo account è quello giusto',
  'nobody has said that {account} is the right account':
    'nessuno ha ancora confermato che {account} è l’account giusto',
  'the provider refused the login once: retrying before that is believed':
    'il fornitore ha rifiutato l’accesso una volta: si riprova prima di crederci',
  'the server limits requests: retrying': 'il server limita le richieste: si riprova',
  'the server limits requests of every clinic with this client: retrying':
    'il server limita le richieste di tutte le cliniche con questo client: si riprova',
  'it was not granted {permissions}': 'non è stato concesso {permissions}',
  // A target.
  '{count:change|changes} held back until a person decides':
    '{count:modifica sospesa|modifiche sospese} finché una persona non decide',
  'its first sync takes long: {written} of {all} written':
    'la prima sincronizzazione richiede molto tempo: {written} di {all} scritti',
  '{count:change|changes} refused or failed, and tried again':
    '{count:modifica rifiutata o non riuscita|modifiche rifiutate o non riuscite}: si riprova',
  '{count:change|changes} by hand left for a person to look at':
    '{count:modifica fatta a mano, da esaminare|modifiche fatte a mano, da esaminare}',
  'the last cycle could not read all that it follows': 'l’ultimo ciclo non ha potuto leggere tutto ciò che segue',
  'the clinic lists no agenda {ids}': 'la clinica non elenca l’agenda {ids}',
  'the clinic lists no treatment {ids}': 'la clinica non elenca la prestazione {ids}',
  'whether the clinic has the agenda {ids} may not be read': 'non è permesso leggere se la clinica ha l’agenda {ids}',
  'whether the clinic has the treatment {ids} may not be read':
    'non è permesso leggere se la clinica ha la prestazione {ids}',
  'correct agendas of {target} in {place}': 'correggere agendas di {target} in {place}',
  'correct treatments of {target} in {place}': 'correggere treatments di {target} in {place}',
  "the clinic's list lacks {count:record|records} that the clinic shows one by one":
    'nell’elenco della clinica {count:manca un record|mancano record} che la clinica mostra singolarmente',
  'check the list in the clinic system, its filters and its paging':
    'controllare l’elenco nel sistema della clinica, i suoi filtri e la sua paginazione',
  "{count:row|rows} of the clinic can't be read: {codes}":
    '{count:riga della clinica non è leggibile|righe della clinica non sono leggibili}: {codes}',
  '{count:record|records} kept back, since it would have told more of patients than it may: {codes}':
    '{count:record trattenuto|record trattenuti}: avrebbe rivelato dei pazienti più del consentito: {codes}',
  '{count:erasure waits|erasures wait} of who was forgotten':
    '{count:cancellazione di chi è stato dimenticato attende|cancellazioni di chi è stato dimenticato attendono}',
  'set "paused: false" for the tenant': 'impostare "paused: false" per la clinica',
  // Reminders and triggers.
  'closed: nothing is sent by it': 'chiuso: nulla viene inviato per questa via',
  'the patient holds wrong information by {channels}: a correction is due':
    'il paziente ha un’informazione errata per {channels}: è prevista una correzione',
  'the patient holds wrong information by {channels}, and no correction is sent: {reasons}':
    'il paziente ha un’informazione errata per {channels} e non viene inviata alcuna correzione: {reasons}',
  'corrections of {count:appointment|appointments} held back: so many changed at once':
    'trattenute le correzioni di {count:appuntamento|appuntamenti}: ne sono cambiati troppi in una volta',
  'closed: nothing is sent to it': 'chiuso: nulla gli viene inviato',
  'the receiver refuses our signature: nothing reaches it': 'il destinatario rifiuta la nostra firma: nulla gli arriva',
  'mend that, then: {command}': 'rimediare, poi: {command}',
  "{event} is off: what it needs can't be read": '{event} è disattivato: ciò che gli serve non è leggibile',
  // What will break.
  'the login ends at a time that using it does not put off': 'l’accesso termina in un momento che l’uso non rimanda',
  'the login could not be kept alive, and ends when it rests for longer':
    'non è stato possibile mantenere attivo l’accesso, che terminerà se resta ancora inutilizzato',
  'the vendor will no longer tell of changes by hand, and audits alone find them ({reason})':
    'il fornitore non avviserà più delle modifiche fatte a mano: le troveranno solo le verifiche ({reason})',
  'more changes come than are written, so they wait longer with each cycle':
    'arrivano più modifiche di quante se ne scrivono: l’attesa cresce a ogni ciclo',
  'its certificate has ended: nothing is asked of it': 'il suo certificato è scaduto: non gli viene chiesto più nulla',
  'its certificate ends soon': 'il suo certificato sta per scadere',
  'renew it on that server, and look why that was not done by itself':
    'rinnovarlo su quel server e cercare perché non è avvenuto da sé',
  'its secret has ended, and with it every login': 'il suo segreto è scaduto, e con esso ogni accesso',
  'its secret ends soon, and with it every login': 'il suo segreto sta per scadere, e con esso ogni accesso',
  'make a new secret there, put it and its end into {section} of clinic-mirror.yaml':
    'creare lì un nuovo segreto e scriverlo, con la sua scadenza, in {section} di clinic-mirror.yaml',
  '{share} % of what its budget gives in an hour is used':
    'è usato il {share} % di quanto il suo budget concede in un’ora',
  'raise its "budget" as far as the other side allows; until then cycles come late':
    'aumentare il suo "budget" fin dove l’altra parte lo permette; fino ad allora i cicli arrivano in ritardo',
  '{share} % of what the other side allows its account in a day is used':
    'è usato il {share} % di quanto l’altra parte concede al suo account in un giorno',
  'buy more there, or raise "everyMinutes" of what CRMs follow; nothing is lost, and changes wait':
    'acquistarne di più, oppure aumentare "everyMinutes" di ciò che i CRM seguono; nulla va perso, le modifiche attendono',
  'no cycle has ended since then': 'da allora nessun ciclo è terminato',
  'see whether a daemon runs with the role scheduler and one with the role worker, and their logs':
    'controllare che siano attivi un servizio con il ruolo scheduler e uno con il ruolo worker, e i loro registri',
} as const;
