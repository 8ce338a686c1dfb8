import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { maySee } from '../../../core/model/acts.ts';
import { type Html, html } from '../../../core/model/html.ts';
import { groupsOf, type Problem, problemsWithin } from '../../../core/model/problems.ts';
import { message } from '../../../messages/message.ts';
import type { ClinicSummary, Overview, OverviewCache } from '../../control/tenant-list.ts';
import { clinicAddress } from '../../documents/document.ts';
import type { OperatorServices, Visitor } from '../operators.ts';
import { contextOf, type PageContext } from './context.ts';
import { type Page, sendPage } from './layout.ts';
import { configurationResult, retryResult } from './outcomes.ts';
import { copyable, emptyState, healthMark, pager, said, section, syncMark, table } from './parts.ts';
import { endedPart, type ProblemReach, problemTable } from './problems.ts';
import { FRAME } from './texts/frame.ts';
import { OVERVIEW } from './texts/overview.ts';

/** At most this many clinics are listed without a search. */
const LISTED_AT_ONCE = 20;
/** Maximum number of rows per part, because an outage can concern a thousand clinics. */
const MOST_ROWS = 40;

/** Filters the overview by the visitor's tenants. Problems of the whole installation require access to all tenants. */
export function overviewFor({ at, clinics, problems, ended, unread }: Overview, visitor: Visitor): Overview {
  const visible = <Found extends Problem>(some: readonly Found[]) =>
    visitor.tenants === null ? some : problemsWithin(some, (tenant) => maySee(visitor, tenant));
  return {
    at,
    unread: unread.filter((tenant) => maySee(visitor, tenant)),
    clinics: clinics.filter(({ tenant }) => maySee(visitor, tenant)),
    problems: visible(problems),
    ended: visible(ended),
  };
}

/** Returns a digest of a visible overview, independent of the time. */
export function digestOfOverview({ clinics, problems, ended }: Overview): string {
  return hash('sha256', JSON.stringify({ clinics, problems, ended }), 'base64url');
}

/** Adds the first page: required actions first, then one line for the rest. */
export function addOverviewPage(app: FastifyInstance, services: OperatorServices, overview: OverviewCache): void {
  const config = { level: 'viewer' } as const;
  app.get<{ Querystring: { q?: string; from?: string } }>('/', { config }, async (request, reply) => {
    const context = contextOf(request, services);
    const { q = null, from } = request.query;
    const { visitor } = context;
    if (visitor === null) return reply.callNotFound();
    const seen = overviewFor(await overview.read(), visitor);
    const search = { text: typeof q === 'string' ? q.trim() : null, from: Math.max(0, Number(from) || 0) };
    return sendPage(reply, context, overviewPage(context, seen, search, services));
  });
}

/** A search for clinics. */
interface ClinicSearch {
  /** Null without a search. */
  text: string | null;
  from: number;
}

/** Renders the visible part of the overview. */
export function overviewPage(
  context: PageContext,
  overview: Overview,
  search: ClinicSearch,
  services: OperatorServices | null,
): Page {
  const words = OVERVIEW[context.language];
  const { clinics } = overview;
  const result = retryResult(context) ?? configurationResult(context);
  const main =
    clinics.length + overview.problems.length + overview.unread.length === 0
      ? html`${result}${nothing(context)}`
      : html`${result}${parts(context, overview, search, services)}`;
  return {
    title: words.title,
    main,
    headerPart: counts(context, overview),
    asOf: overview.at,
    isLive: true,
    seen: digestOfOverview(overview),
  };
}

function nothing(context: PageContext): Html {
  const words = OVERVIEW[context.language];
  const command = html`<p>${words.noClinicsNext} ${copyable(context, 'clinic-mirror init')}</p>`;
  return emptyState(words.noClinics, command);
}

function parts(
  context: PageContext,
  overview: Overview,
  search: ClinicSearch,
  services: OperatorServices | null,
): Html {
  const words = OVERVIEW[context.language];
  const { problems, clinics } = overview;
  const names = new Map(clinics.map(({ tenant, name }) => [tenant, name]));
  const clinicLinks = {
    nameOf: (tenant: string) => names.get(tenant) ?? tenant,
    pageOf: (tenant: string) => (names.has(tenant) ? clinicAddress(tenant) : null),
  };
  const rows = (caption: string, some: readonly Problem[]) =>
    someOf(context, caption, some, { links: clinicLinks, services });
  const forYou = problems.filter(({ health }) => health === 'action-required');
  const byTime = problems.filter(({ health }) => health === 'retrying');
  const needsYou =
    forYou.length === 0 ? html`<p class="quiet">${words.nothingNeedsYou}</p>` : rows(words.needsYou, forYou);
  const waits = byTime.length === 0 ? null : section('waits', words.waitsByItself, rows(words.waitsByItself, byTime));
  return html`${section('needs-you', words.needsYou, needsYou)}${waits}${endedPart(context, overview.ended, clinicLinks)}${wellPart(context, overview)}${clinicsPart(context, overview, search)}`;
}

function someOf(context: PageContext, caption: string, problems: readonly Problem[], reach: ProblemReach): Html {
  const rest = problems.length - MOST_ROWS;
  const shown = problemTable(context, caption, problems.slice(0, MOST_ROWS), reach);
  const command = html`<p class="more">${OVERVIEW[context.language].more(rest)} ${copyable(context, 'clinic-mirror status --problems')}</p>`;
  return html`${shown}${rest > 0 ? command : null}`;
}

