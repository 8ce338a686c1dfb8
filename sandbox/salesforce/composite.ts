import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { type ApiCall, readBody } from './call.ts';
import { type ApiParts, finished, start, toCall, toErrorAnswer } from './dispatch.ts';
import { ApiError } from './errors.ts';
import { findRoute } from './routes.ts';

export const COMPOSITE_PATH = '/composite';
/** Maximum number of subrequests, and of collections and queries among them (REST API Developer Guide, Composite). */
const MAX_PARTS = 25;
const MAX_COSTLY = 5;

const part = z.object({
  method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']),
  url: z.string(),
  referenceId: z.string().regex(/^[A-Za-z]\w*$/),
  body: z.unknown().optional(),
  httpHeaders: z.record(z.string(), z.string()).default({}),
});
const composite = z.object({ allOrNone: z.boolean().default(false), compositeRequest: z.array(part).min(1) });

type Part = z.infer<typeof part>;

/** Runs the parts in sequence as one API call. Throws ApiError 400 if the composite request itself is invalid. */
export async function runComposite(parts: ApiParts, call: ApiCall): Promise<ApiAnswer> {
  const { allOrNone, compositeRequest } = readBody(call, composite, 'a composite request');
  checkLimits(parts, compositeRequest);
  parts.world.counts.add('composites');
  const answers = new Map<string, ApiAnswer>();
  if (allOrNone) {
    await delay(parts.world.settings.writeMs);
    runAllOrNone(parts, call, compositeRequest, answers);
  } else {
    for (const each of compositeRequest) {
      answers.set(each.referenceId, await runOne(parts, call, each, answers));
    }
  }
  const compositeResponse = compositeRequest.map(({ referenceId }) => {
    const { status, headers, body } = answers.get(referenceId)!;
    return { body: body ?? null, httpHeaders: headers ?? {}, httpStatusCode: status, referenceId };
  });
  return { status: 200, body: { compositeResponse } };
}

async function runOne(parts: ApiParts, outer: ApiCall, each: Part, answers: Answers): Promise<ApiAnswer> {
  try {
    return await finished(parts.world, start(parts, innerCall(parts, outer, each, answers)));
  } catch (error) {
    return toErrorAnswer(error);
  }
}

type Answers = Map<string, ApiAnswer>;

/**
 * Runs all parts in one transaction. If a part fails, the sandbox undoes all parts and answers `halted()` for the parts that did not fail.
 */
function runAllOrNone(parts: ApiParts, outer: ApiCall, requests: readonly Part[], answers: Answers): void {
  const isKept = parts.world.store.attempt(() => {
    for (const each of requests) {
      const answer = runAtOnce(parts, { ...outer, allOrNone: true }, each, answers);
      answers.set(each.referenceId, answer);
      if (isFailure(answer)) {
        return false;
      }
    }
    return true;
  });
  if (!isKept) {
    for (const { referenceId } of requests) {
      const answer = answers.get(referenceId);
      answers.set(referenceId, answer && isFailure(answer) ? answer : halted());
    }
  }
}

function runAtOnce(parts: ApiParts, outer: ApiCall, each: Part, answers: Answers): ApiAnswer {
  try {
    const begun = start(parts, innerCall(parts, outer, each, answers));
    return 'finish' in begun ? begun.finish() : begun;
  } catch (error) {
    return toErrorAnswer(error);
  }
}

/** Decides whether an answer is an error, or a collection with a failed row. */
function isFailure({ status, body }: ApiAnswer): boolean {
  return status >= 400 || (Array.isArray(body) && body.some((row) => row?.success === false));
}

function halted(): ApiAnswer {
  const message = 'The transaction was rolled back since another operation in the same transaction failed.';
  return { status: 400, body: new ApiError(400, 'PROCESSING_HALTED', message).toBody() };
}

function innerCall(parts: ApiParts, outer: ApiCall, each: Part, answers: Answers): ApiCall {
  const url = withReferences(each.url, answers);
  const body = each.body === undefined ? undefined : JSON.parse(withReferences(JSON.stringify(each.body), answers));
  const { username, allOrNone } = outer;
  const call = toCall(parts.world, { method: each.method, url, headers: each.httpHeaders, body, username });
  return allOrNone === undefined ? call : { ...call, allOrNone };
}

/** Replaces `@{reference.path[0].to}` with the value from an earlier answer. Throws ApiError PROCESSING_HALTED. */
function withReferences(text: string, answers: Answers): string {
  return text.replace(/@\{(\w+)((?:\.\w+|\[\d+\])*)\}/g, (_all, id: string, path: string) => {
    let value: unknown = answers.get(id)?.body;
    for (const [step] of path.matchAll(/\w+/g)) {
      value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined;
    }
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new ApiError(
        400,
        'PROCESSING_HALTED',
        `Invalid reference specified. No value for ${id}${path} found in ${id}`,
      );
    }
    return String(value);
  });
}

function checkLimits(parts: ApiParts, requests: readonly Part[]): void {
  if (requests.length > MAX_PARTS) {
    throw new ApiError(400, 'LIMIT_EXCEEDED', `The composite has more than ${MAX_PARTS} subrequests.`);
  }
  if (new Set(requests.map(({ referenceId }) => referenceId)).size < requests.length) {
    throw new ApiError(400, 'INVALID_INPUT', 'Each referenceId must be its own.');
  }
  const costly = requests.filter(({ method, url }) => {
    const { pathname } = new URL(url, 'http://sandbox');
    const path = pathname.replace(/^\/services\/data\/v\d+\.0/, '');
    return path !== pathname && findRoute(parts.routes, method, path)?.route.isCostly === true;
  });
  if (costly.length > MAX_COSTLY) {
    throw new ApiError(400, 'LIMIT_EXCEEDED', `Only ${MAX_COSTLY} subrequests may be collections or queries.`);
  }
}
