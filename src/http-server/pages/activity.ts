import type { FastifyInstance } from 'fastify';
import { type ActivityLine, type ActivityPage, readActivity } from '../../control/activity.ts';
import { requireTenant } from '../../control/installation.ts';
import { clinicAddress, type Texts } from '../../documents/document.ts';
import { type ActFacts, type ActOutcome, type AuditEntry, type AuditVerb, maySee } from '../../model/acts.ts';
import { type Html, html } from '../../model/html.ts';
import { type OperatorServices, visitorOf } from '../operators.ts';
import { contextOf, type PageContext } from './context.ts';
import { type Page, sendPage } from './layout.ts';
import { copyable, emptyState, pager, table } from './parts.ts';
import { FRAME } from './texts/frame.ts';

const LIMIT = 40;
const EVERYTHING = { tenant: null, verb: null, sinceAt: null, record: null };
/** What came to no good end. */
const NOT_DONE: ReadonlySet<AuditEntry['outcome']> = new Set(['failed', 'refused']);
interface Question {
  after?: string;
}

/** Adds the pages that tell who did what: of all clinics, and of one. */
export function addActivityPages(app: FastifyInstance, services: OperatorServices): void {
  const config = { level: 'viewer' } as const;
  app.get<{ Querystring: Question }>('/activity', { config }, async (request, reply) => {
    const visitor = visitorOf(request);
    const context = contextOf(request, services);
    const sees = (tenant: string | null) => maySee(visitor, tenant);
    return sendPage(reply, context, activityPage(context, await read(services, context, request.query, sees)));
  });
  app.get<{ Params: { tenant: string }; Querystring: Question }>(
    '/tenants/:tenant/activity',
    { config },
    async (request, reply) => {
      const { id } = requireTenant(services.installation, request.params.tenant);
      const context = contextOf(request, services, id);
      const found = await read(services, context, request.query, (tenant) => tenant === id);
      return sendPage(reply, context, activityPage(context, found));
    },
  );
}

/** @returns null where no log is kept */
async function read(
  services: OperatorServices,
  { visitor }: PageContext,
  { after }: Question,
  sees: (tenant: string | null) => boolean,
): Promise<ActivityPage | null> {
  if (visitor === null) throw new Error('a page of a level has a visitor');
  const { actServices: acts } = services.acting(visitor, null);
  if (acts.log === null) return null;
  const cursor = typeof after === 'string' ? after : null;
  return readActivity(acts, { after: cursor, limit: LIMIT, filter: EVERYTHING, sees });
}

function activityPage(context: PageContext, found: ActivityPage | null): Page {
  const words = ACTIVITY[context.language];
  const { tenant, address } = context;
  if (found === null) return { title: words.title, main: emptyState(words.noLog, html`<p>${words.noLogNext}</p>`) };
  const only = tenant === null ? '' : ` --tenant ${tenant.id}`;
  const command = html`<p class="quiet">${FRAME[context.language].sameCommand} ${copyable(context, `clinic-mirror audit-log show${only}`)}</p>`;
  if (found.lines.length === 0) return { title: words.title, main: html`${emptyState(words.none)}${command}` };
  const next = found.next === null ? null : `${address.split('?')[0]}?after=${encodeURIComponent(found.next)}`;
  const list = html`<div>${activityTable(context, found.lines)}${pager(context, next)}</div>`;
  return { title: words.title, main: html`${list}${command}` };
}

