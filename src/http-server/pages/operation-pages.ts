import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireTenant } from '../../control/installation.ts';
import { OPERATIONS } from '../../features/operations.ts';
import type { AnyOperation } from '../../operations/operation.ts';
import type { OperatorServices } from '../operator-desk.ts';
import { operationContext } from './acting.ts';
import { contextOf } from './context.ts';
import { sendPage } from './layout.ts';
import { printHtml } from './print-html.ts';

type Shown = AnyOperation & Required<Pick<AnyOperation, 'document' | 'page'>>;

/** Operations that a page of a clinic shows. */
const OPERATION_PAGES: readonly Shown[] = (Object.values(OPERATIONS) as unknown as AnyOperation[]).filter(
  (operation): operation is Shown => operation.page !== undefined && operation.document !== undefined,
);

/** Adds the pages of operations: each shows the document of the result. */
export function addOperationPages(app: FastifyInstance, desk: OperatorServices): void {
  app.decorate('operationPages', OPERATION_PAGES);
  for (const operation of OPERATION_PAGES) {
    const { level, page } = operation;
    app.get(
      `/tenants/:tenant${page.path}`,
      { config: { level } },
      async (request: FastifyRequest<{ Params: { tenant: string } }>, reply) => {
        const { id } = requireTenant(desk.installation, request.params.tenant);
        const context = contextOf(request, desk, id);
        const result = await operation.run(operation.input.parse({ tenant: id }), operationContext(request, desk));
        const { title, blocks } = (await operation.document())(result, context.language);
        return sendPage(reply, context, { title, main: printHtml(context, blocks) });
      },
    );
  }
}
