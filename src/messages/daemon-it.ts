import type { DAEMON_EN } from './daemon-en.ts';

/** Italian sentences about the daemon, by code: its API and ports, steps of its work, events, and results of reads. */
export const DAEMON_IT = {
  'patient-untold': 'nessun messaggio per {channels} ha informato il paziente dell’appuntamento: {reasons}',
  'patients-replied': '{count:risposta|risposte} di pazienti da leggere',
  'api.unknown-caller': 'il chiamante non è autenticato',
  'api.not-allowed': 'il chiamante non ha il permesso per questa richiesta',
  'api.no-route': 'l’URL non esiste',
  'api.too-many-requests': 'troppe richieste in un minuto: riprovare dopo il tempo indicato da Retry-After',
  'api.refused': 'la richiesta è stata rifiutata',
  'api.request-invalid': 'la richiesta non corrisponde allo schema di questo percorso',
  'api.request-too-large': 'il corpo della richiesta è troppo grande per questo percorso',
  'api.body-invalid': 'il corpo della richiesta non è JSON valido',
  'api.faults': 'la configurazione contiene {count:errore|errori}',
  'api.faults.remedy': 'correggere ogni errore in "faults"',
  'port.taken': 'è occupata da un altro processo',
  'port.forbidden': 'è riservata a utenti con più diritti',
  'port.elsewhere': 'non è un indirizzo IP di questo host',
  'port.no-feed': 'nessuno può scaricare un feed',
  'port.no-work': 'un processo con il ruolo http non avrebbe nulla da fare',
  'start.checked': 'avvio in corso: controllati {checked} di {total}',
  'start.sign-in': 'Nessuno può ancora accedere. Scegli qui la passphrase del titolare, una sola volta, entro un’ora:',
  'redis.connection': 'la connessione è nello stato {status}',
  'redis.no-answer': 'nessuna risposta da {seconds} s',
  'redis-full': 'Redis ha raggiunto il limite di memoria e rifiuta ogni scrittura',
  'redis-full.remedy':
    'aumentare "maxmemory" in redis.conf, poi eseguire: redis-cli CONFIG SET maxmemory <byte> (docs/redis.md)',
  storage: 'memoria in Redis: {used} MiB su un massimo di {limit} MiB',
  'storage.unknown': 'memoria in Redis: sconosciuta, non ancora misurata o senza il permesso memory|usage',
  'tenant-too-large':
    'i dati della clinica in Redis occupano {used} MiB su un massimo di {limit} MiB: {count:modifica esclusa|modifiche escluse}, e non si creano nuovi oggetti',
  'tenant-too-large.target':
    '{count:modifica esclusa|modifiche escluse}, perché la clinica occupa troppa memoria in Redis',
  'tenant-too-large.remedy':
    'confrontare il numero di collegamenti delle destinazioni in "status --json"; ridurre finestre o destinazioni in {place}, oppure aumentare limits.tenantMebibytes in clinic-mirror.yaml',
  'redis-read-only': 'questo Redis è una replica e rifiuta ogni scrittura',
  'redis-read-only.remedy':
    'eseguire "redis-cli ROLE" su ogni server, e indicare l’indirizzo del master in "redis" in clinic-mirror.yaml',
  'redis-no-replicas': 'Redis rifiuta ogni scrittura, perché sono collegate troppo poche repliche',
  'redis-no-replicas.remedy':
    'avviare le repliche di Redis; per vedere quelle collegate, eseguire: redis-cli INFO replication',
  'redis-snapshot-failed': 'Redis rifiuta ogni scrittura, perché non ha potuto salvare i dati su disco',
  'redis-snapshot-failed.remedy':
    'verificare spazio e permessi della cartella dei dati di Redis, poi eseguire: redis-cli BGSAVE',
  'redis-loading': 'Redis sta ancora caricando i dati',
  'redis-loading.remedy':
    'attendere che Redis sia pronto; per vedere l’avanzamento, eseguire: redis-cli INFO persistence',
  'redis-busy': 'uno script lungo blocca Redis',
  'redis-busy.remedy': 'eseguire: redis-cli SCRIPT KILL',
  'redis-database-missing': 'Redis non ha il numero di database di redis.url',
  'redis-database-missing.remedy':
    'correggere il numero alla fine di redis.url, oppure aumentare "databases" nella configurazione di Redis e riavviare Redis',
  'redis-cluster-down': 'Redis non ha un master raggiungibile per una parte dei dati',
  'redis-cluster-down.remedy': 'eseguire "redis-cli CLUSTER INFO" oppure "redis-cli ROLE", e avviare i server mancanti',
  'daemon-not-running': 'da allora nessun servizio è attivo',
  'daemon-not-running.remedy':
    'avviare il servizio (clinic-mirror run, oppure systemctl start clinic-mirror) e leggerne il registro',
  'redis-rights.some': 'usare ogni comando e chiave richiesti',
  'redis.managed-lost': 'Redis ha perso le cliniche: restano attive fino alla fine di questo processo',

  'step.wait': 'in attesa di {work} in corso',
  'step.wait.cycle': 'un ciclo',
  'step.wait.patients': 'una lettura dei pazienti',
  'step.wait.triggers': 'una lettura per i webhook',
  'step.wait.target': 'un lavoro sulla destinazione {target}',
  'step.absent-records': 'lettura dei singoli record assenti',
  'step.next-days': 'pianificazione dei prossimi due giorni',
  'step.past': 'lettura degli appuntamenti passati',

  'event.busy': 'Occupato',
  'event.appointment': 'Appuntamento',
  'event.status': 'Stato',
  'event.page': 'Nel gestionale',
  'event.video-visit': 'Videovisita',

  'ids-or-similar': '{ids}; nomi simili: {similar}',
  'rows-counted': '{count:record|record}',
  'records-unconfirmable':
    '{count:record assente dall’elenco della clinica non è leggibile singolarmente|record assenti dall’elenco della clinica non sono leggibili singolarmente}: {codes}',
  'records-unconfirmable.id':
    'se la clinica scrive gli id con altre maiuscole, impostare idCase: ignored nel profilo della clinica; altrimenti segnalare l’errore alla clinica',
  'records-unconfirmable.merged':
    'se la clinica ha unito i pazienti, impostare patients.merged nel profilo della clinica; altrimenti segnalare l’errore alla clinica',
  'records-unconfirmable.remedy': 'correggere i campi del profilo della clinica, o segnalare l’errore alla clinica',
  'remark.date-order':
    '{list}: {field} in {rows} può indicare due date, come 03/12/2026; impostare dateOrder nel profilo della clinica',
  'remark.more-told':
    '{list}: {path} nella risposta annuncia altri record oltre a {rows}, quindi l’elenco è parziale; impostare paging per {list} nel profilo della clinica, o aggiungere {path} a paging.ignoredPaths se ha un altro significato',
  'remark.path-empty':
    '{list}.fields.{field}: il percorso {path} non ha trovato nulla in {rows}; correggere il percorso nel profilo della clinica',
  'remark.several-values':
    '{list}.fields.{field}: {path} contiene più valori in {rows}, e solo il primo è usato; scrivere nel profilo della clinica un percorso all’unico valore voluto, o impostare each: [{field}] se il record appartiene a ogni valore',
  'values-unused':
    '{count:record con più valori in un campo, di cui solo il primo è usato|record con più valori in un campo, di cui solo il primo è usato}: {fields}',
  'values-unused.remedy':
    'scrivere nel profilo della clinica un percorso all’unico valore voluto, per esempio agendas.0, o impostare each: [{fields}] se il record appartiene a ogni valore',
  'decision.several-patients':
    'la destinazione ha un record per ciascun paziente; per spiegarne uno, aggiungere a questo id ~patient: e l’id del paziente',
  'decision.several-values':
    'la clinica indica più agende, e il profilo usa solo la prima: la destinazione resta invariata',
  'remark.zone-fixed':
    '{list}: {path} indica il fuso {zones} in {rows}, che non ha l’ora legale; se gli orologi della clinica cambiano, scrivere {usual} nel sistema della clinica',
  'remark.zone-fixed.profile':
    'il profilo della clinica ha il fuso {zone}, che non ha l’ora legale; se gli orologi della clinica cambiano, impostare zone: {usual}',
  'remark.zone-unread':
    '{list}: {path} indica il fuso {zones} in {rows}, ma clinic-mirror legge gli orari locali in un altro; se {path} è il loro fuso, aggiungere {path} a {list}.fields.zone nel profilo della clinica',
  'sync-health.in-sync': 'sincronizzato',
  'sync-health.behind': 'non aggiornato',
  'sync-health.on-hold': 'in attesa di conferma',
  'sync-health.unknown': 'sconosciuto',
  'sync-health.ok': 'ok',
  'sync-health.retrying': 'nuovi tentativi in corso',
  'sync-health.action-required': 'intervento richiesto',
  'first-sync.written': 'non aggiornato, prima sincronizzazione: {written} di {of} scritti',
  'match-file.contacts': '{count} contatti per questo paziente',
  'match-file.patients': '{count} pazienti per questo contatto',
  'on-hold.manual-changes':
    '{count:modifica|modifiche} in attesa di conferma. manual-changes: {restorations} oggetti eliminati a mano, oltre il limite per il ripristino automatico (più di {limit} e del {share} %, o metà di una destinazione piccola)',
  'notifications-ending.remedy': 'correggere la causa di {reason}, vedere docs/errors.md: il daemon riprova da solo',
  'events-not-kept':
    'il calendario non mostra il primo evento scritto da clinic-mirror: il server ha cambiato nome e UID e ha tolto i contrassegni, o non lo ha salvato; clinic-mirror non scrive un secondo evento, perché non riconoscerebbe i propri eventi',
  'events-not-kept.remedy':
    'eliminare l’evento e scegliere un calendario su un server che conserva i nomi o gli UID degli eventi; dopo una correzione del server, eseguire: clinic-mirror sync {tenant}; se il server mostra l’evento in ritardo, il demone continua da solo',
  'key-not-kept':
    'il CRM non mostra la proprietà chiave del primo oggetto scritto da clinic-mirror; clinic-mirror non scrive un secondo oggetto, perché non riconoscerebbe i propri oggetti',
  'key-not-kept.remedy':
    'eliminare l’oggetto nel CRM, permettere all’utente della connessione di scrivere la proprietà chiave, poi eseguire: clinic-mirror sync {tenant}; se il CRM mostra l’oggetto in ritardo, il demone continua da solo',
  'marks-dropped':
    'il server toglie i contrassegni di clinic-mirror; clinic-mirror riconosce i propri oggetti dal nome, dall’UID o dalla chiave, quindi non serve alcun intervento',
  'write-policy':
    'politica {name}: {notRemoved} oggetti restano anche se i loro record non appartengono più alla destinazione, e {notUpdated} oggetti non vengono aggiornati',
  'logins-lost': 'Redis ha perso i dati, e con essi gli accessi: un backup li contiene',
  'restore-or.each': 'ripristinare un backup, oppure eseguire per ognuna di queste cliniche: {command}',
  'configurations-differ':
    'servizi attivi con configurazioni o versioni diverse: {newest} da allora, {older} con una precedente',
  'configurations-differ.remedy':
    'copiare gli stessi file di configurazione e la stessa versione su ogni host; un servizio attivo rilegge da solo i file modificati',
  'connection.refused': 'il server rifiuta la connessione',
  'connection.no-route': 'la rete non ha un percorso verso il server',
  'connection.name-unknown': 'il DNS non conosce il server',
  'connection.without-tls': 'il server non risponde in TLS su questa porta',
  'connection.without-tls.remedy':
    'correggere schema e porta dell’URL: https:// richiede una porta con TLS; http:// è ammesso solo su questo host',
  'connection.slow': 'il server non apre una connessione in tempo',
  'connection.certificate-expired': 'il certificato del server è scaduto',
  'connection.certificate-refused': 'il certificato del server non è accettato',
  'value-too-long': 'un altro server ha inviato un {kind} con più di {most} caratteri, che clinic-mirror non memorizza',
  'value-too-long.remedy': 'segnalare la lunghezza al gestore di quel server; gli altri oggetti non ne risentono',
  'clinic.too-many-records': '{label}: l’elenco ha più di {most} record e vale come non letto',
  'clinic.too-many-records.raise':
    'chiedere alla clinica perché l’elenco è così lungo; se tutti i record servono, aumentare limits.maxRecords in {file}',
  'server-away.cause': 'il server non risponde, o rifiuta ogni richiesta: {code}, {cause}',
  'passphrase-guessable': 'la passphrase è facile da indovinare',
  'passphrase-guessable.remedy': 'scegliere quattro parole a caso, senza nomi, date, ripetizioni e file di tasti',
  'sign-in-again': 'l’ultimo accesso è troppo vecchio per questa azione',
  'sign-in-again.remedy': 'accedere di nuovo, poi ripetere l’azione',
  'sign-in-too-weak': 'il provider non ha confermato l’accesso richiesto: claim {claim}',
  'sign-in-too-weak.remedy':
    'correggere acrValues, amr o maxAgeMinutes in operator.access.oidc, o le regole del provider per questo client',
  'contact-unknown': 'nessun paziente e nessun messaggio ha questo indirizzo o numero',
  'contact-unknown.remedy': 'controllare la grafia, oppure indicare l’id del paziente nel sistema della clinica',
  'contact-ambiguous': 'più pazienti hanno questo indirizzo o numero',
  'contact-ambiguous.remedy':
    'elencare gli id senza --yes (API: forget/preview), poi indicare l’id di un solo paziente',
  'forget.one-of': 'indicare uno tra: id del paziente, indirizzo e-mail, numero di telefono',
} as const satisfies Record<keyof typeof DAEMON_EN, string>;
