import type { FastifyInstance } from 'fastify';
import { type ActFacts, type ActOutcome, type AuditEntry, type AuditVerb, maySee } from '../../../core/model/acts.ts';
import { type Html, html } from '../../../core/model/html.ts';
import { type ActivityLine, type ActivityPage, readActivity } from '../../control/activity.ts';
import { requireTenant } from '../../control/installation.ts';
import { clinicAddress, type Texts } from '../../documents/document.ts';
import { type OperatorServices, visitorOf } from '../operators.ts';
import { contextOf, type PageContext } from './context.ts';
import { type Page, sendPage } from './layout.ts';
import { copyable, emptyState, pager, table } from './parts.ts';
import { FRAME } from './texts/frame.ts';

const LIMIT = 40;
const EVERYTHING = { tenant: null, verb: null, sinceAt: null, record: null };
/** Outcomes shown as failures. */
const NOT_DONE: ReadonlySet<AuditEntry['outcome']> = new Set(['failed', 'refused']);
interface Question {
  after?: string;
}

/** Adds the audit pages for all clinics and for one clinic. */
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

/** @returns null without an audit log */
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
      return { id, cells: [html`<code>${sequence}</code>`, null, html`<span class="act">${words.damaged}</span>`] };
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

/** Renders the numbers and names of an audit record. */
function facts(what: ActFacts): Html[] {
  return Object.entries(what)
    .filter(([, value]) => value !== null && value !== '' && value !== false)
    .map(([name, value], at) => html`${at === 0 ? '' : ', '}<span class="quiet">${name}</span> ${String(value)}`);
}

const en = {
  title: 'Activity',
  when: 'When',
  who: 'User',
  did: 'Action',
  clinic: 'Clinic',
  what: 'Details',
  why: 'Reason',
  outcome: 'Result',
  all: 'all',
  damaged: 'This record of the audit log was modified.',
  none: 'No activity yet. This page lists actions by command, page and API.',
  noLog: 'The audit log is off: clinic-mirror does not record actions.',
  noLogNext: 'Set dataDirectory in clinic-mirror.yaml to record actions.',
};

/** Texts of the Activity page. */
const ACTIVITY: Texts<typeof en> = {
  en,
  it: {
    title: 'Attività',
    when: 'Quando',
    who: 'Utente',
    did: 'Azione',
    clinic: 'Clinica',
    what: 'Dettagli',
    why: 'Motivo',
    outcome: 'Esito',
    all: 'tutte',
    damaged: 'Questo record del registro è stato modificato.',
    none: 'Nessuna attività. Questa pagina elenca le azioni eseguite con comandi, pagine e API.',
    noLog: 'Il registro delle operazioni è disattivato: clinic-mirror non registra le azioni.',
    noLogNext: 'Impostare dataDirectory in clinic-mirror.yaml per registrare le azioni.',
  },
};

const OUTCOMES: Texts<Record<ActOutcome, string>> = {
  en: {
    requested: 'waiting for a second user',
    refused: 'refused',
    begun: 'started',
    done: 'done',
    failed: 'failed',
  },
  it: {
    requested: 'in attesa di un secondo utente',
    refused: 'rifiutato',
    begun: 'avviato',
    done: 'completato',
    failed: 'non riuscito',
  },
};