function activityTable(context: PageContext, lines: readonly ActivityLine[]): Html {
  const words = ACTIVITY[context.language];
  const hasClinic = context.tenant === null;
  const titles = [words.when, words.who, words.did, ...(hasClinic ? [words.clinic] : []), words.what, words.outcome];
  const rows = lines.map(({ chain, sequence, entry }) => {
    const id = `act-${chain}-${sequence}`;
    if (entry === null)
      return { id, cells: [html`<code>${sequence}</code>`, null, html`<span class="act">${words.forged}</span>`] };
    const { verb, tenant, who, what, why } = entry;
    const clinic = tenant === null ? words.all : html`<a href="${clinicAddress(tenant)}">${tenant}</a>`;
    const reason = why === null ? null : html` <span class="quiet">${words.why}: ${why}</span>`;
    return {
      id,
      cells: [
        context.times.both(Date.parse(entry.at)),
        who.claimed ?? who.name,
        VERBS[context.language][verb] ?? verb,
        ...(hasClinic ? [clinic] : []),
        html`${facts(what)}${reason}`,
        outcome(context, entry),
      ],
    };
  });
  return table(words.title, titles, rows);
}

function outcome({ language }: PageContext, { outcome: came, code }: AuditEntry): Html {
  const word = OUTCOMES[language][came];
  const label = NOT_DONE.has(came) ? html`<span class="act">${word}</span>` : html`${word}`;
  return code === null ? label : html`${label} <code>${code}</code>`;
}

/** Numbers and names of our own, as the log has them. */
function facts(what: ActFacts): Html[] {
  return Object.entries(what)
    .filter(([, value]) => value !== null && value !== '' && value !== false)
    .map(([name, value], at) => html`${at === 0 ? '' : ', '}<span class="quiet">${name}</span> ${String(value)}`);
}

const en = {
  title: 'Activity',
  when: 'When',
  who: 'Who',
  did: 'Did what',
  clinic: 'Clinic',
  what: 'What',
  why: 'Why',
  outcome: 'Outcome',
  all: 'all',
  forged: 'This entry is not as it was written.',
  none: 'Nobody has done anything yet. What a person does with a command, a page or the API appears here.',
  noLog: 'No audit log is kept, so nobody can tell who did what.',
  noLogNext: 'Set dataDirectory in clinic-mirror.yaml, and what people do from then on appears here.',
};

/** The words of the Activity page. */
const ACTIVITY: Texts<typeof en> = {
  en,
  it: {
    title: 'Attività',
    when: 'Quando',
    who: 'Chi',
    did: 'Che cosa ha fatto',
    clinic: 'Clinica',
    what: 'Dettagli',
    why: 'Motivo',
    outcome: 'Esito',
    all: 'tutte',
    forged: 'Questa voce non è come fu scritta.',
    none: 'Nessuno ha ancora fatto nulla. Ciò che una persona fa con un comando, una pagina o l’API appare qui.',
    noLog: 'Non si tiene un registro delle attività, quindi nessuno può dire chi ha fatto che cosa.',
    noLogNext: 'Imposta dataDirectory in clinic-mirror.yaml: ciò che si fa da allora in poi appare qui.',
  },
};

/** How far an act came. */
const OUTCOMES: Texts<Record<ActOutcome, string>> = {
  en: {
    requested: 'waits for a second person',
    refused: 'refused',
    begun: 'begun',
    done: 'done',
    failed: 'failed',
  },
  it: {
    requested: 'attende una seconda persona',
    refused: 'rifiutato',
    begun: 'iniziato',
    done: 'fatto',
    failed: 'non riuscito',
  },
};

