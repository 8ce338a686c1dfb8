import type { FastifyRequest } from 'fastify';

/** What a form sent: each name with its value, or its values. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, values] of Object.entries(typeof body === 'object' && body !== null ? body : {})) {
    for (const value of [values].flat()) if (typeof value === 'string') form.append(name, value);
  }
  return form;
}
