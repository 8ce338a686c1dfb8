import { createHash } from 'node:crypto';
import { Html, html } from '../../core/model/html.ts';
import type { Language } from '../../messages/message.ts';
import type { LoginLinkDescription } from '../control/logins.ts';
import { languageOf } from './browser-request.ts';
import type { LoginOutcome, LoginResult } from './verbs.ts';

/** Callback path of OAuth connections, below the public URL. */
export const LOGIN_CALLBACK_PATH = '/oauth/callback';
/** Path prefix of connection links. */
export const LOGIN_LINK_PATH = '/oauth/login';

const TEXTS: Record<Language, Record<LoginOutcome, [title: string, text: string]>> = {
  en: {
    connected: ['Connected', 'The connection is made. You can close this page.'],
    unconfirmed: [
      'Almost done',
      'The connection is made. It is used once the clinic has confirmed that this is the right account. You can close this page.',
    ],
    denied: ['Not connected', 'Access was not granted. To connect after all, open the link again.'],
    expired: ['Not connected', 'This link was already used or has expired. Request a new link.'],
    'other-browser': [
      'Not connected',
      'This sign-in started in another browser. Request a new link, and use only one browser.',
    ],
    'missing-permissions': [
      'Not connected',
      'A permission that is needed was not granted. Open a new link and leave every box ticked.',
    ],
    'wrong-account': [
      'Not connected',
      'This account can not be used here. Open a new link and choose another account.',
    ],
    interrupted: [
      'Not connected',
      'The provider requires you to sign in, choose an account or confirm the access. Open a new link and complete every step.',
    ],
    'provider-failed': [
      'Not connected',
      'The provider reported an internal error. Nothing was changed. Try again with a new link in a few minutes.',
    ],
    'not-set-up': [
      'Not connected',
      'The provider does not allow this application the access. Tell your administrator: the application or its permissions must be set up first.',
    ],
    failed: ['Not connected', 'Something went wrong on the way. Try again with a new link in a few minutes.'],
  },
  it: {
    connected: ['Collegamento riuscito', 'Il collegamento è attivo. Può chiudere questa pagina.'],
    unconfirmed: [
      'Quasi fatto',
      'Il collegamento è attivo. Sarà usato quando la clinica avrà confermato che è l’account giusto. Può chiudere questa pagina.',
    ],
    denied: ['Collegamento non riuscito', "L'accesso non è stato concesso. Per collegarsi apra di nuovo il link."],
    expired: ['Collegamento non riuscito', 'Questo link è già stato usato o è scaduto. Ne chieda uno nuovo.'],
    'other-browser': [
      'Collegamento non riuscito',
      'Questo accesso è iniziato in un altro browser. Chieda un nuovo link e resti nel browser che lo apre.',
    ],
    'missing-permissions': [
      'Collegamento non riuscito',
      'Manca un permesso necessario. Apra un nuovo link e lasci selezionate tutte le caselle.',
    ],
    'wrong-account': [
      'Collegamento non riuscito',
      'Questo account non può essere usato qui. Apra un nuovo link e scelga un altro account.',
    ],
    interrupted: [
      'Collegamento non riuscito',
      'Il fornitore richiede di accedere, scegliere un account o confermare l’accesso. Apra un nuovo link e completi tutti i passaggi.',
    ],
    'provider-failed': [
      'Collegamento non riuscito',
      'Il fornitore ha segnalato un proprio errore. Nulla è cambiato. Riprovi tra qualche minuto con un nuovo link.',
    ],
    'not-set-up': [
      'Collegamento non riuscito',
      'Il fornitore non consente l’accesso a questa applicazione. Avvisi l’amministratore: occorre prima configurare l’applicazione o i suoi permessi.',
    ],
    failed: ['Collegamento non riuscito', 'Qualcosa è andato storto. Riprovi tra qualche minuto con un nuovo link.'],
  },
};

const BEGIN: Record<Language, Record<'title' | 'button', string>> = {
  en: { title: 'Connect your account', button: 'Go on' },
  it: { title: 'Colleghi il suo account', button: 'Prosegui' },
};

