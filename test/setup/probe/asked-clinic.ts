import { Asker } from '../../../src/setup/probe/questions.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from '../../clinic/open-client.ts';

/** What a clinic answers to a question about one of its lists. */
export type Answering = (query: URLSearchParams, path: string) => { status?: number; body?: unknown; headers?: object };

/** Asks a clinic that is a function. */
export function askerOf(answer: Answering, written: WrittenProfile = {}) {
  const asked: URLSearchParams[] = [];
  const send = async ({ url }: { url: string }) => {
    const { pathname, searchParams } = new URL(url);
    asked.push(searchParams);
    const { status = 200, body, headers = {} } = answer(searchParams, pathname);
    return {
      status,
      headers: new Headers({ ...headers }),
      body: Buffer.from(JSON.stringify(body ?? {})),
      retryAfterMs: null,
    };
  };
  const { context } = openClient('http://clinic.example', profileOf(written));
  const asker = new Asker({
    context: { ...context, http: { ...context.http, send } },
    tenantId: 't',
    signal: unhurried(),
  });
  return { asker, asked, profile: context.profile };
}
