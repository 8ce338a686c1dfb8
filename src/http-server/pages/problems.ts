import type { FastifyInstance } from 'fastify';
import { clinicAddress, explainAddress } from '../../documents/document.ts';
import { message } from '../../messages/message.ts';
import { type Html, html } from '../../model/html.ts';
import { type Problem, SERVER_AWAY, subjectOf } from '../../model/problems.ts';
import { CYCLE_OPERATIONS } from '../../operations/cycles.ts';
import { formOf } from '../browser-request.ts';
import type { OperatorServices } from '../operators.ts';
import { mayDo } from '../operators.ts';
import type { PageContext } from './context.ts';
import { operationContext, reasonField } from './context.ts';
import { actionButton, linkButton, nextStep, said, table } from './parts.ts';
import { OVERVIEW } from './texts/overview.ts';

/** Clinics of one problem that are named. */
const NAMED_CLINICS = 30;
const RETRY_ROUTE = '/servers/retry';

/** Whose it is, and where that is looked at. */
interface ClinicLinks {
  nameOf(tenant: string): string;
  /** Null for one that is not open, since its file has faults. */
  pageOf(tenant: string): string | null;
}

/** Where the problems of a table lead. */
export interface ProblemReach {
  /** Null on the page of the clinic itself. */
  links: ClinicLinks | null;
  /** Null where nothing may be begun. */
  services: OperatorServices | null;
}

/** What is the matter, one row each: the sentence that every surface repeats, since when, what waits, and one thing to do. */
export function problemTable(
  context: PageContext,
  caption: string,
  problems: readonly Problem[],
  { links, services }: ProblemReach,
): Html {
  const words = OVERVIEW[context.language];
  const columns = [...(links === null ? [] : [words.clinic]), words.what, words.since, words.waiting, words.toDo];
  const nameOf = (tenant: string | null) => (tenant === null ? words.everywhere : (links?.nameOf(tenant) ?? tenant));
  const named = (clinics: NonNullable<Problem['clinics']>) => {
    const names = clinics.slice(0, NAMED_CLINICS).map(({ tenant }) => nameOf(tenant));
    return `${names.join(', ')}${clinics.length > NAMED_CLINICS ? ', …' : ''}`;
  };
  const rows = problems.map((problem) => {
    const { tenant, subject, code, sinceAt, nextTryAt, waiting, clinics, texts } = problem;
    const name = clinics === undefined ? nameOf(tenant) : html`${words.clinics(clinics.length)}: ${named(clinics)}`;
    const page = tenant === null ? null : (links?.pageOf(tenant) ?? null);
    const again =
      nextTryAt === null
        ? null
        : html` <span class="quiet">${said(context, message('next-try', { time: context.times.text(nextTryAt) }))}</span>`;
    const hasPage = tenant !== null && (links === null || page !== null);
    return {
      id: `problem ${tenant ?? ''} ${subject} ${code}`.replaceAll(/[^\w-]+/g, '-'),
      ...(page === null ? {} : { address: page }),
      cells: [
        ...(links === null ? [] : [name]),
        html`<span class="what"><span class="quiet">${said(context, texts.subject)}:</span> ${said(context, texts.sentence)} <code>${code}</code>${again}</span>`,
        sinceAt === null ? null : context.times.both(sinceAt),
        waiting === 0 ? null : waiting,
        retryButton(context, problem, links, services) ?? toDo(context, problem, hasPage),
      ],
    };
  });
  return table(caption, columns, rows);
}

/** Has a server tried now that is away; null for what is another problem, and where a reason has to be given with the command. */
function retryButton(
  context: PageContext,
  problem: Problem,
  clinicLinks: ClinicLinks | null,
  services: OperatorServices | null,
): Html | null {
  const { visitor } = context;
  const { code, clinics = [] } = problem;
  if (code !== SERVER_AWAY || services === null || visitor === null || !mayDo(visitor, 'operator')) return null;
  if (reasonField(context, services, 'retry') !== null) return null;
  const fields = {
    server: subjectOf(problem).id,
    tenant: clinicLinks === null ? (clinics[0]?.tenant ?? '') : '',
  };
  return actionButton(context, {
    address: RETRY_ROUTE,
    text: OVERVIEW[context.language].retryNow,
    fields,
    kind: 'main',
  });
}

/** Adds what that button does. */
export function addRetry(app: FastifyInstance, services: OperatorServices): void {
  app.post(RETRY_ROUTE, { config: { level: 'operator' } }, async (request, reply) => {
    const form = formOf(request);
    const tenant = form.get('tenant') ?? '';
    await CYCLE_OPERATIONS.retryServer.run({ server: form.get('server') ?? '' }, operationContext(request, services));
    return reply.redirect(tenant === '' ? '/' : clinicAddress(tenant), 303);
  });
}

/** One button where a page leads on, else the command. */
function toDo(context: PageContext, problem: Problem, hasPage: boolean): Html | null {
  const {
    tenant,
    code,
    texts: { next },
  } = problem;
  const words = OVERVIEW[context.language];
  const { kind, id } = subjectOf(problem);
  if (tenant !== null && hasPage) {
    const isOperator = context.visitor !== null && mayDo(context.visitor, 'operator');
    if (kind === 'login' && isOperator) {
      return linkButton(clinicAddress(tenant, `/connections/${encodeURIComponent(id)}`), words.connect);
    }
    if (kind === 'appointment') return linkButton(explainAddress(tenant, id), words.look);
    if ((kind === 'target' && code === 'held') || code === 'corrections-held')
      return linkButton(clinicAddress(tenant, '/holds'), words.decide);
    if (kind === 'target' && code === 'failing') {
      return linkButton(clinicAddress(tenant, `/targets/${encodeURIComponent(id)}`), words.look);
    }
  }
  return next === null ? null : nextStep(context, next);
}
