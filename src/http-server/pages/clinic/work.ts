import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { openTasks, type TaskView } from '../../../control/tasks.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { type Html, html } from '../../../model/html.ts';
import { SECOND_MS } from '../../../model/time.ts';
import { CYCLE_OPERATIONS } from '../../../operations/cycles.ts';
import type { OperatorDesk } from '../../operator-desk.ts';
import { mayDo } from '../../visitors.ts';
import { operationContext, reasonField } from '../acting.ts';
import type { PageContext } from '../context.ts';
import { failureNotice } from '../notices.ts';
import { actionButton } from '../parts.ts';
import { ACTS } from '../texts/acts.ts';
import { CLINIC } from '../texts/clinic.ts';

/** Most work ends within this: then the page shows what came of it at once. */
const WAIT_MS = 2 * SECOND_MS;
/** What a person may begin on a clinic's page. */
const WORK = ['sync', 'audit'] as const;

/** Adds what begins work on a clinic: a cycle now, and a reading back of all targets. It goes on when the page is left. */
export function addClinicWork(app: FastifyInstance, desk: OperatorDesk): void {
  const { installation, log } = desk;
  const tasks = openTasks(installation, log);
  app.addHook('preClose', () => tasks.close());
  for (const kind of WORK) {
    const path = `/tenants/:tenant/${kind}`;
    app.post<{ Params: { tenant: string } }>(path, { config: { level: 'operator' } }, async (request, reply) => {
      const { tenant } = request.params;
      const { run } = kind === 'sync' ? CYCLE_OPERATIONS.syncTenant : CYCLE_OPERATIONS.auditTenant;
      const { id, result } = await tasks.begin(tenant, kind, (progress, signals) =>
        run({ tenant }, operationContext(request, desk, { progress, signals })),
      );
      // What it throws is told by the task.
      const ended = result.then(
        () => {},
        () => {},
      );
      await Promise.race([ended, pause(WAIT_MS, undefined, { ref: false })]);
      return reply.redirect(clinicAddress(tenant, `?task=${id}`), 303);
    });
  }
}

/** Buttons that begin work; nothing for who may only look. */
export function workButtons(context: PageContext, desk: OperatorDesk, tenant: string): Html | null {
  const { visitor, language } = context;
  if (visitor === null || !mayDo(visitor, 'operator')) return null;
  const words = CLINIC[language];
  const buttons = WORK.map((kind) => {
    const more = reasonField(context, desk, kind);
    return actionButton(context, { address: clinicAddress(tenant, `/${kind}`), text: words[kind], more });
  });
  return html`<div class="buttons">${buttons}</div>`;
}

/** How work stands that was begun here. */
export function workNotice(context: PageContext, { kind, state, error }: TaskView): Html {
  const { language } = context;
  const words = ACTS[language];
  const what = kind === 'sync' || kind === 'audit' ? CLINIC[language][kind] : kind;
  if (error !== null) return failureNotice(context, what, error);
  const told = { running: words.noteBegun, done: words.noteDone, failed: words.noteFailed, lost: words.noteLost };
  return html`<div class="notice" role="status"><p><strong>${what}:</strong> ${told[state]}</p></div>`;
}
