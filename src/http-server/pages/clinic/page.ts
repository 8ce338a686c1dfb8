import type { FastifyInstance } from 'fastify';
import { requireTenant } from '../../../control/installation.ts';
import { recentRuns } from '../../../control/runs.ts';
import { readTask, type TaskView } from '../../../control/tasks.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { listHolds } from '../../../features/holds/holds.ts';
import { upcomingReminders } from '../../../features/reminders/reminders.ts';
import { type Html, html } from '../../../model/html.ts';
import { type Problem, problemsWithin } from '../../../model/problems.ts';
import type { OperatorDesk } from '../../operator-desk.ts';
import { contextOf, type PageContext } from '../context.ts';
import { type Page, sendPage } from '../layout.ts';
import { canGoOnMark, inStepMark, linkButton, section } from '../parts.ts';
import { problemTable } from '../problems.ts';
import { CLINIC } from '../texts/clinic.ts';
import { CONFIGURATION } from '../texts/configuration.ts';
import { connectionsPart } from './connections.ts';
import { recordsPart } from './records.ts';
import { remindersPart } from './reminders.ts';
import { runsPart } from './runs.ts';
import { targetsPart } from './targets.ts';
import { addClinicWork, workButtons, workNotice } from './work.ts';

/** Runs that are looked at: all that are kept. */
const RUNS = 50;

interface Question {
  Params: { tenant: string };
  Querystring: { task?: string };
}

/** Adds the page of one clinic. */
export function addClinicPage(app: FastifyInstance, desk: OperatorDesk): void {
  const config = { level: 'viewer' } as const;
  addClinicWork(app, desk);
  app.get<Question>('/tenants/:tenant', { config }, async (request, reply) => {
    const { tenant } = request.params;
    requireTenant(desk.installation, tenant);
    const context = contextOf(request, desk, tenant);
    const { task } = request.query;
    // One that is not known any more is no news.
    const begun = typeof task === 'string' ? await readTask(desk.installation, tenant, task).catch(() => null) : null;
    return sendPage(reply, context, await clinicPage(context, desk, tenant, begun));
  });
}

async function clinicPage(
  context: PageContext,
  desk: OperatorDesk,
  tenant: string,
  begun: TaskView | null,
): Promise<Page> {
  const { installation } = desk;
  const open = requireTenant(installation, tenant);
  const [found, runs, holds, reminders] = await Promise.all([
    desk.statuses.ofTenant(installation, tenant),
    recentRuns(installation, tenant, RUNS),
    listHolds(installation, tenant),
    open.reminders === null ? null : upcomingReminders(installation, tenant),
  ]);
  const [clinic] = found.tenants;
  if (clinic === undefined) throw new Error('a tenant that is open has a status');
  const isCalendar = (target: string) => open.targets.get(target)?.crm === null;
  const main = html`${begun === null ? null : workNotice(context, begun)}${clinic.paused ? html`<p class="notice">${CLINIC[context.language].paused}</p>` : null}${problemsPart(context, desk, tenant, found.problems)}
${targetsPart(context, tenant, clinic.targets, isCalendar)}
${findPart(context, tenant)}
${holdsPart(context, tenant, holds.filter(({ state }) => state === 'open').length)}
${connectionsPart(context, tenant, clinic.connections)}
${recordsPart(context, clinic)}
${runsPart(context, tenant, runs)}
${reminders === null ? null : remindersPart(context, tenant, reminders.reminders)}
${configuredPart(context, desk, tenant)}`;
  const beside = html`<p>${inStepMark(context, clinic, clinic.inSyncAsOf)} ${canGoOnMark(context, clinic.canGoOn)}</p>${workButtons(context, desk, tenant)}`;
  return { title: clinic.name, main, beside, isLive: true, isUnderWay: begun?.state === 'running' };
}

function problemsPart(
  context: PageContext,
  desk: OperatorDesk,
  tenant: string,
  problems: readonly Problem[],
): Html | null {
  const words = CLINIC[context.language];
  const own = problemsWithin(problems, (each) => each === tenant);
  return own.length === 0
    ? null
    : section('problems', words.problems, problemTable(context, words.problems, own, null, desk));
}

/** Says where the clinic is configured. */
function configuredPart({ language }: PageContext, { configurations }: OperatorDesk, tenant: string): Html | null {
  if (configurations === null) return null;
  const words = CONFIGURATION[language];
  const file = configurations.files.configuration.managed.has(tenant) ? null : configurations.files.fileOf(tenant);
  return html`<p class="quiet">${file === null ? words.managed : words.byFile(file)}</p>`;
}

/** Leads to one appointment's way. */
function findPart({ language }: PageContext, tenant: string): Html {
  const words = CLINIC[language];
  return html`<form class="search" role="search" action="${clinicAddress(tenant, '/explain')}"><input type="search" name="id" required maxlength="200" aria-label="${words.find}" placeholder="${words.find}  /"><button class="button plain">${words.findButton}</button></form>`;
}

function holdsPart({ language }: PageContext, tenant: string, open: number): Html {
  const words = CLINIC[language];
  const told =
    open === 0 ? html`<p class="quiet">${words.noHolds}</p>` : html`<p class="hold">${words.holdsOpen(open)}</p>`;
  return section(
    'holds',
    words.holds,
    told,
    open === 0 ? null : linkButton(clinicAddress(tenant, '/holds'), words.holds),
  );
}
