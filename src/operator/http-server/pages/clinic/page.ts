import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../../../core/model/html.ts';
import { pathSegment } from '../../../../core/model/path-segment.ts';
import { type Problem, problemsWithin } from '../../../../core/model/problems.ts';
import { SECOND_MS } from '../../../../core/model/time.ts';
import { listHolds } from '../../../../features/holds/holds.ts';
import { upcomingReminders } from '../../../../features/reminders/reminders.ts';
import type { ReminderLine } from '../../../../features/reminders/schemas.ts';
import { requireTenant } from '../../../control/installation.ts';
import { type RunView, recentRuns } from '../../../control/sync.ts';
import { targetNamesOf } from '../../../control/target-names.ts';
import { openTasks, readTask, type TaskView } from '../../../control/tasks.ts';
import { clinicAddress } from '../../../documents/document.ts';
import { reasonWord } from '../../../documents/names.ts';
import { CYCLE_OPERATIONS } from '../../../operations/cycles.ts';
import type { OperatorServices } from '../../operators.ts';
import { mayDo } from '../../operators.ts';
import { contextOf, operationContext, type PageContext, reasonField } from '../context.ts';
import { type Page, sendPage } from '../layout.ts';
import { retryResult } from '../outcomes.ts';
import {
  actionButton,
  copyable,
  emptyState,
  healthMark,
  linkButton,
  said,
  section,
  syncMark,
  table,
  targetMark,
  unfolding,
} from '../parts.ts';
import { endedPart, problemTable } from '../problems.ts';
import { CLINIC } from '../texts/clinic.ts';
import { CONFIGURATION } from '../texts/configuration.ts';
import { connectionsPart } from './connection.ts';
import { recordsPart, targetsPart } from './target.ts';
import { workNotice } from './work-result.ts';

/** All stored runs. */
const RUNS = 50;

interface Question {
  Params: { tenant: string };
  Querystring: { task?: string };
}

export function addClinicPage(app: FastifyInstance, services: OperatorServices): void {
  const config = { level: 'viewer' } as const;
  addClinicWork(app, services);
  app.get<Question>('/tenants/:tenant', { config }, async (request, reply) => {
    const { tenant } = request.params;
    requireTenant(services.installation, tenant);
    const context = contextOf(request, services, tenant);
    const { task } = request.query;
    // An expired task is not shown.
    const begun =
      typeof task === 'string' ? await readTask(services.installation, tenant, task).catch(() => null) : null;
    return sendPage(reply, context, await clinicPage(context, services, tenant, begun));
  });
}

async function clinicPage(
  context: PageContext,
  services: OperatorServices,
  tenant: string,
  begun: TaskView | null,
): Promise<Page> {
  const { installation } = services;
  const open = requireTenant(installation, tenant);
  const [found, runs, holds, reminders] = await Promise.all([
    services.statuses.ofTenant(installation, tenant),
    recentRuns(installation, tenant, RUNS),
    listHolds(installation, tenant),
    open.reminders === null ? null : upcomingReminders(installation, tenant),
  ]);
  const [clinic] = found.tenants;
  if (clinic === undefined) throw new Error('a tenant that is open has a status');
  const main = html`${begun === null ? retryResult(context) : workNotice(context, begun)}${clinic.paused ? html`<p class="notice">${CLINIC[context.language].paused}</p>` : null}${problemsPart(context, services, tenant, found.problems)}
${endedPart(
  context,
  problemsWithin(services.statuses.ended(), (each) => each === tenant),
  null,
)}
${targetsPart(context, clinic, targetNamesOf(open))}
${findPart(context, tenant)}
${holdsPart(context, tenant, holds.filter(({ state }) => state === 'open').length)}
${connectionsPart(context, tenant, clinic.connections)}
${recordsPart(context, clinic)}
${runsPart(context, tenant, runs)}
${reminders === null ? null : remindersPart(context, tenant, reminders.reminders)}
${configuredPart(context, services, tenant)}`;
  const extra = html`<p>${syncMark(context, clinic, clinic.inSyncAsOf)} ${healthMark(context, clinic.health)}</p>${workButtons(context, services, tenant)}`;
  return { title: clinic.name, main, headerPart: extra, isLive: true, isUnderWay: begun?.state === 'running' };
}

