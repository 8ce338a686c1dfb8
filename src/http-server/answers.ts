import type { FastifyInstance, FastifyReply } from 'fastify';
import type { AnswerPage } from '../features/reminders/answers.ts';
import type { Logger } from '../log/logger.ts';
import { SECOND_MS } from '../model/time.ts';
import { ANSWER_PAGE_STYLE_SOURCE, answerPage, answerStatus } from './answer-page.ts';
import type { PublicVerbs } from './verbs.ts';

/** Below it stand the pages behind the links in reminders; short, since text messages are paid by length. */
export const ANSWERS_PATH = '/r';
/** A button posts an answer and its proof. */
const BODY_BYTES = 1_024;
/** Longer than the clinic is waited for. */
const ANSWER_TIMEOUT_MS = 60 * SECOND_MS;
/** Seconds after which a page that asks for patience may be opened again. */
const RETRY_AFTER_SECONDS = 120;

const POLICY = [
  "default-src 'none'",
  `style-src ${ANSWER_PAGE_STYLE_SOURCE}`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join(';');

/** Adds the pages at which patients confirm or cancel. Only POST changes anything. */
export function addAnswers(app: FastifyInstance, verbs: Pick<PublicVerbs, 'showAnswer' | 'takeAnswer'>, log: Logger) {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: BODY_BYTES },
    async (_request: unknown, body: unknown) => body,
  );
  const failed: AnswerPage = { says: 'away', about: null, form: null };
  const options = { bodyLimit: BODY_BYTES, handlerTimeout: ANSWER_TIMEOUT_MS };
  app.get<{ Params: { token: string } }>(`${ANSWERS_PATH}/:token`, options, async (request, reply) => {
    const { params, headers, caller } = request;
    const page = await verbs.showAnswer(params.token, caller).catch((error: unknown) => {
      log.error({ error }, 'the page of a reminder could not be shown');
      return failed;
    });
    return send(reply, page, headers['accept-language']);
  });
  app.post<{ Params: { token: string } }>(`${ANSWERS_PATH}/:token`, options, async (request, reply) => {
    const { params, headers, body, caller } = request;
    const form = new URLSearchParams(typeof body === 'string' ? body : '');
    const given = { answer: form.get('answer') ?? '', proof: form.get('proof') ?? '' };
    const page = await verbs.takeAnswer(params.token, given, caller).catch((error: unknown) => {
      log.error({ error }, 'an answer to a reminder could not be taken');
      return failed;
    });
    return send(reply, page, headers['accept-language']);
  });
}

function send(reply: FastifyReply, page: AnswerPage, accepted = ''): FastifyReply {
  const status = answerStatus(page.says);
  if (status === 429 || page.says === 'away') reply.header('retry-after', RETRY_AFTER_SECONDS);
  return reply
    .code(status)
    .header('content-security-policy', POLICY)
    .type('text/html; charset=utf-8')
    .send(answerPage(page, accepted));
}
