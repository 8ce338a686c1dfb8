import type { FastifyInstance } from 'fastify';
import { type ActivityLine, type ActivityPage, readActivity } from '../../control/activity.ts';
import { requireTenant } from '../../control/installation.ts';
import { clinicAddress } from '../../documents/addresses.ts';
import type { ActFacts, AuditEntry } from '../../model/acts.ts';
import { type Html, html } from '../../model/html.ts';
import type { OperatorDesk } from '../operator-desk.ts';
import { maySee, visitorOf } from '../visitors.ts';
import { contextOf, type PageContext } from './context.ts';
import { type Page, sendPage } from './layout.ts';
import { copyable, emptyState, pager, table } from './parts.ts';
import { ACTIVITY, OUTCOMES, VERBS } from './texts/activity.ts';

const LIMIT = 40;
const EVERYTHING = { tenant: null, verb: null, sinceAt: null, record: null };
/** What came to no good end. */
const NOT_DONE: ReadonlySet<AuditEntry['outcome']> = new Set(['failed', 'refused']);
interface Question {
  after?: string;
}

/** Adds the pages that tell who did what: of all clinics, and of one. */
export function addActivityPages(app: FastifyInstance, desk: OperatorDesk): void {
  const config = { level: 'viewer' } as const;
  app.get<{ Querystring: Question }>('/activity', { config }, async (request, reply) => {
    const visitor = visitorOf(request);
    const context = contextOf(request, desk);
    const sees = (tenant: string | null) => maySee(visitor, tenant);
    return sendPage(reply, context, activityPage(context, await read(desk, context, request.query, sees)));
  });
  app.get<{ Params: { tenant: string }; Querystring: Question }>(
    '/tenants/:tenant/activity',
    { config },
    async (request, reply) => {
      const { id } = requireTenant(desk.installation, request.params.tenant);
      const context = contextOf(request, desk, id);
      const found = await read(desk, context, request.query, (tenant) => tenant === id);
      return sendPage(reply, context, activityPage(context, found));
    },
  );
}

/** @returns null where no log is kept */
async function read(
  desk: OperatorDesk,
  { visitor }: PageContext,
  { after }: Question,
  sees: (tenant: string | null) => boolean,
): Promise<ActivityPage | null> {
  if (visitor === null) throw new Error('a page of a level has a visitor');
  const { desk: acts } = desk.acting(visitor, null);
  if (acts.log === null) return null;
  const place = typeof after === 'string' ? after : null;
  return readActivity(acts, { after: place, limit: LIMIT, filter: EVERYTHING, sees });
}

function activityPage(context: PageContext, found: ActivityPage | null): Page {
  const words = ACTIVITY[context.language];
  const { tenant, address } = context;
  if (found === null) return { title: words.title, main: emptyState(words.noLog, html`<p>${words.noLogNext}</p>`) };
  const only = tenant === null ? '' : ` --tenant ${tenant.id}`;
  const command = html`<p class="quiet">${words.command} ${copyable(context, `clinic-mirror audit-log show${only}`)}</p>`;
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
  const told = NOT_DONE.has(came) ? html`<span class="act">${word}</span>` : html`${word}`;
  return code === null ? told : html`${told} <code>${code}</code>`;
}

/** Numbers and names of our own, as the log has them. */
function facts(what: ActFacts): Html[] {
  return Object.entries(what)
    .filter(([, value]) => value !== null && value !== '' && value !== false)
    .map(([name, value], at) => html`${at === 0 ? '' : ', '}<span class="quiet">${name}</span> ${String(value)}`);
}
