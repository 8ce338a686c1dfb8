import type { FastifyInstance } from 'fastify';
import { ClinicError } from '../rules/errors.ts';
import { type ApiContext, isApiPath } from './context.ts';

/**
 * Refuses calls that don't ask for JSON by name: every call sends `Accept: application/json` (specification sections 4 and 5.5), those
 * for a PDF too. With the option `accept: 'any'` nobody looks.
 */
export function checkAccept(app: FastifyInstance, { wire }: ApiContext): void {
  if (wire.accept === 'any') return;
  app.addHook('onRequest', async ({ url, headers }) => {
    const ranges = (headers.accept ?? '').split(',').map((range) => range.split(';')[0]?.trim().toLowerCase());
    if (!isApiPath(url) || ranges.includes('application/json')) return;
    throw new ClinicError(406, 'not_acceptable', 'Send Accept: application/json with every call');
  });
}
