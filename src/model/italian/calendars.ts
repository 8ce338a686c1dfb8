/** What errors of calendars' servers say, with the same in Italian (`connectors/<vendor>/errors.ts`). */
export const CALENDARS = {
  'an HTML page came in place of an answer of {vendor}':
    'è arrivata una pagina HTML al posto di una risposta di {vendor}',
  '{vendor} does not accept the login': '{vendor} non accetta l’accesso',
  'the login was not granted the permissions that are needed':
    'all’accesso non sono stati concessi i permessi necessari',
  '{vendor} asks for fewer requests': '{vendor} chiede meno richieste',
  '{vendor} is failing': '{vendor} non funziona',
  'the server gave up waiting': 'il server ha smesso di aspettare',
  'connect the {vendor} account again': 'collegare di nuovo l’account {vendor}',
  // Google.
  'connect again and leave all calendar permissions ticked':
    'collegare di nuovo lasciando selezionati tutti i permessi del calendario',
  'the calendar is gone, or the connected account cannot see it':
    'il calendario non c’è più, oppure l’account collegato non lo vede',
  'check the calendar id, and that the calendar is shared with the connected account':
    'controllare l’id del calendario e che sia condiviso con l’account collegato',
  'Google does not allow this in the calendar': 'Google non lo permette in questo calendario',
  'give the connected account the right to make changes to events in this calendar':
    'dare all’account collegato il diritto di modificare gli eventi di questo calendario',
  'the Calendar API is not enabled in the Google Cloud project':
    'la Calendar API non è attivata nel progetto Google Cloud',
  'enable the Google Calendar API in the project of the OAuth client':
    'attivare la Google Calendar API nel progetto del client OAuth',
  'the account has reached the usage limits of Google Calendar':
    'l’account ha raggiunto i limiti d’uso di Google Calendar',
  'wait; the limits recover by themselves, after hours or days':
    'attendere: i limiti si ripristinano da sé, dopo ore o giorni',
  'the daily quota of the Google Cloud project is spent': 'la quota giornaliera del progetto Google Cloud è esaurita',
  'wait until midnight Pacific time, or raise the quota of the project':
    'attendere la mezzanotte del fuso del Pacifico, oppure aumentare la quota del progetto',
  'Google does not take the address for notifications': 'Google non accetta l’indirizzo per le notifiche',
  'notifications.url must be https with a valid certificate, and of a domain that the Google Cloud project may use':
    'notifications.url deve essere https con un certificato valido, in un dominio che il progetto Google Cloud può usare',
  'Google has no notifications for this calendar': 'Google non dà notifiche per questo calendario',
  'none is needed: the calendar is polled; only calendars that people write to have notifications':
    'non serve nulla: il calendario viene riletto; hanno notifiche solo i calendari in cui scrivono persone',
  '{vendor} refused to tell of changes': '{vendor} ha rifiutato di avvisare delle modifiche',
  // Microsoft.
  'Microsoft asks to prove the login again': 'Microsoft chiede di confermare di nuovo l’accesso',
  'log in again: a policy of the organisation, or a revoked session, ended the login':
    'fare di nuovo l’accesso: è terminato per una regola dell’organizzazione o una sessione revocata',
  'connect again and consent to all calendar permissions':
    'collegare di nuovo e concedere tutti i permessi del calendario',
  'the calendar is gone, or the login cannot see it': 'il calendario non c’è più, oppure l’accesso non lo vede',
  'check the mailbox and the calendar id, and that the calendar is shared with the connected account':
    'controllare la casella, l’id del calendario e che sia condiviso con l’account collegato',
  'Microsoft does not allow this in the calendar': 'Microsoft non lo permette in questo calendario',
  'give the connected account, or the application, the right to change this calendar':
    'dare all’account collegato, o all’applicazione, il diritto di modificare questo calendario',
  'the mailbox has calendars of this name that are not ours':
    'la casella ha già calendari con questo nome che non sono nostri',
  'choose another name for the calendar': 'scegliere un altro nome per il calendario',
  'the mailbox is not served by Exchange Online': 'la casella non è gestita da Exchange Online',
  'give the user a licence with Exchange Online, or name another mailbox':
    'dare all’utente una licenza con Exchange Online, oppure indicare un’altra casella',
  'there is no such mailbox, or the login cannot see it': 'questa casella non esiste, oppure l’accesso non la vede',
  'check the user principal name of the mailbox': 'controllare lo user principal name della casella',
  'the login of an application has no mailbox of its own': 'l’accesso di un’applicazione non ha una casella propria',
  'give the user principal name of the mailbox instead of me':
    'indicare lo user principal name della casella al posto di me',
  'the mailbox is full': 'la casella è piena',
  'make room in the mailbox, or raise its quota': 'fare spazio nella casella, oppure aumentarne la quota',
  'Microsoft could not check the address for notifications':
    'Microsoft non ha potuto verificare l’indirizzo per le notifiche',
  'see that notifications.url is https with a valid certificate, and reaches this port from the internet':
    'controllare che notifications.url sia https con un certificato valido e arrivi da internet a questa porta',
  'Microsoft does not tell this login of changes in the calendar':
    'Microsoft non avvisa questo accesso delle modifiche nel calendario',
  "for another person's mailbox let that person log in, or use a login of the application; else the mailbox may have too many subscriptions":
    'per la casella di un’altra persona sia lei a fare l’accesso, o si usi un accesso dell’applicazione; altrimenti la casella può avere troppe sottoscrizioni',
  'another installation is told of the changes in this calendar':
    'delle modifiche in questo calendario viene avvisata un’altra installazione',
  'give each installation an application of its own at Microsoft':
    'dare a ogni installazione una propria applicazione presso Microsoft',
  // CalDAV.
  'the server gave an unexpected status': 'il server ha dato uno stato inatteso',
  'the server asks for fewer requests': 'il server chiede meno richieste',
  'the server does not accept the login': 'il server non accetta l’accesso',
  'connect again; many servers want a password made for this application':
    'collegare di nuovo; molti server vogliono una password creata per questa applicazione',
  'the server is not available': 'il server non è disponibile',
  'the server failed': 'il server non funziona',
  'something other than a CalDAV server answered': 'ha risposto qualcosa che non è un server CalDAV',
  'the server sends requests to another site': 'il server rimanda le richieste a un altro sito',
  "configure the server's new address, with the path of the calendars, or home: discover":
    'configurare il nuovo indirizzo del server, con il percorso dei calendari, oppure home: discover',
  'the server has no room left': 'il server non ha più spazio',
  'make room in the account that holds the calendar': 'fare spazio nell’account che contiene il calendario',
  'the calendar may not be written': 'nel calendario non è permesso scrivere',
  'give the login the right to write, or configure another calendar':
    'dare all’accesso il diritto di scrivere, oppure configurare un altro calendario',
  'the calendar may not be read': 'il calendario non può essere letto',
  'give the login the right to read and write the calendar':
    'dare all’accesso il diritto di leggere e scrivere il calendario',
  'the calendar is not there': 'il calendario non c’è',
  'restore the calendar or configure another one': 'ripristinare il calendario oppure configurarne un altro',
  'the calendar that we made is not there any more': 'il calendario che avevamo creato non c’è più',
  'run clinic-mirror sync: it makes the calendar anew and fills it':
    'dare il comando clinic-mirror sync: crea di nuovo il calendario e lo riempie',
  'the address is not that of a calendar for events': 'l’indirizzo non è quello di un calendario per eventi',
  "configure the address of the calendar itself, as the server's settings show it for CalDAV":
    'configurare l’indirizzo del calendario stesso, come lo mostrano le impostazioni CalDAV del server',
  'the server does not say where the calendars of this login are':
    'il server non dice dove sono i calendari di questo accesso',
  "configure the address of the calendar or of its home, as the server's settings show it for CalDAV":
    'configurare l’indirizzo del calendario o della sua cartella, come lo mostrano le impostazioni CalDAV del server',
  'the home of the calendars is not there': 'la cartella dei calendari non c’è',
  'configure "home: discover" with the server, or the address that holds the calendars of this login':
    'configurare "home: discover" con il server, oppure l’indirizzo che contiene i calendari di questo accesso',
  'the server does not let us create a calendar': 'il server non permette di creare un calendario',
  'create a calendar by hand and configure its address': 'creare un calendario a mano e configurarne l’indirizzo',
  'a calendar with our owner tag belongs to somebody else: nothing is written to it, and none is made beside it':
    'un calendario con il nostro contrassegno appartiene ad altri: non vi si scrive nulla e non ne viene creato un altro',
  'take that calendar out of those of the connected account; or name the one to write to in the tenant file':
    'togliere quel calendario da quelli dell’account collegato; oppure indicare nel file della clinica quello in cui scrivere',
  'there is a calendar of this target that was made with another identity key':
    'c’è un calendario di questa destinazione creato con un’altra chiave di identità',
  'configure the key of before as secrets.identityKey in clinic-mirror.yaml; or delete that calendar, if it is no longer wanted':
    'configurare la chiave di prima come secrets.identityKey in clinic-mirror.yaml; oppure cancellare quel calendario, se non serve più',
} as const;