function problemsPart(
  context: PageContext,
  services: OperatorServices,
  tenant: string,
  problems: readonly Problem[],
): Html | null {
  const words = CLINIC[context.language];
  const own = problemsWithin(problems, (each) => each === tenant);
  return own.length === 0
    ? null
    : section('problems', words.problems, problemTable(context, words.problems, own, { links: null, services }));
}

/** Shows where the clinic is configured. */
function configuredPart({ language }: PageContext, { configurations }: OperatorServices, tenant: string): Html | null {
  if (configurations === null) return null;
  const words = CONFIGURATION[language];
  const file = configurations.files.configuration.managed.has(tenant) ? null : configurations.files.fileOf(tenant);
  return html`<p class="quiet">${file === null ? words.managed : words.byFile(file)}</p>`;
}

/** Renders the search for an appointment. */
function findPart({ language }: PageContext, tenant: string): Html {
  const words = CLINIC[language];
  return html`<form class="search" role="search" action="${clinicAddress(tenant, '/explain')}"><input type="search" name="id" required maxlength="200" aria-label="${words.find}" placeholder="${words.find}  /"><button class="button plain">${words.findButton}</button></form>`;
}

function holdsPart({ language }: PageContext, tenant: string, open: number): Html {
  const words = CLINIC[language];
  const holdsText =
    open === 0 ? html`<p class="quiet">${words.noHolds}</p>` : html`<p class="hold">${words.holdsOpen(open)}</p>`;
  return section(
    'holds',
    words.holds,
    holdsText,
    open === 0 ? null : linkButton(clinicAddress(tenant, '/holds'), words.holds),
  );
}

const SHOWN_REMINDERS = 8;

/** Renders the next reminders: time, rule and channel, without names or recipients. */
function remindersPart(context: PageContext, tenant: string, reminders: readonly ReminderLine[]): Html {
  const words = CLINIC[context.language];
  if (reminders.length === 0) return section('reminders', words.reminders, emptyState(words.noReminders));
  const columns = [words.due, words.appointment, words.rule, words.channel];
  const rows = reminders.slice(0, SHOWN_REMINDERS).map(({ appointment, rule, channel, dueAt, startAt }) => ({
    id: `reminder-${appointment}-${rule}-${channel}`,
    cells: [context.times.both(dueAt), html`<code>${appointment}</code> ${context.times.at(startAt)}`, rule, channel],
  }));
  const rest = reminders.length - SHOWN_REMINDERS;
  const more =
    rest <= 0
      ? null
      : html`<p class="more">${words.more(rest)} ${copyable(context, `clinic-mirror reminders upcoming ${tenant}`)}</p>`;
  return section('reminders', words.reminders, html`${table(words.reminders, columns, rows)}${more}`);
}

/** Most work ends within this time, so the page can show the result at once. */
const WAIT_MS = 2 * SECOND_MS;
/** Work that a user can start on a clinic's page. */
const WORK = ['sync', 'audit'] as const;

/** Adds the actions to start a cycle or an audit. The work continues after the user leaves the page. */
function addClinicWork(app: FastifyInstance, services: OperatorServices): void {
  const { installation, log } = services;
  const tasks = openTasks(installation, log);
  app.addHook('preClose', () => tasks.close());
  for (const kind of WORK) {
    const path = `/tenants/:tenant/${kind}`;
    app.post<{ Params: { tenant: string } }>(path, { config: { level: 'operator' } }, async (request, reply) => {
      const { tenant } = request.params;
      const { run } = kind === 'sync' ? CYCLE_OPERATIONS.syncTenant : CYCLE_OPERATIONS.auditTenant;
      const { id, result } = await tasks.begin(tenant, kind, (progress, signals) =>
        run({ tenant }, operationContext(request, services, { progress, signals })),
      );
      // The task reports errors.
      const ended = result.then(
        () => {},
        () => {},
      );
      await Promise.race([ended, pause(WAIT_MS, undefined, { ref: false })]);
      return reply.redirect(clinicAddress(tenant, `?task=${id}`), 303);
    });
  }
}