function counts(context: PageContext, overview: Overview): Html {
  const words = OVERVIEW[context.language];
  const { needing, waiting, first, well, paused } = groupsOf(overview.clinics, overview.problems);
  const summary = [
    needing.length === 0 ? null : html`<span class="act">${words.needYou(needing.length)}</span>`,
    waiting.length === 0 ? null : html`<span class="wait">${words.wait(waiting.length)}</span>`,
    first.length === 0 ? null : html`<span>${said(context, message('in-first-sync', { count: first.length }))}</span>`,
    html`<span class="ok">${words.well(well.length)}</span>`,
    paused.length === 0 ? null : words.paused(paused.length),
    overview.unread.length === 0 ? null : html`<span class="quiet">${words.unread(overview.unread.length)}</span>`,
  ].filter((each) => each !== null);
  return html`<p class="counts"><span class="quiet">${FRAME[context.language].asOf} ${context.times.at(overview.at)} ·</span> ${words.clinics(overview.clinics.length)}${summary.map((each) => html` · ${each}`)}</p>`;
}

function wellPart(context: PageContext, overview: Overview): Html | null {
  const words = OVERVIEW[context.language];
  const { well } = groupsOf(overview.clinics, overview.problems);
  const times = well.flatMap(({ inSyncAsOf, targets }) => (targets === 0 ? [] : [inSyncAsOf]));
  const synced = times.filter((at) => at !== null);
  const oldest = synced.length === 0 ? null : html`, ${words.oldest} ${context.times.at(Math.min(...synced))}`;
  const never = synced.length < times.length ? html`, ${words.notYet}` : null;
  return section(
    'well',
    words.wellHeading,
    html`<p>${words.clinics(well.length)}${oldest}${never}</p>`,
    hourlyChanges(context, overview.clinics),
  );
}

function hourlyChanges({ language }: PageContext, clinics: readonly ClinicSummary[]): Html {
  const words = OVERVIEW[language];
  const [first] = clinics;
  const sums = (first?.hourly ?? []).map((_, hour) =>
    clinics.reduce((sum, { hourly }) => sum + (hourly[hour] ?? 0), 0),
  );
  const all = sums.reduce((sum, count) => sum + count, 0);
  const summary = words.changesTold(sums.at(-1) ?? 0, Math.max(0, ...sums), all);
  return html`<p class="hourly">${sparkline(sums, summary)} <span class="quiet">${words.changes}</span></p>`;
}

function clinicsPart(context: PageContext, { clinics }: Overview, { text, from }: ClinicSearch): Html {
  const words = OVERVIEW[context.language];
  const field = html`<form class="search" role="search" action="/"><input type="search" name="q" value="${text ?? ''}" aria-label="${words.search}" placeholder="${words.search}  /" maxlength="200"><button class="button plain">${words.searchButton}</button></form>`;
  const isListed = text !== null || clinics.length <= LISTED_AT_ONCE;
  if (!isListed) return section('clinics', words.allClinics, null, field);
  const wanted = (text ?? '').toLowerCase();
  const found = clinics.filter(({ tenant, name }) => `${tenant} ${name}`.toLowerCase().includes(wanted));
  const shown = found.slice(from, from + MOST_ROWS);
  const next = new URLSearchParams({ q: text ?? '', from: String(from + MOST_ROWS) });
  const list =
    shown.length === 0
      ? emptyState(words.noneFound)
      : html`${clinicTable(context, shown)}${pager(context, found.length > from + MOST_ROWS ? `/?${next}` : null)}`;
  const count =
    text === null ? null : html`<p class="quiet" role="status">${words.found(found.length, clinics.length)}</p>`;
  return section('clinics', words.allClinics, html`${count}${list}`, field);
}

function clinicTable(context: PageContext, clinics: readonly ClinicSummary[]): Html {
  const words = OVERVIEW[context.language];
  const columns = [words.clinic, words.sync, words.able, words.targets, words.pending, words.held, words.failing];
  const rows = clinics.map(
    ({ tenant, name, paused, health, inSyncAsOf, targets, pending, held, failing, ...state }) => ({
      id: tenant,
      address: clinicAddress(tenant),
      cells: [
        name,
        syncMark(context, state, inSyncAsOf),
        html`${healthMark(context, health)}${paused ? html` <span class="quiet">${words.pausedWord}</span>` : null}`,
        ...[targets, pending, held, failing],
      ],
    }),
  );
  return table(words.allClinics, columns, rows);
}

const STEP = 6;
const HEIGHT = 24;

/** Renders counts as bars, oldest first, with a text alternative. */
function sparkline(counts: readonly number[], summary: string): Html {
  const most = Math.max(1, ...counts);
  const bars = counts.map((count, at) => {
    const height = count === 0 ? 1 : Math.max(2, Math.round((count / most) * HEIGHT));
    return html`<rect x="${at * STEP}" y="${HEIGHT - height}" width="${STEP - 2}" height="${height}"/>`;
  });
  const width = counts.length * STEP - 2;
  return html`<svg class="sparkline" role="img" aria-label="${summary}" viewBox="0 0 ${width} ${HEIGHT}" width="${width}" height="${HEIGHT}"><title>${summary}</title>${bars}</svg>`;
}
