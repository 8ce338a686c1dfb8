import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { compareSpecification } from '../../../src/setup/profile-finder/compare.ts';
import { readSpecification } from '../../../src/setup/profile-finder/openapi.ts';

export const DOCUMENTED = clinicProfileSchema.parse({});
export const PATH = '/v2/tenants/{id}/appointments';

/** A document with one list of appointments. */
export function withAppointments(row: unknown, more: object = {}, parameters: unknown[] = []): string {
  const schema = { type: 'array', items: row };
  const get = { parameters, responses: { 200: { content: { 'application/json': { schema } } } } };
  return JSON.stringify({ openapi: '3.0.3', paths: { [PATH]: { get } }, ...more });
}

/** Compared with the documented profile. */
export function compared(document: string) {
  return compareSpecification(readSpecification(document), DOCUMENTED);
}

/** The proposed value at a path of the profile; undefined without a proposal. */
export function changed(document: string, location: string): unknown {
  return compared(document).changes.find(({ path }) => path.join('.') === location)?.value;
}

/** The undecided finding at a path. */
export function undecidedAt(document: string, location: string) {
  return compared(document).findings.find((one) => one.location === location && one.result === 'undecided');
}