/** Renders the action buttons; null for viewers. */
function workButtons(context: PageContext, services: OperatorServices, tenant: string): Html | null {
  const { visitor, language } = context;
  if (visitor === null || !mayDo(visitor, 'operator')) return null;
  const words = CLINIC[language];
  const buttons = WORK.map((kind) => {
    const more = reasonField(context, services, kind);
    return actionButton(context, { address: clinicAddress(tenant, `/${kind}`), text: words[kind], more });
  });
  return html`<div class="buttons">${buttons}</div>`;
}

/** Number of displayed runs. */
const SHOWN_RUNS = 12;

/** Renders the last cycles with changes, holds or failures, each unfoldable. */
function runsPart(context: PageContext, tenant: string, runs: readonly RunView[]): Html {
  const words = CLINIC[context.language];
  if (runs.length === 0) return section('runs', words.runs, emptyState(words.noRuns));
  const busy = runs.filter((run) => changesOf(run) + heldOf(run) > 0 || run.error !== null);
  const quiet = html`<p class="quiet more">${words.quietRuns(runs.length - busy.length, runs.length)}</p>`;
  const shown = busy.slice(0, SHOWN_RUNS).map((run) => runDetails(context, tenant, run));
  return section(
    'runs',
    words.runs,
    html`${shown.length === 0 ? null : html`<div class="folds">${shown}</div>`}${quiet}`,
  );
}

function runDetails(context: PageContext, tenant: string, run: RunView): Html {
  const words = CLINIC[context.language];
  const { id, startedAt, finishedAt, error, snapshot, soon } = run;
  const held = heldOf(run);
  const holdsText = [
    changesOf(run) === 0 ? null : words.changes(changesOf(run)),
    held === 0 ? null : html`<span class="hold">${words.heldBack(held)}</span>`,
    error === null ? null : html`<span class="act"><code>${error.code}</code></span>`,
  ].filter((each) => each !== null);
  const took = `${((finishedAt - startedAt) / SECOND_MS).toFixed(1)} s`;
  const summary = html`${context.times.both(startedAt)}${holdsText.map((each) => html` · ${each}`)} <span class="quiet">· ${took}</span>`;
  const read =
    soon === null
      ? snapshot && words.recordsRead(snapshot.records, snapshot.requests)
      : words.nearRead(soon.records, soon.requests);
  const failure = error === null ? null : html`<p>${said(context, error.texts.message)} <code>${error.code}</code></p>`;
  const content = html`<p class="quiet">${words.run} <code>${id}</code>${read === null ? null : html` · ${read}`}</p>${failure}${written(context, tenant, run)}${undoButton(context, tenant, run)}`;
  return unfolding(`run-${id}`, summary, content);
}

/** Renders decisions and reasons by target. */
function written(context: PageContext, tenant: string, { targets }: RunView): Html | null {
  const { language } = context;
  const words = CLINIC[language];
  const shown = targets.filter(({ planned, held }) => held > 0 || Object.values(planned).some((count) => count > 0));
  if (shown.length === 0) return null;
  const rows = shown.map(({ target, planned, held, unchanged }) => ({
    cells: [
      targetMark(context, tenant, target),
      Object.entries(planned)
        .filter(([, count]) => count > 0)
        .map(([reason, count]) => `${count} ${reasonWord(reason, language)}`)
        .join(', '),
      held,
      unchanged,
    ],
  }));
  const columns = [words.target, words.why, words.held, words.unchanged];
  return table(words.run, columns, rows);
}

function undoButton({ visitor, language }: PageContext, tenant: string, { id, undoable }: RunView): Html | null {
  if (undoable === null || visitor === null || !mayDo(visitor, 'operator')) return null;
  const address = clinicAddress(tenant, `/runs/${pathSegment(id)}/undo`);
  return html`<p>${linkButton(address, CLINIC[language].undo, 'plain')}</p>`;
}

function changesOf({ targets }: RunView): number {
  return targets.reduce((sum, { planned }) => sum + Object.values(planned).reduce((one, other) => one + other, 0), 0);
}

function heldOf({ targets }: RunView): number {
  return targets.reduce((sum, { held }) => sum + held, 0);
}
