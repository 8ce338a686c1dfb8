import type { CONTROL_EN } from './control-en.ts';

/** Italian sentences of `control/`, of the API, and of the features, by code. */
export const CONTROL_IT = {
  'account-changed': 'con questo indirizzo ha già effettuato l’accesso un altro account del provider',
  'account-changed.remedy':
    'se l’utente ha un nuovo account, un responsabile esegue: clinic-mirror access release-account <indirizzo>',
  'address-unclaimed': 'nessun account ha effettuato l’accesso con questo indirizzo',
  'address-unclaimed.remedy':
    'indicare un indirizzo di operator.access.oidc.people con cui un account ha effettuato l’accesso',
  'browsers-shut-out': 'i browser non raggiungono il servizio',
  'calendar-changed':
    'clinic-mirror scrive nel calendario {calendar} fino al prossimo ciclo, ma le impostazioni indicano {named}',
  'calendar-changed.remedy':
    'per riempire il nuovo calendario, eseguire: clinic-mirror sync {tenant}; gli eventi nell’altro calendario restano; per conservare quel calendario, correggere {place}',
  'clinic.lacks-scope':
    'all’accesso manca lo scope {scope}: indicare {name} in clinic.scopes del file della clinica, ricollegare la clinica e concedere lo scope',
  'clock-differs': 'l’orologio di Redis e quello di questo host differiscono di {seconds} s',
  'clock-differs.remedy':
    'eseguire timedatectl su questo host e sull’host di Redis, e regolare con NTP l’orologio sbagliato',
  'data-directory-failed': 'nulla viene conservato fuori da Redis: "dataDirectory" non è scrivibile ({failure})',
  'data-directory-failed.remedy':
    'fare di "dataDirectory" in clinic-mirror.yaml una cartella in cui il servizio possa scrivere',
  'data-directory-full': 'nulla viene conservato fuori da Redis: il disco è pieno ({failure})',
  'data-directory-full.remedy':
    'liberare spazio sul disco di "dataDirectory" (clinic-mirror.yaml), o spostare la cartella su un altro disco',
  'decision.absent': 'la clinica non ha questo appuntamento',
  'decision.agenda': 'la sua agenda non alimenta questa destinazione',
  'decision.before-window': 'è prima della finestra: quel che è scritto resta',
  'decision.beyond-window': 'è oltre la finestra: sarà scritto quando si avvicina',
  'decision.blocked-time': 'la destinazione non mostra il tempo bloccato',
  'decision.forgotten': 'il suo paziente è stato dimenticato su richiesta',
  'decision.of-contact': 'passa le regole; anche il suo paziente deve essere tra i contatti',
  'decision.of-contact-named': 'passa le regole; anche {contacts} deve contenere il suo paziente: vedere health',
  'decision.pinned': 'un annullamento lo ha ripristinato, qualunque siano le regole',
  'decision.shown': 'la sua agenda alimenta questa destinazione, lo stato è mostrato ed è nella finestra',
  'decision.status': 'la destinazione non mostra il suo stato',
  'decision.status-named': 'la destinazione non mostra lo stato {status}',
  'decision.target-paused': 'la destinazione è in pausa',
  'decision.tenant-paused': 'la clinica è in pausa',
  'decision.treatment': 'la destinazione non mostra la sua prestazione',
  'decision.unread': 'la clinica non ha risposto, o la risposta non era utilizzabile',
  'doctor.agendas': 'risponde, ed elenca {count:agenda|agende}',
  'doctor.answers': 'risponde',
  'doctor.answers-first': 'risponde; non vi è ancora stato scritto nulla',
  'doctor.asked-later': 'clinic-mirror lo interroga quando c’è un accesso a {login}',
  'doctor.data-directory': 'le decisioni vengono conservate anche fuori da Redis',
  'doctor.identity': 'la chiave di identità è quella dello stato',
  'doctor.names': 'il DNS conosce ogni host delle impostazioni: {count}',
  'doctor.names-by-proxy': 'i nomi vengono risolti dal proxy',
  'doctor.paused': 'in pausa secondo il suo file',
  'doctor.redis': 'conserva un file append-only, non scarta nulla e permette ogni comando usato da clinic-mirror',
  'doctor.redis-time': '{well}; risponde in {ms} ms',
  'doctor.sealing': 'aprono ogni accesso conservato',
  'file-faulty': 'la clinica non è in funzione: il suo file contiene errori',
  'file-faulty.at': 'la clinica non è in funzione: {place}: {fault}',
  'file-faulty.at-more': 'la clinica non è in funzione: {place}: {fault}, e altri {more}',
  'first-remedy-check': '{remedy}; poi eseguire: clinic-mirror config check',
  'name-unknown': 'il DNS non conosce alcun host {host} ({place})',
  'name-unresolved': 'impossibile risolvere {host} ({place})',
  'name-unresolved.remedy': 'controllare il server DNS di questo host: non risponde',
  'no-audit-log': 'non viene tenuto alcun registro delle azioni',
  'no-audit-log.remedy': 'impostare "dataDirectory" in clinic-mirror.yaml',
  'no-data-directory':
    'nulla viene conservato fuori da Redis e non c’è un registro delle azioni: le azioni sono solo righe del log',
  'no-data-directory.remedy':
    'impostare "dataDirectory" in clinic-mirror.yaml: così clinic-mirror si accorge di un Redis perduto e tiene un registro verificabile delle azioni',
  'no-operator-address': 'l’indirizzo con cui i browser raggiungono le pagine non è configurato',
  'no-operator-address.remedy': 'impostare operator.publicUrl in clinic-mirror.yaml',
  'no-such-tenant.folder': 'indicare cliniche della cartella tenants/',
  'no-such-token': 'non esiste alcun token "{name}"',
  'no-such-token.remedy': 'vedere: clinic-mirror access token list',
  'not-taken.choose-data': 'indicare --data con alcuni tra: {names}',
  'not-taken.give-invoice': 'indicare l’id di una fattura',
  'not-taken.give-one': 'indicare un solo oggetto',
  'not-taken.leave-out': 'ometterlo',
  'not-taken.raw-data': 'indicare --params, con i nomi usati dalla clinica',
  'not-taken.several': 'più oggetti in --data',
  'oidc-off.remedy': 'impostare operator.access.oidc e operator.publicUrl in clinic-mirror.yaml',
  'operation-needs-id': 'questa operazione di {resource} richiede un id',
  'operation-needs-ids': 'questa operazione di {resource} richiede un altro numero di id',
  'operation-needs-ids.remedy': 'indicare {forms}',
  'operation-unknown': '{resource} non ha questa operazione',
  'passphrase-off': 'l’accesso con passphrase è disattivato',
  'passphrase-off.remedy': 'impostare operator.access in clinic-mirror.yaml, con passphrase: true se contiene oidc',
  'passphrase-unusable': 'la passphrase è troppo corta o troppo lunga',
  'passphrase-unusable.remedy':
    'scegliere una passphrase da {shortest} a {longest} caratteri, per esempio quattro parole a caso',
  'passphrase-wrong': 'la passphrase è errata',
  'passphrase-wrong.remedy':
    'sull’host, creare un indirizzo che imposta un’altra passphrase: clinic-mirror access sign-in',
  'proxy-not-trusted':
    'un indirizzo pubblico è https, ma nessun reverse proxy è considerato attendibile: tutti i client dietro di esso condividono un solo limite',
  'proxy-not-trusted.remedy': 'impostare http.trustedProxies in clinic-mirror.yaml sulla rete del reverse proxy',
  'reason-missing': 'qui "{verb}" richiede un motivo',
  'reason-missing.remedy': 'indicarlo con --reason',
  'reason-unusable': 'il motivo, o il nome, è vuoto, troppo lungo, o contiene ciò che sembra un indirizzo o un segreto',
  'reason-unusable.remedy':
    'indicare al massimo {most} caratteri in una riga, meglio il numero di un ticket, e nessun dato di pazienti',
  'record-needs-tenant': 'un record appartiene a una sola clinica',
  'record-needs-tenant.remedy': 'indicare anche --tenant',
  'redis-slow.remedy': 'avvicinare Redis e il servizio, o controllare che cos’altro gira sull’host di Redis',
  'remark.remedy': 'correggere il profilo della clinica',
  'remedy-and-place': '{remedy}; vedere {place}',
  'resource-unknown': 'l’API della clinica non ha questa risorsa',
  'sealed-unopened': '{count:accesso conservato non si apre|accessi conservati non si aprono}: {cause}',
  'sealed-unopened.remedy':
    'rimettere la chiave precedente in secrets.sealingKeys di clinic-mirror.yaml con il suo id: così gli accessi funzionano come prima',
  'secret-readable': 'ogni utente di questo host può leggere il file di {place}',
  'see-place': 'vedere {place}',
  'caldav.server': 'l’indirizzo del server',
  'caldav.server.remedy': 'indicare un indirizzo https:// senza utente e password',
  'settings.correct': 'correggere {part} in {place}',
  'settings.correct-or-dns': 'correggere {part} in {place}, o aggiungere l’host al DNS di questo host',
  'sign-in': 'effettuare l’accesso',
  'sign-in-not-allowed': 'questo account non è autorizzato',
  'sign-in-not-allowed.remedy':
    'un responsabile aggiunge l’account a operator.access.oidc, con un indirizzo verificato dal provider, il subject o un gruppo',
  'sign-in-on-host': 'eseguire il comando sull’host',
  'state-went-back':
    'Redis è più vecchio di quanto conserva "dataDirectory" in clinic-mirror.yaml, come dopo il ripristino di un backup: rilevato alle {time}; clinic-mirror rilegge le destinazioni',
  'state-went-back.remedy':
    'arrestare il servizio e ripristinare il backup più recente di Redis; se non esiste, proseguire: docs/operating.md#when-redis-lost-something',
  'status-filter.remedy': 'gli stati sono in appointments.statuses del profilo della clinica',
  'token-name-taken': 'esiste già un token "{name}"',
  'token-name-taken.remedy':
    'scegliere un altro nome, o prima revocare il token: clinic-mirror access token revoke {name}',
  'value-lookup': 'cercarlo: {command}',
  'wait-aof-unsupported':
    'Redis non conferma che una decisione sia sul suo disco: è precedente alla 7.2, o l’utente non può eseguire WAITAOF. Se il suo host si arresta, l’ultimo secondo può andare perduto',
  'wait-aof-unsupported.remedy':
    'usare Redis 7.2 o successivo e permettere WAITAOF al suo utente, o accettare il rischio: null’altro ne risente',
  'wait-or-ask': 'attendere, o ripetere la richiesta',
} as const satisfies Record<keyof typeof CONTROL_EN, string>;