/** Texts of audit verbs. */
const VERBS: Texts<Record<AuditVerb, string>> = {
  en: {
    login: 'connected a connection',
    'login-link': 'created a link to connect',
    'withdraw-link': 'revoked a link to connect',
    logout: 'disconnected a connection',
    'accept-account': 'confirmed an account',
    approve: 'approved a hold',
    reject: 'rejected a hold',
    undo: 'undid a run',
    release: 'released restored records',
    match: 'matched contacts to patients',
    unmatch: 'removed matches of contacts',
    apply: 'applied a plan',
    sync: 'synchronised',
    retry: 'retried a server',
    audit: 'checked for manual edits',
    'export-patient': 'exported the data of a patient',
    forget: 'erased a patient',
    'follow-again': 'resumed a patient',
    backup: 'created a backup',
    restore: 'restored a backup',
    'accept-loss': 'accepted a loss of the state',
    'opt-out': 'recorded an opt-out from reminders',
    'end-reply': 'deleted a reply of a patient',
    'lift-opt-out': 'removed an opt-out from reminders',
    'reopen-channel': 'reopened a channel of reminders',
    'reopen-endpoint': 'reopened an endpoint',
    'clinic-write': 'wrote to the clinic',
    'rotate-feed': 'replaced the URL of a feed',
    'withdraw-feed': 'revoked the URL of a feed',
    'add-tenant': 'added the clinic',
    'replace-tenant': 'changed the configuration of the clinic',
    'remove-tenant': 'removed the clinic',
    'adopt-tenant': 'adopted the clinic from a file',
    'accept-tenant': 'accepted the configuration of the clinic in Redis',
    'sign-in-link': 'created a sign-in URL',
    'access-token': 'created an API token',
    'revoke-access-token': 'revoked an API token',
    'release-account': 'allowed another account to use a sign-in URL',
    'sign-in': 'signed in',
    'sign-out': 'signed out',
    'end-sessions': 'ended sessions',
    'set-passphrase': 'set the passphrase',
    'open-link': 'opened a link to connect',
    'end-link': 'completed a connection by link',
    'reload-configuration': 'applied changed files',
    'change-keys': 'started with other encryption keys',
    'begin-log': 'started the log',
    'trim-log': 'removed the oldest log records',
  },
  it: {
    login: 'ha collegato un collegamento',
    'login-link': 'ha creato un link per collegare',
    'withdraw-link': 'ha revocato un link per collegare',
    logout: 'ha scollegato un collegamento',
    'accept-account': 'ha confermato un account',
    approve: 'ha approvato una sospensione',
    reject: 'ha rifiutato una sospensione',
    undo: 'ha annullato un’esecuzione',
    release: 'ha sbloccato record ripristinati',
    match: 'ha abbinato contatti a pazienti',
    unmatch: 'ha rimosso abbinamenti di contatti',
    apply: 'ha applicato un piano',
    sync: 'ha sincronizzato',
    retry: 'ha avviato un nuovo tentativo su un server',
    audit: 'ha verificato le modifiche manuali',
    'export-patient': 'ha esportato i dati di un paziente',
    forget: 'ha cancellato un paziente',
    'follow-again': 'ha ripreso la sincronizzazione di un paziente',
    backup: 'ha creato un backup',
    restore: 'ha ripristinato un backup',
    'accept-loss': 'ha accettato una perdita dello stato',
    'opt-out': 'ha registrato la rinuncia ai promemoria',
    'end-reply': 'ha eliminato la risposta di un paziente',
    'lift-opt-out': 'ha rimosso la rinuncia ai promemoria',
    'reopen-channel': 'ha riaperto un canale dei promemoria',
    'reopen-endpoint': 'ha riaperto un endpoint',
    'clinic-write': 'ha scritto nella clinica',
    'rotate-feed': 'ha sostituito l’URL di un feed',
    'withdraw-feed': 'ha revocato l’URL di un feed',
    'add-tenant': 'ha aggiunto la clinica',
    'replace-tenant': 'ha modificato la configurazione della clinica',
    'remove-tenant': 'ha rimosso la clinica',
    'adopt-tenant': 'ha preso in gestione la clinica da un file',
    'accept-tenant': 'ha accettato la configurazione della clinica in Redis',
    'sign-in-link': 'ha creato un URL di accesso',
    'access-token': 'ha creato un token API',
    'revoke-access-token': 'ha revocato un token API',
    'release-account': 'ha permesso a un altro account di usare un URL di accesso',
    'sign-in': 'ha effettuato l’accesso',
    'sign-out': 'si è disconnesso',
    'end-sessions': 'ha terminato sessioni',
    'set-passphrase': 'ha impostato la passphrase',
    'open-link': 'ha aperto un link per collegare',
    'end-link': 'ha completato un collegamento tramite link',
    'reload-configuration': 'ha applicato i file modificati',
    'change-keys': 'è stato avviato con altre chiavi di cifratura',
    'begin-log': 'ha avviato il registro',
    'trim-log': 'ha rimosso i record più vecchi del registro',
  },
};
