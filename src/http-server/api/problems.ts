import { z } from 'zod';
import type { Actor, MirrorError } from '../../model/errors.ts';
import { SECOND_MS } from '../../model/time.ts';
import { configurationFault } from '../../operations/schemas.ts';
import type { ConfigurationError } from '../../settings/faults.ts';

/** Content type of {@link ProblemDocument}: RFC 9457 section 3. */
export const PROBLEM_TYPE = 'application/problem+json';

/** What every route answers when it can't do what it was asked: RFC 9457, with the code and the remedy of every other surface. */
export const problemDocument = z.object({
  type: z.string().describe('`urn:clinic-mirror:error:<code>`'),
  title: z.string().describe('The code in words'),
  status: z.int().describe('The HTTP status'),
  detail: z.string().describe('What is the matter: constant words, ids and codes'),
  code: z.string().describe('Stable; docs/errors.md lists all'),
  remedy: z.string().nullable().describe('What to do; null where nothing is to be done'),
  about: z.string().nullable().describe('What it is about: names of fields and rules, ids; null where it names none'),
  faults: z.array(configurationFault).optional().describe('Of a configuration: all that is wrong with it'),
});
/** Such a document. */
export type ProblemDocument = z.output<typeof problemDocument>;

/** Statuses by who must act (RFC 9110 section 15), where the code says no more. */
const STATUS_OF_ACTOR: Readonly<Record<Actor, number>> = {
  settings: 409,
  authorization: 409,
  conflict: 409,
  guard: 409,
  remote: 503,
  contract: 502,
};
/** Codes for what is wrong with the question itself, or is no error of the other side. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  ...{ 'cursor-unusable': 400, 'reason-unusable': 400, 'reason-missing': 400, 'name-missing': 400 },
  'request-invalid': 400,
  'request-too-large': 413,
  'not-allowed': 403,
  'revision-changed': 412,
  'revision-missing': 428,
  'too-many-tasks': 429,
  'not-in-time': 503,
  'tenant-unchecked': 503,
  unexpected: 500,
};
/** What is not there is not found, whatever it is. */
const NOT_FOUND = /^no-such-|^not-found$/;

/** What the document says of an error beside what every error has. */
type ProblemText = Pick<ProblemDocument, 'code' | 'detail'> & Partial<Pick<ProblemDocument, 'remedy' | 'about'>>;

/** A problem of a status of its own. */
export function problemOf(status: number, { code, detail, remedy = null, about = null }: ProblemText): ProblemDocument {
  return {
    type: `urn:clinic-mirror:error:${code}`,
    title: code.replaceAll('-', ' '),
    ...{ status, detail, code, remedy, about },
  };
}

/** The same for a tenant that there is not and for one that the visitor may not see: nobody learns which ids there are. */
export const NO_SUCH_TENANT: ProblemDocument = problemOf(404, {
  code: 'no-such-tenant',
  detail: 'there is no such tenant among those that you may see',
  remedy: 'GET /api/v1/tenants lists them',
});

/** What is told of an error. */
interface ReportedError extends Pick<MirrorError, 'actor' | 'code' | 'message'> {
  remedy?: string | null | undefined;
  about?: string | null | undefined;
}

/** An error as the API tells it. */
export function problemOfError({ actor, code, message, remedy = null, about = null }: ReportedError): ProblemDocument {
  if (code === NO_SUCH_TENANT.code) return NO_SUCH_TENANT;
  const status = NOT_FOUND.test(code) ? 404 : (STATUS_OF_CODE[code] ?? STATUS_OF_ACTOR[actor]);
  return problemOf(status, { code, detail: message, remedy, about });
}

/** A configuration that can't be used, as the API tells it. */
export function problemOfFaults({ code, faults }: ConfigurationError): ProblemDocument {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  const problem = problemOf(422, { code, detail: `the configuration has ${count}`, remedy: 'mend each of "faults"' });
  return { ...problem, faults: faults.map((fault) => ({ ...fault })) };
}

/** Seconds for the header Retry-After (RFC 9110 section 10.2.3); null where waiting doesn't help, or nobody knows how long. */
export function retryAfterSeconds({ retryAfterMs }: Pick<MirrorError, 'retryAfterMs'>): number | null {
  return retryAfterMs === undefined ? null : Math.max(1, Math.ceil(retryAfterMs / SECOND_MS));
}
