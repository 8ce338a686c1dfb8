import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Html, html } from '../../../../core/model/html.ts';
import { pathSegment } from '../../../../core/model/path-segment.ts';
import { SECOND_MS } from '../../../../core/model/time.ts';
import { RUN_OPERATIONS } from '../../../../features/undo/operations.ts';
import type { UndoView } from '../../../../features/undo/schemas.ts';
import { UNDO_RESULTS } from '../../../../features/undo/texts.ts';
import { clinicAddress, explainAddress } from '../../../documents/document.ts';
import type { OperatorServices } from '../../operators.ts';
import { contextOf, operationContext, type PageContext, reasonField } from '../context.ts';
import { sendPage } from '../layout.ts';
import { resultLink, resultNotice } from '../outcomes.ts';
import { copyable, csrfField, emptyState, table, targetMark } from '../parts.ts';
import { ACTS } from '../texts/frame.ts';
import { RESULTS } from '../texts/results.ts';
import { joined } from './work-result.ts';

const ROUTE = '/tenants/:tenant/runs/:run/undo';
/** An undo fetches each record of the run from the clinic and writes the restored content. */
const TIMEOUT_MS = 60 * SECOND_MS;
/** Maximum number of displayed rows. */
const MOST_ROWS = 200;
interface RunRoute {
  Params: { tenant: string; run: string };
}

/** Adds the page to undo a run: first a preview, then the result. */
export function addUndoPage(app: FastifyInstance, services: OperatorServices): void {
  const options = { config: { level: 'operator' } as const, handlerTimeout: TIMEOUT_MS + SECOND_MS };
  const undo = async (request: FastifyRequest<RunRoute>, dryRun: boolean) => {
    const { tenant, run } = request.params;
    const context = contextOf(request, services, tenant);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const signals = { stop: signal, abort: signal };
    const view = await RUN_OPERATIONS.undoRun.run(
      { tenant, run, dryRun },
      operationContext(request, services, { signals }),
    );
    return { context, view, title: ACTS[context.language].undoTitle(run) };
  };
  app.get<RunRoute>(ROUTE, options, async (request, reply) => {
    const { context, view, title } = await undo(request, true);
    const main = html`${records(context, view)}${undoForm(context, services, view)}`;
    return sendPage(reply, context, { title, main });
  });
  app.post<RunRoute>(ROUTE, options, async (request, reply) => {
    const { context, view, title } = await undo(request, false);
    return sendPage(reply, context, { title, main: html`${undone(context, view)}${records(context, view)}` });
  });
}

function undone({ language, times }: PageContext, { pinnedUntil, records: all, tenant }: UndoView): Html {
  const words = RESULTS[language];
  const { undoDone, pinned } = ACTS[language];
  const restored = all.filter(({ result }) => result === 'restored').length;
  const later = all.filter(({ result }) => result === 'waiting').length;
  const rest = all.length - restored - later;
  const figures = joined([
    restored === 0 ? words.restoredNone(all.length) : words.restored(restored, all.length),
    later === 0 ? null : words.restoresLater(later),
    rest === 0 ? null : words.notRestored(rest),
  ]);
  return resultNotice([
    html`<strong>${undoDone}</strong> ${figures}. ${resultLink(clinicAddress(tenant), words.toClinic)}`,
    pinnedUntil === null ? null : pinned(times.text(pinnedUntil)),
  ]);
}

function records(context: PageContext, { run, tenant, dryRun, records: all }: UndoView): Html {
  const words = ACTS[context.language];
  if (all.length === 0) return emptyState(words.undoNothing);
  const columns = [words.target, words.record, words.effect, words.result];
  const rows = all.slice(0, MOST_ROWS).map(({ target, record, effect, result }) => ({
    cells: [
      targetMark(context, tenant, target),
      html`<a href="${explainAddress(tenant, record)}"><code>${record}</code></a>`,
      words[effect],
      UNDO_RESULTS[context.language][result === 'waiting' && !dryRun ? 'waitingStill' : result],
    ],
  }));
  const rest = all.length - MOST_ROWS;
  const more =
    rest <= 0 ? null : html`<p class="more">+ ${rest} ${copyable(context, `clinic-mirror undo ${run} --dry-run`)}</p>`;
  return html`${table(words.undoTitle(run), columns, rows)}${more}`;
}

function undoForm(
  context: PageContext,
  services: OperatorServices,
  { run, tenant, records: all }: UndoView,
): Html | null {
  const words = ACTS[context.language];
  if (all.length === 0) return null;
  const address = clinicAddress(tenant, `/runs/${pathSegment(run)}/undo`);
  return html`<form class="stack" method="post" action="${address}">${csrfField(context.visitor)}<p>${words.undoText}</p>${reasonField(context, services, 'undo')}<p><button class="button main">${words.undo}</button></p></form>`;
}
