/** What errors of Redis, the network, logins and the clinic say, with the same in Italian. */
export const CAUSES = {
  // Redis.
  'Redis does not answer': 'Redis non risponde',
  'see that Redis runs, and that "redis" in clinic-mirror.yaml says where':
    'controllare che Redis sia attivo e che "redis" in clinic-mirror.yaml indichi dove',
  'Redis may evict keys when memory is short, which would lose state':
    'Redis può eliminare chiavi quando manca la memoria: lo stato andrebbe perso',
  'set "maxmemory-policy noeviction" in redis.conf, and at once: redis-cli CONFIG SET maxmemory-policy noeviction':
    'impostare "maxmemory-policy noeviction" in redis.conf, e subito: redis-cli CONFIG SET maxmemory-policy noeviction',
  'Redis does not keep an append-only file, so a restart would lose state':
    'Redis non tiene un file append-only: un riavvio farebbe perdere lo stato',
  'set "appendonly yes" in redis.conf, and at once: redis-cli CONFIG SET appendonly yes':
    'impostare "appendonly yes" in redis.conf, e subito: redis-cli CONFIG SET appendonly yes',
  'Redis has our password, and lets in whoever gives none':
    'Redis ha la nostra password, ma lascia entrare anche chi non ne dà una',
  'write "user default off" into its ACL file, or set "requirepass"':
    'scrivere "user default off" nel suo file ACL, oppure impostare "requirepass"',
  'Redis is older than version 7': 'Redis è precedente alla versione 7',
  'run Redis 7 or newer (or Valkey)': 'usare Redis 7 o successivo (oppure Valkey)',
  // The network.
  'the connection failed': 'la connessione non è riuscita',
  'no answer in time': 'nessuna risposta in tempo',
  'the request was stopped': 'la richiesta è stata interrotta',
  'the call was stopped': 'la chiamata è stata interrotta',
  'the answer is larger than allowed': 'la risposta è più grande del consentito',
  'the request budget of the application is used up for now':
    'le richieste concesse all’applicazione sono per ora esaurite',
  'the other side has asked us to wait': 'l’altra parte ha chiesto di attendere',
  'unexpected failure': 'errore imprevisto',
  // Logins.
  'the provider no longer accepts the login: it was revoked, has expired or was replaced':
    'il fornitore non accetta più l’accesso: è stato revocato, è scaduto o è stato sostituito',
  'the provider wants a person to log in again or to confirm':
    'il fornitore chiede che una persona faccia di nuovo l’accesso o confermi',
  'a person logs in again: clinic-mirror login': 'una persona fa di nuovo l’accesso: clinic-mirror login',
  'the person or the provider refused the access': 'la persona o il fornitore ha negato l’accesso',
  'connect again and allow the access that is asked for': 'collegare di nuovo e concedere l’accesso richiesto',
  'the provider does not accept the client id or its secret': 'il fornitore non accetta il client id o il suo segreto',
  'check clientId and clientSecret, and that the client is still registered with the provider':
    'controllare clientId e clientSecret, e che il client sia ancora registrato presso il fornitore',
  'the provider does not allow this client what is asked for':
    'il fornitore non permette a questo client ciò che viene chiesto',
  'check which grants, redirect addresses and scopes the client is registered for':
    'controllare per quali grant, indirizzi di ritorno e permessi il client è registrato',
  'the provider does not know or does not allow a scope that is asked for':
    'il fornitore non conosce o non concede un permesso richiesto',
  'check the scopes of the client and of the profile': 'controllare i permessi del client e del profilo',
  'the authorization server cannot answer at present': 'il server di autorizzazione al momento non può rispondere',
  // The clinic.
  '{cause}, status {status}': '{cause}, stato {status}',
  'the clinic says that nothing was modified, which nobody asked':
    'la clinica dice che nulla è cambiato, senza che sia stato chiesto',
  'look whether a cache or proxy stands before the clinic, and have it left out':
    'cercare se davanti alla clinica c’è una cache o un proxy, e farlo togliere',
  'the clinic refuses the access token, also a fresh one': 'la clinica rifiuta il token di accesso, anche se nuovo',
  'connect the clinic again': 'collegare di nuovo la clinica',
  'the clinic forbids the call': 'la clinica vieta la chiamata',
  'check the scopes of the connection and the permissions of its user':
    'controllare i permessi del collegamento e quelli del suo utente',
  'connect the clinic again and grant every scope that is asked for':
    'collegare di nuovo la clinica e concedere tutti i permessi richiesti',
  'connect the clinic again and grant the scope {scope}':
    'collegare di nuovo la clinica e concedere il permesso {scope}',
  'have the clinic give the connected user the permission for {operation}':
    'far dare dalla clinica all’utente collegato il permesso per {operation}',
  'the clinic knows no such address': 'la clinica non conosce questo indirizzo',
  'check baseUrl of the clinic client in clinic-mirror.yaml, pathPrefix in {file}, and the tenant’s clinic.tenantId':
    'controllare baseUrl del client della clinica in clinic-mirror.yaml, pathPrefix in {file} e clinic.tenantId della clinica',
  'the clinic’s state does not allow the call, or has changed meanwhile':
    'lo stato della clinica non permette la chiamata, oppure nel frattempo è cambiato',
  'a rule of the clinic refuses the call': 'una regola della clinica rifiuta la chiamata',
  'the clinic asks to slow down': 'la clinica chiede di rallentare',
  'the clinic is not able to answer': 'la clinica non è in grado di rispondere',
  'the clinic sends elsewhere': 'la clinica rimanda altrove',
  'check the base URL: no redirect is followed': 'controllare l’indirizzo di base: i rinvii non vengono seguiti',
  'the clinic does not accept the call': 'la clinica non accetta la chiamata',
  'check paging.size, maxDays, date format and parameter names in {file}':
    'controllare paging.size, maxDays, il formato delle date e i nomi dei parametri in {file}',
  'an HTML page came instead of JSON': 'è arrivata una pagina HTML invece di JSON',
  'open the configured address in a browser: a login page, a proxy or maintenance stands before it':
    'aprire nel browser l’indirizzo configurato: davanti c’è una pagina di accesso, un proxy o una manutenzione',
  'the first list was not whole, so nobody knows what is old':
    'il primo elenco non era completo: non si sa che cosa è vecchio',
  // What was looked for on a page.
  'there is no tenant "{id}"': 'la clinica "{id}" non esiste',
  'the configuration of tenant "{id}" has faults': 'la configurazione della clinica "{id}" contiene errori',
  'run "clinic-mirror config check"': 'dare il comando "clinic-mirror config check"',
  'name one of: {ids}': 'indicare una di queste: {ids}',
  'the tenant "{id}" is paused: nothing is read or written for it':
    'la clinica "{id}" è in pausa: per essa non si legge e non si scrive nulla',
  'set paused to false in {place}': 'impostare paused: false in {place}',
  'there is no hold "{id}"': 'la sospensione "{id}" non esiste',
  'see "clinic-mirror holds list"': 'vedere "clinic-mirror holds list"',
  'there is no target "{id}"': 'la destinazione "{id}" non esiste',
  'name one of targets in the tenant file': 'indicarne una tra quelle sotto targets nel file della clinica',
  'there is no such connection': 'questo collegamento non esiste',
  'there are: {ids}': 'ci sono: {ids}',
} as const;
