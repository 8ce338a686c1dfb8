import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../../core/model/html.ts';
import type { ShownJob, ShownQueue } from '../../../jobs/queues.ts';
import type { Texts } from '../../documents/document.ts';
import type { OperatorServices } from '../operators.ts';
import { contextOf, type PageContext } from './context.ts';
import { sendPage } from './layout.ts';
import { emptyState, section, table, targetMark } from './parts.ts';

/** Maximum number of listed jobs per kind and queue. */
const MOST_JOBS = 20;

/** Adds the read-only page of the job queues for owners, about all clinics. */
export function addQueuesPage(app: FastifyInstance, services: OperatorServices): void {
  app.get('/queues', { config: { level: 'owner' } }, async (request, reply) => {
    const context = contextOf(request, services);
    const { tenants } = context.visitor ?? { tenants: new Set<string>() };
    const queues = await services.installation.queues(MOST_JOBS);
    const main = renderQueues(
      context,
      queues,
      (tenant) => tenants === null || (tenant !== null && tenants.has(tenant)),
    );
    return sendPage(reply, context, { title: QUEUES[context.language].title, main });
  });
}

/** @param maySee whether the visitor may see jobs of a tenant; null for jobs without one */
function renderQueues(
  context: PageContext,
  queues: readonly ShownQueue[],
  maySee: (tenant: string | null) => boolean,
): Html {
  const words = QUEUES[context.language];
  const columns = [words.queue, words.waiting, words.active, words.delayed, words.failed];
  const rows = queues.map(({ queue, counts: { waiting, active, delayed, failed } }) => ({
    id: `queue-${queue}`,
    cells: [queue, waiting, active, delayed, failed === 0 ? 0 : html`<span class="act">${failed}</span>`],
  }));
  const jobs = queues.flatMap(({ queue, waiting, active, failed }) => {
    const listed = [
      ...ofState(active, words.active),
      ...ofState(waiting, words.waiting),
      ...ofState(failed, words.failed),
    ];
    return listed.filter(({ job }) => maySee(job.tenant)).map((each) => ({ ...each, queue }));
  });
  return html`<p class="quiet">${words.intro}</p>${table(words.title, columns, rows)}${section('jobs', words.jobs, jobs.length === 0 ? emptyState(words.noJobs) : jobsTable(context, jobs))}`;
}

function ofState(jobs: readonly ShownJob[], state: string) {
  return jobs.map((job) => ({ job, state }));
}

function jobsTable(context: PageContext, jobs: readonly { queue: string; state: string; job: ShownJob }[]): Html {
  const { language, times } = context;
  const words = QUEUES[language];
  const columns = [
    words.queue,
    words.state,
    words.tenant,
    words.target,
    words.due,
    words.ended,
    words.attempts,
    words.job,
  ];
  const rows = jobs.map(({ queue, state, job }) => ({
    cells: [
      queue,
      state,
      job.tenant,
      job.target === null || job.tenant === null ? job.target : targetMark(context, job.tenant, job.target),
      times.at(job.dueAt),
      job.endedAt === null ? null : times.both(job.endedAt),
      job.attempts,
      html`<code>${job.id}</code>`,
    ],
  }));
  return html`${table(words.jobs, columns, rows)}<p class="quiet">${words.why}</p>`;
}

const en = {
  title: 'Queues',
  intro:
    'Jobs of the daemon in Redis. This page is read-only: the daemon repeats a failed job, at the latest in the next cycle.',
  queue: 'Queue',
  waiting: 'Pending',
  active: 'In progress',
  delayed: 'Scheduled',
  failed: 'Failed',
  jobs: 'Jobs',
  job: 'Job',
  tenant: 'Clinic',
  target: 'Target',
  due: 'Due',
  ended: 'Ended',
  attempts: 'Attempts',
  state: 'Status',
  noJobs: 'No pending, running or failed jobs.',
  why: 'The log of the daemon shows the reason of a failed job under the id of the job.',
};

/** Texts of the queues page. */
const QUEUES: Texts<typeof en> = {
  en,
  it: {
    title: 'Code',
    intro:
      'Lavori del daemon in Redis. Pagina di sola lettura: il daemon ripete un lavoro non riuscito, al più tardi nel ciclo successivo.',
    queue: 'Coda',
    waiting: 'In coda',
    active: 'In corso',
    delayed: 'Pianificati',
    failed: 'Non riusciti',
    jobs: 'Lavori',
    job: 'Lavoro',
    tenant: 'Clinica',
    target: 'Destinazione',
    due: 'Pianificato',
    ended: 'Terminato',
    attempts: 'Tentativi',
    state: 'Stato',
    noJobs: 'Nessun lavoro in coda, in corso o non riuscito.',
    why: 'Il log del daemon riporta il motivo di un lavoro non riuscito sotto il suo id.',
  },
};
