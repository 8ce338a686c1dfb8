import type { FastifyInstance } from 'fastify';
import { ClinicError } from '../rules/errors.ts';
import { type ApiContext, isApiPath } from './context.ts';

/**
 * Refuses calls that do not accept JSON explicitly: every call sends `Accept: application/json` (specification sections 4 and 5.5), even
 * for a PDF. The option `accept: 'any'` disables the check.
 */
export function checkAccept(app: FastifyInstance, { wire }: ApiContext): void {
  if (wire.accept === 'any') return;
  app.addHook('onRequest', async ({ url, headers }) => {
    const ranges = (headers.accept ?? '').split(',').map((range) => range.split(';')[0]?.trim().toLowerCase());
    if (!isApiPath(url) || ranges.includes('application/json')) return;
    throw new ClinicError(406, 'not_acceptable', 'Send Accept: application/json with every call');
  });
}
