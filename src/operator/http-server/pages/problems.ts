import type { FastifyInstance } from 'fastify';
import { MirrorError } from '../../../core/model/errors.ts';
import { type Html, html } from '../../../core/model/html.ts';
import { pathSegment } from '../../../core/model/path-segment.ts';
import { type Problem, SERVER_AWAY, subjectOf } from '../../../core/model/problems.ts';
import { MINUTE_MS } from '../../../core/model/time.ts';
import { message } from '../../../messages/message.ts';
import type { EndedProblem } from '../../control/ended-problems.ts';
import { clinicAddress, explainAddress } from '../../documents/document.ts';
import { CYCLE_OPERATIONS } from '../../operations/cycles.ts';
import { formOf } from '../browser-request.ts';
import type { OperatorServices } from '../operators.ts';
import { mayDo } from '../operators.ts';
import type { PageContext } from './context.ts';
import { operationContext, reasonField } from './context.ts';
import { withOutcome } from './outcomes.ts';
import { actionButton, linkButton, nextStep, said, section, table, targetMark } from './parts.ts';
import { OVERVIEW } from './texts/overview.ts';

/** Maximum number of clinic names per problem. */
const NAMED_CLINICS = 30;
const RETRY_ROUTE = '/servers/retry';

/** Names and URLs of clinics. */
interface ClinicLinks {
  nameOf(tenant: string): string;
  /** Null for a clinic that is not open because its file has faults. */
  pageOf(tenant: string): string | null;
}

/** Links and actions of a problem table. */
export interface ProblemReach {
  /** Null on the clinic's own page. */
  links: ClinicLinks | null;
  /** Null if no action is allowed. */
  services: OperatorServices | null;
}

/** Renders one row per problem: the common sentence, start, waiting changes and one next step. */
export function problemTable(
  context: PageContext,
  caption: string,
  problems: readonly Problem[],
  { links, services }: ProblemReach,
): Html {
  const words = OVERVIEW[context.language];
  const columns = [...(links === null ? [] : [words.clinic]), words.what, words.since, words.waiting, words.toDo];
  const rows = problems.map((problem) => {
    const { tenant, subject, code, sinceAt, nextTryAt, waiting } = problem;
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
        ...(links === null ? [] : [whoseOf(context, problem, links)]),
        whatOf(context, problem, again),
        sinceAt === null ? null : context.times.both(sinceAt),
        waiting === 0 ? null : waiting,
        retryButton(context, problem, links, services) ?? toDo(context, problem, hasPage),
      ],
    };
  });
  return table(caption, columns, rows);
}

/** Renders problems that ended in the last hour, with end and duration; null if there are none. @param links null on a clinic's page */
export function endedPart(
  context: PageContext,
  ended: readonly EndedProblem[],
  links: ClinicLinks | null,
): Html | null {
  if (ended.length === 0) return null;
  const words = OVERVIEW[context.language];
  const rows = ended.map((problem) => ({
    cells: [
      ...(links === null ? [] : [whoseOf(context, problem, links)]),
      whatOf(context, problem),
      html`${words.overSince} ${context.times.at(problem.endedAt)}, ${words.lasted(Math.max(1, Math.round((problem.endedAt - problem.sinceAt) / MINUTE_MS)))}`,
    ],
  }));
  const columns = [...(links === null ? [] : [words.clinic]), words.what, words.end];
  return section('resolved', words.resolved, table(words.resolved, columns, rows));
}

/** Names the affected clinics. */
function whoseOf({ language }: PageContext, { tenant, tenants }: Problem, links: ClinicLinks | null): Html | string {
  const words = OVERVIEW[language];
  const nameOf = (id: string) => links?.nameOf(id) ?? id;
  if (tenants === undefined) return tenant === null ? words.everywhere : nameOf(tenant);
  const names = tenants.slice(0, NAMED_CLINICS).map((each) => nameOf(each.tenant));
  return html`${words.clinics(tenants.length)}: ${names.join(', ')}${tenants.length > NAMED_CLINICS ? ', …' : ''}`;
}

/** Names the subject: a target by its display name, everything else by its text. */
function subjectMark(context: PageContext, problem: Problem): Html {
  const { kind, id } = subjectOf(problem);
  if (kind !== 'target' || problem.tenant === null) return said(context, problem.texts.subject);
  return targetMark(context, problem.tenant, id);
}

function whatOf(context: PageContext, problem: Problem, again: Html | null = null): Html {
  const { code, texts } = problem;
  return html`<span class="what"><span class="quiet">${subjectMark(context, problem)}:</span> ${said(context, texts.sentence)} <code>${code}</code>${again}</span>`;
}

/** Renders a button to retry an unreachable server; null for other problems, and if the action requires a reason. */
function retryButton(
  context: PageContext,
  problem: Problem,
  clinicLinks: ClinicLinks | null,
  services: OperatorServices | null,
): Html | null {
  const { visitor } = context;
  const { code, tenants = [] } = problem;
  if (code !== SERVER_AWAY || services === null || visitor === null || !mayDo(visitor, 'operator')) return null;
  if (reasonField(context, services, 'retry') !== null) return null;
  const fields = {
    server: subjectOf(problem).id,
    tenant: clinicLinks === null ? (tenants[0]?.tenant ?? '') : '',
  };
  return actionButton(context, {
    address: RETRY_ROUTE,
    text: OVERVIEW[context.language].retryNow,
    fields,
    kind: 'main',
  });
}

/** Adds the route of the retry button. */
export function addRetry(app: FastifyInstance, services: OperatorServices): void {
  app.post(RETRY_ROUTE, { config: { level: 'operator' } }, async (request, reply) => {
    const form = formOf(request);
    const tenant = form.get('tenant') ?? '';
    const address = tenant === '' ? '/' : clinicAddress(tenant);
    try {
      const server = form.get('server') ?? '';
      const { tenants, targets } = await CYCLE_OPERATIONS.retryServer.run(
        { server },
        operationContext(request, services),
      );
      return reply.redirect(withOutcome(address, 'retry', tenants.length, targets), 303);
    } catch (error) {
      // The server answered in the meantime, or its work belongs to clinics that the visitor may not see.
      if (!(error instanceof MirrorError) || error.code !== 'server-not-away') throw error;
      return reply.redirect(withOutcome(address, 'retry-nothing'), 303);
    }
  });
}

/** Returns a button if a page helps, otherwise the command. */
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
      return linkButton(clinicAddress(tenant, `/connections/${pathSegment(id)}`), words.connect);
    }
    if (kind === 'appointment') return linkButton(explainAddress(tenant, id), words.look);
    if (code === 'patients-replied' && isOperator) return linkButton(clinicAddress(tenant, '/replies'), words.look);
    if ((kind === 'target' && code === 'on-hold') || code === 'corrections-held')
      return linkButton(clinicAddress(tenant, '/holds'), words.decide);
    if (kind === 'target' && code === 'writes-failed') {
      return linkButton(clinicAddress(tenant, `/targets/${pathSegment(id)}`), words.look);
    }
  }
  return next === null ? null : nextStep(context, next);
}
