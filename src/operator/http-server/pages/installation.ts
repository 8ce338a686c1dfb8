import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import manifest from '../../../../package.json' with { type: 'json' };
import { requireAllTenants } from '../../../core/model/acts.ts';
import { type Html, type HtmlPart, html } from '../../../core/model/html.ts';
import type { Problem } from '../../../core/model/problems.ts';
import type { Health } from '../../../core/model/schemas.ts';
import { worseHealth } from '../../../core/model/sync-state.ts';
import { type Instant, SECOND_MS } from '../../../core/model/time.ts';
import { type InstallationPart, partOf, readInstallation } from '../../control/installation-readings.ts';
import { clinicAddress } from '../../documents/document.ts';
import { type OperatorServices, visitorOf } from '../operators.ts';
import { contextOf, type PageContext } from './context.ts';
import { type FactsOfPart, factsOf, type ReadPart } from './installation-facts.ts';
import { sendPage } from './layout.ts';
import { healthMark, nextStep, said, table } from './parts.ts';
import { INSTALLATION } from './texts/installation.ts';
import { OVERVIEW } from './texts/overview.ts';

/** Maximum number of problems and of next steps per part. */
const MOST_PROBLEMS = 3;

/** Parts in the order of the page. */
const ORDER = [
  ...(['daemons', 'configuration', 'redis', 'directory', 'queues', 'servers', 'expiry', 'budgets'] as const),
  ...(['alerts', 'backups', 'retention', 'others'] as const),
];

/** One line of the page. */
interface PartLine {
  id: ReadPart | 'process';
  /** Null: no check judges the part. */
  health: Health | null;
  facts: HtmlPart;
  problems: readonly Problem[];
  since: HtmlPart;
  asOf: Instant | null;
}

/** Adds the page about the daemon and its surroundings, for owners of all clinics. */
export function addInstallationPage(app: FastifyInstance, services: OperatorServices): void {
  app.get('/installation', { config: { level: 'owner' } }, async (request, reply) => {
    const visitor = visitorOf(request);
    requireAllTenants(visitor);
    const found = await readInstallation(services, services.acting(visitor, null).actServices);
    // After the read, which can take seconds.
    const context = contextOf(request, services);
    const lines = [
      processLine(context),
      ...('away' in found ? linesWithoutRedis(context, found.away) : linesOf(context, found, services)),
    ];
    const { title } = INSTALLATION[context.language];
    return sendPage(reply, context, { title, main: renderLines(context, lines), headerPart: counts(context, lines) });
  });
}

/** An answer proves that the process runs. */
function processLine({ language, times }: PageContext): PartLine {
  const { runs } = INSTALLATION[language];
  const since = times.both(times.now - process.uptime() * SECOND_MS);
  const facts = html`<p>${runs(manifest.version, hostname(), String(process.pid))}</p>`;
  return { id: 'process', health: 'ok', facts, problems: [], since, asOf: times.now };
}

/** An older status would show a state that Redis no longer confirms, so the other parts show none. */
function linesWithoutRedis({ language, times }: PageContext, away: Problem): PartLine[] {
  const { notRead } = INSTALLATION[language];
  return ORDER.flatMap((id): PartLine[] => {
    if (id === 'redis') {
      return [{ id, health: away.health, facts: null, problems: [away], since: null, asOf: times.now }];
    }
    const facts = html`<p class="quiet">${notRead}</p>`;
    return id === 'others' ? [] : [{ id, health: null, facts, problems: [], since: null, asOf: null }];
  });
}

function linesOf(
  context: PageContext,
  found: Parameters<typeof factsOf>[1],
  { installation }: OperatorServices,
): PartLine[] {
  const facts = factsOf(context, found, installation.unchecked.size);
  const problems = Map.groupBy(found.problems, partOf);
  const ended = Map.groupBy(found.ended, partOf);
  return ORDER.flatMap((id): PartLine[] => {
    const own = [...(facts[id].problems ?? []), ...(problems.get(id as InstallationPart) ?? [])];
    if (id === 'others' && own.length === 0) return [];
    const starts = own.flatMap(({ sinceAt }) => sinceAt ?? []);
    const [last] = ended.get(id as InstallationPart) ?? [];
    return [
      {
        ...{ id, problems: own, health: healthOf(own, facts[id]), facts: facts[id].content, asOf: facts[id].asOf },
        since: starts.length > 0 ? context.times.both(Math.min(...starts)) : lastEnd(context, last?.endedAt ?? null),
      },
    ];
  });
}

function healthOf(problems: readonly Problem[], { isJudged }: FactsOfPart): Health | null {
  if (problems.length === 0) return isJudged ? 'ok' : null;
  return problems.reduce<Health>((health, problem) => worseHealth(health, problem.health), 'ok');
}

function lastEnd({ language, times }: PageContext, endedAt: Instant | null): Html | null {
  if (endedAt === null) return null;
  return html`<span class="quiet">${INSTALLATION[language].lastOver}</span> ${times.at(endedAt)}`;
}

function renderLines(context: PageContext, lines: readonly PartLine[]): Html {
  const words = INSTALLATION[context.language];
  const columns = [words.part, words.state, words.reading, words.since, words.asOf, words.toDo];
  const rows = lines.map(({ id, health, facts, problems, since, asOf }) => ({
    id: `part-${id}`,
    cells: [
      html`<strong>${words[id]}</strong>`,
      health === null ? html`<span class="quiet">${words.notChecked}</span>` : healthMark(context, health),
      html`<div>${problemLines(context, problems)}${facts}</div>`,
      since,
      asOf === null ? null : context.times.at(asOf),
      nextSteps(context, problems),
    ],
  }));
  return html`<p class="quiet">${words.intro}</p>${table(words.title, columns, rows)}`;
}

function problemLines(context: PageContext, problems: readonly Problem[]): Html | null {
  const shown = problems.slice(0, MOST_PROBLEMS).map(({ tenant, code, texts }) => {
    const whose = tenant === null ? null : html`<a href="${clinicAddress(tenant)}">${tenant}</a> `;
    return html`<p>${whose}<span class="quiet">${said(context, texts.subject)}:</span> ${said(context, texts.sentence)} <code>${code}</code></p>`;
  });
  const rest = problems.length - shown.length;
  const more =
    rest > 0 ? html`<p><a href="/">${INSTALLATION[context.language].moreProblems(String(rest))}</a></p>` : null;
  return problems.length === 0 ? null : html`${shown}${more}`;
}

function nextSteps(context: PageContext, problems: readonly Problem[]): Html | null {
  const shown = problems
    .filter(({ health, texts }) => health === 'action-required' && texts.next !== null)
    .filter((problem, at, all) => all.findIndex(({ next }) => next === problem.next) === at)
    .slice(0, MOST_PROBLEMS)
    .map(({ texts }) => html`<p>${texts.next === null ? null : nextStep(context, texts.next)}</p>`);
  return shown.length === 0 ? null : html`<div>${shown}</div>`;
}

function counts({ language }: PageContext, lines: readonly PartLine[]): Html {
  const words = OVERVIEW[language];
  const count = (wanted: Health) => lines.filter(({ health }) => health === wanted).length;
  const [needing, waiting] = [count('action-required'), count('retrying')];
  const summary = [
    ...(needing === 0 ? [] : [html`<span class="act">${words.needYou(needing)}</span> · `]),
    ...(waiting === 0 ? [] : [html`<span class="wait">${words.wait(waiting)}</span> · `]),
    html`<span class="ok">${words.well(count('ok'))}</span>`,
  ];
  return html`<p class="counts">${summary}</p>`;
}
