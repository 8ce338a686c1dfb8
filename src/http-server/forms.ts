import type { FastifyInstance, FastifyRequest } from 'fastify';

const FORM = 'application/x-www-form-urlencoded';
/** A form may name every item of a hold that is decided in part. */
const FORM_BYTES = 256 * 1_024;

/** Has forms read, where nobody does yet: a body is a `URLSearchParams` then. */
export function addForms(app: FastifyInstance): void {
  if (app.hasContentTypeParser(FORM)) return;
  const read = async (_: unknown, body: unknown) => new URLSearchParams(String(body));
  app.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: FORM_BYTES }, read);
}

/** What a form sent; nothing where it was none. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}
