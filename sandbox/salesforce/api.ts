import { type ApiAnswer, parseJson } from '../kit/answer.ts';
import type { ApiCall } from './call.ts';
import { COMPOSITE_PATH, runComposite } from './composite.ts';
import { type ApiParts, finished, pathIn, start, toCall, toErrorAnswer } from './dispatch.ts';
import { ApiError, malformedBody } from './errors.ts';
import type { World } from './world.ts';

/** Base path of the API. */
export const DATA_PATH = '/services/data';
/** The vendor answers 414 to longer URLs (REST API Developer Guide, URI length). */
const MAX_URL_LENGTH = 16_384;

/** Parts of an HTTP request. `body` is the raw string. */
export interface ApiRequest {
  method: string;
  url: string;
  headers: ApiCall['headers'];
  body: string;
}

/** Answers one request to the API, including errors. Each request is one API call, regardless of its content. */
export async function answerRequest(parts: ApiParts, request: ApiRequest): Promise<ApiAnswer> {
  try {
    const { account: username } = parts.oauth.requireSession(request.headers.authorization);
    if (request.url.length > MAX_URL_LENGTH) {
      throw new ApiError(414, 'URI_TOO_LONG', 'The length of the URI exceeds the limit.');
    }
    parts.usage.spendOne();
    const { method, url, headers } = request;
    const call = toCall(parts.world, { method, url, headers, body: parseBody(request), username });
    const answer =
      method === 'POST' && pathIn(call) === COMPOSITE_PATH
        ? await runComposite(parts, call)
        : await finished(parts.world, start(parts, call));
    return { ...answer, headers: { ...answer.headers, ...parts.usage.header() } };
  } catch (error) {
    return { ...toErrorAnswer(error), headers: parts.usage.header() };
  }
}

/** Returns the list of supported versions; no session is required. */
export function versions({ settings }: World): object[] {
  const count = settings.newestVersion - settings.oldestVersion + 1;
  return Array.from({ length: count }, (_, at) => {
    const version = `${settings.oldestVersion + at}.0`;
    return { label: `Version ${version}`, url: `${DATA_PATH}/v${version}`, version };
  });
}

function parseBody({ method, body }: ApiRequest): unknown {
  if (body === '' || method === 'GET' || method === 'DELETE') {
    return undefined;
  }
  const parsed = parseJson(body);
  if (parsed === undefined) throw malformedBody('The body is not JSON.');
  return parsed;
}
