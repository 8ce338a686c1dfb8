import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Logger } from '../../log/logger.ts';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import { ConfigurationError } from '../../settings/faults.ts';
import {
  NO_SUCH_TENANT,
  PROBLEM_TYPE,
  type ProblemDocument,
  problemOf,
  problemOfError,
  problemOfFaults,
  retryAfterSeconds,
} from './problems.ts';

/** Issues of a question that an answer names. */
const NAMED_ISSUES = 5;

/** Takes JSON alone, which no form of another site's page can send, by schemas both ways; and answers what is wrong as a problem. */
export function speakJson(api: FastifyInstance, log: Logger): void {
  api.removeAllContentTypeParsers();
  api.addContentTypeParser('application/json', { parseAs: 'string' }, api.getDefaultJsonParser('error', 'error'));
  api.setValidatorCompiler<z.ZodType>(({ schema, httpPart = 'body' }) => (value) => {
    const { success, data, error } = schema.safeParse(value ?? {});
    return success ? { value: data } : { error: requestInvalid(httpPart, error.issues) };
  });
  api.setSerializerCompiler<z.ZodType>(
    ({ schema }) =>
      (value) =>
        JSON.stringify(schema.parse(value)),
  );
  api.setNotFoundHandler((_request, reply) => {
    sendProblem(reply, problemOf(404, { code: 'not-found', detail: 'there is nothing at this address' }));
  });
  // Whoever is not let in is told so before the route is reached, in a word.
  api.addHook('preSerialization', async (_request, reply, answer) => {
    const refused = refusal.safeParse(answer);
    if (reply.statusCode < 400 || !refused.success) return answer;
    reply.type(PROBLEM_TYPE);
    return refusalOf(reply.statusCode, refused.data.error);
  });
  api.setErrorHandler<FastifyError>((error, _request, reply) => {
    if (error instanceof ConfigurationError) return sendProblem(reply, problemOfFaults(error));
    const known = error instanceof MirrorError ? error : (errorOfServer(error) ?? asMirrorError(error));
    if (known.code === 'unexpected') log.error({ error }, 'a question to the API failed');
    const seconds = retryAfterSeconds(known);
    if (seconds !== null) reply.header('retry-after', seconds);
    sendProblem(reply, problemOfError(known));
  });
}

const refusal = z.strictObject({ error: z.string() });
const REFUSALS: Readonly<Record<number, string>> = {
  401: 'it is not known who you are',
  403: 'you may not do this',
  404: 'there is nothing at this address',
  429: 'too many requests in a minute: ask again after Retry-After',
};

function refusalOf(status: number, code: string): ProblemDocument {
  if (code === NO_SUCH_TENANT.code) return NO_SUCH_TENANT;
  return problemOf(status, { code, detail: REFUSALS[status] ?? 'it was refused' });
}

function sendProblem(reply: FastifyReply, problem: ProblemDocument): void {
  reply.code(problem.status).type(PROBLEM_TYPE).send(problem);
}

/** Names what is wrong by its place; what was given is not repeated. */
function requestInvalid(part: string, issues: readonly z.core.$ZodIssue[]): MirrorError {
  const named = issues
    .slice(0, NAMED_ISSUES)
    .map(({ path, code }) => `${[part, ...path].join('.')} (${code.replaceAll('_', ' ')})`);
  return requestError('request-invalid', 'the question is not as the route takes it', named.join(', ') || part);
}

/** What the server itself found before the route was reached, or since it took too long; null for anything else. */
function errorOfServer({ statusCode = 500 }: FastifyError): MirrorError | null {
  if (statusCode === 413) return requestError('request-too-large', 'the body is larger than the route takes', null);
  if (statusCode < 500) return requestError('request-invalid', 'the body is not JSON as it should be', 'body');
  if (statusCode !== 503) return null;
  return new MirrorError('it could not be told in time', {
    actor: 'remote',
    code: 'not-in-time',
    retry: 'later',
    remedy: 'ask again: the clinic may be slow just now',
  });
}

function requestError(code: string, message: string, about: string | null): MirrorError {
  return new MirrorError(message, {
    actor: 'settings',
    code,
    retry: 'never',
    about: about ?? undefined,
    remedy: 'GET /api/v1/openapi.json tells what each route takes',
  });
}