/** What people do, and what the log tells beside it. */
const VERBS: Texts<Record<AuditVerb, string>> = {
  en: {
    login: 'logged in to a connection',
    'login-link': 'made a link to log in',
    'withdraw-link': 'withdrew a link to log in',
    logout: 'ended a connection’s login',
    'accept-account': 'said that an account is right',
    approve: 'approved a hold',
    reject: 'kept what was held',
    undo: 'undid a run',
    release: 'let rules decide again',
    match: 'gave contacts to patients',
    unmatch: 'took contacts back',
    apply: 'applied a plan',
    sync: 'synchronised',
    retry: 'had a server tried again',
    audit: 'read targets back',
    forget: 'had a patient forgotten',
    'follow-again': 'had a patient followed again',
    backup: 'made a backup',
    restore: 'restored a backup',
    'accept-loss': 'accepted a loss of the state',
    'opt-out': 'noted that reminders are not wanted',
    'lift-opt-out': 'noted that reminders are wanted again',
    'reopen-channel': 'opened a channel of reminders again',
    'reopen-endpoint': 'opened a receiver again',
    'clinic-write': 'wrote in the clinic',
    'rotate-feed': 'gave a feed a new address',
    'withdraw-feed': 'took back the address of a feed',
    'add-tenant': 'added the clinic',
    'replace-tenant': 'changed how the clinic is configured',
    'remove-tenant': 'removed the clinic',
    'adopt-tenant': 'took over how a file configures the clinic',
    'accept-tenant': 'accepted how Redis has the clinic configured',
    'sign-in-link': 'made an address to sign in with',
    'access-token': 'made a token of the API',
    'revoke-access-token': 'ended a token of the API',
    'release-account': 'let another account sign in with an address',
    'sign-in': 'signed in',
    'sign-out': 'signed out',
    'set-passphrase': 'set the passphrase',
    'open-link': 'opened a link to log in',
    'end-link': 'ended a login by a link',
    'reload-configuration': 'took up changed files',
    'change-keys': 'started with other sealing keys',
    'begin-log': 'began the log',
    'trim-log': 'removed the oldest entries',
  },
  it: {
    login: 'ha fatto l’accesso a un collegamento',
    'login-link': 'ha creato un link di accesso',
    'withdraw-link': 'ha ritirato un link di accesso',
    logout: 'ha chiuso l’accesso di un collegamento',
    'accept-account': 'ha detto che un account è giusto',
    approve: 'ha approvato una sospensione',
    reject: 'ha tenuto ciò che era sospeso',
    undo: 'ha annullato un ciclo',
    release: 'ha lasciato decidere di nuovo le regole',
    match: 'ha assegnato contatti a pazienti',
    unmatch: 'ha ripreso contatti',
    apply: 'ha applicato un piano',
    sync: 'ha sincronizzato',
    retry: 'ha fatto riprovare un server',
    audit: 'ha riletto le destinazioni',
    forget: 'ha fatto dimenticare un paziente',
    'follow-again': 'ha fatto seguire di nuovo un paziente',
    backup: 'ha fatto una copia di sicurezza',
    restore: 'ha ripristinato una copia di sicurezza',
    'accept-loss': 'ha accettato una perdita dello stato',
    'opt-out': 'ha annotato che i promemoria non sono graditi',
    'lift-opt-out': 'ha annotato che i promemoria sono di nuovo graditi',
    'reopen-channel': 'ha riaperto un canale dei promemoria',
    'reopen-endpoint': 'ha riaperto un destinatario',
    'clinic-write': 'ha scritto nella clinica',
    'rotate-feed': 'ha dato un nuovo indirizzo a un feed',
    'withdraw-feed': 'ha ritirato l’indirizzo di un feed',
    'add-tenant': 'ha aggiunto la clinica',
    'replace-tenant': 'ha cambiato la configurazione della clinica',
    'remove-tenant': 'ha rimosso la clinica',
    'adopt-tenant': 'ha preso in gestione la clinica da un file',
    'accept-tenant': 'ha accettato la configurazione della clinica che è in Redis',
    'sign-in-link': 'ha creato un indirizzo per entrare',
    'access-token': 'ha creato un token dell’API',
    'revoke-access-token': 'ha chiuso un token dell’API',
    'release-account': 'ha permesso a un altro account di accedere con un indirizzo',
    'sign-in': 'è entrato',
    'sign-out': 'è uscito',
    'set-passphrase': 'ha impostato la passphrase',
    'open-link': 'ha aperto un link di accesso',
    'end-link': 'ha concluso un accesso con link',
    'reload-configuration': 'ha preso file modificati',
    'change-keys': 'si è avviato con altre chiavi',
    'begin-log': 'ha iniziato il registro',
    'trim-log': 'ha rimosso le voci più vecchie',
  },
};