/** Style of all connection pages, for phones first, light and dark. */
const STYLE = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1a1d21,#e7e9eb);
  --quiet: light-dark(#5b636b,#9ea7b0);
  --ground: light-dark(#fbfbfa,#14171a);
  --raised: light-dark(#fff,#1b1f23);
  --line: light-dark(#dfe2e5,#30363c);
  --accent: light-dark(#0f5f73,#6cc3d8);
  --on: light-dark(#fff,#08242b);
}
* { box-sizing: border-box }
body { margin: 0; font: 17px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif; background: var(--ground); color: var(--ink) }
main { max-width: 480px; margin: 0 auto; padding: 32px 20px 48px; display: grid; gap: 20px }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere }
h2 { margin: 0 0 4px; font-size: 17px }
p,ul,dl,dd { margin: 0 }
ul { padding: 0 0 0 20px; display: grid; gap: 4px }
section,dl { background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: 12px 16px }
dt { color: var(--quiet); font-size: 15px }
dd { font-weight: 600; overflow-wrap: anywhere }
a { color: var(--accent) }
.quiet { color: var(--quiet); font-size: 15px }
button { width: 100%; min-height: 48px; padding: 12px 16px; font: inherit; font-weight: 600; color: var(--on); background: var(--accent); border: 0; border-radius: 6px; cursor: pointer }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`;

/** Hash of the style sheet for the Content-Security-Policy. */
export const LOGIN_PAGE_STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** Renders the result page of a connection from constant words: nothing of the request, account or clinic. */
export function loginPage({ outcome, language }: LoginResult): string {
  const [title, text] = TEXTS[language][outcome];
  return page(language, title, html`<p>${text}</p>`);
}

/**
 * Renders the page of a connection link: the requesting clinic, the permissions and limits, and the expected account. A button starts the
 * connection, so that mail filters and previews do not consume the link.
 * @param accepted Accept-Language, RFC 9110 section 12.5.4; default: the clinic's language
 */
export function loginLinkPage(about: LoginLinkDescription, accepted: string): string {
  const language = languageOf(accepted, about.language);
  const words = CONNECT[language];
  const { will, wont } = words.kinds[kindOf(about)];
  const vendor = VENDORS[about.vendor] ?? words.vendor[about.vendor === 'clinic' ? 'clinic' : 'other'];
  const list = (heading: string, lines: readonly string[]) =>
    html`<section><h2>${heading}</h2><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul></section>`;
  const expected =
    about.expected === null ? null : html`<dl><dt>${words.expected}</dt><dd>${accountText(about.expected)}</dd></dl>`;
  const content = html`<p>${words.intro}</p>${list(words.will, will)}${list(words.wont, wont)}${expected}<form method="post"><button>${words.goOn(vendor)}</button></form><p class="quiet">${words.once}</p><p class="quiet">${words.caution}</p>`;
  return page(language, words.title(about.clinic), content);
}

/** Renders the page with a link to the provider. A redirect is impossible, because `form-action` allows this port only. */
export function loginOnwardPage(url: URL, language: Language): string {
  const { title, button } = BEGIN[language];
  const refresh = html`<meta http-equiv="refresh" content="0;url=${url.href}">`;
  return page(language, title, html`<p><a href="${url.href}">${button}</a></p>`, refresh);
}

/** Returns the purpose of a connection, as shown to the user. */
function kindOf({ vendor, targets, scopes }: LoginLinkDescription): ConnectKind {
  if (vendor === 'clinic') return 'clinic';
  if (!targets.some(({ holds }) => holds === 'events')) return 'crm';
  // Google's narrow permission: only calendars created by the app (developers.google.com/workspace/calendar/api/auth).
  const isNarrow = vendor === 'google' && !scopes.some((scope) => scope.endsWith('/calendar.events'));
  return isNarrow ? 'own-calendar' : 'calendar';
}

/** A domain means that any account of the domain is accepted. */
function accountText(expected: string): string {
  return expected.startsWith('@') ? `…${expected}` : expected;
}

function page(language: Language, title: string, content: Html, head: Html | null = null): string {
  const whole = html`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">${head}<title>${title}</title>
<style>${new Html(STYLE)}</style></head>
<body><main><h1>${title}</h1>${content}</main></body>
</html>
`;
  return whole.toString();
}

export function loginStatus(outcome: LoginOutcome): number {
  if (outcome === 'connected' || outcome === 'unconfirmed') return 200;
  return outcome === 'failed' ? 502 : 400;
}

/**
 * Purpose of a connection: the clinic system; a calendar created by clinic-mirror with a permission for no other calendar; an existing
 * calendar with a broader permission; a CRM.
 */
type ConnectKind = 'clinic' | 'own-calendar' | 'calendar' | 'crm';

/** Names of vendors; other vendors have a translated word. */
const VENDORS: Readonly<Partial<Record<LoginLinkDescription['vendor'], string>>> = {
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

/** Texts of the page for practitioners to connect an account. */
const CONNECT: Readonly<Record<Language, ConnectWords>> = {
  en: {
    title: (clinic) => `Connect your account to ${clinic}`,
    intro: 'The clinic requests your consent. On the next page you choose your account and see the permission again.',
    will: 'What will be done',
    wont: 'What will not be done',
    kinds: {
      clinic: {
        will: ['Read the clinic’s appointments, agendas and related data, with your permissions'],
        wont: ['Change data in the clinic system automatically, except answers of patients to their reminders'],
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
          'Store your other events: the permission includes them, but clinic-mirror searches only for its own events',
        ],
      },
      crm: {
        will: ['Keep contacts and related objects equal to the clinic’s data'],
        wont: ['Delete contacts that it did not make itself'],
      },
    },
    expected: 'Account that is expected',
    goOn: (vendor) => `Continue with ${vendor}`,
    vendor: { clinic: 'the clinic system', other: 'your account' },
    once: 'The button works once. You can withdraw your consent at any time in the settings of your account, or inform the clinic.',
    caution: 'Continue only if the clinic has sent you this link.',
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
