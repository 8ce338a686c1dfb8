import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Logger } from '../../core/log/logger.ts';
import { escapeHtml } from '../../core/model/html.ts';
import type { Answer } from '../../core/model/reminders.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import type { AnswerPage, AnswerWord } from '../../features/reminders/answers.ts';
import { type Language, LOCALES } from '../../messages/message.ts';
import { languageOf } from './browser-request.ts';
import type { PublicVerbs } from './verbs.ts';

/** Title and text of each page. `{phone}` becomes a sentence with the clinic's number, if known. */
const TEXTS: Record<Language, Record<AnswerWord, [title: string, text: string]>> = {
  en: {
    ask: ['Your appointment', 'Can we expect you?'],
    'ask-again': ['Your appointment', 'This page was open for a while. Please choose again.'],
    confirmed: ['Thank you', 'Your appointment is confirmed.'],
    cancelled: ['Cancelled', 'Your appointment is cancelled. {phone}'],
    'was-confirmed': ['Already confirmed', 'Your appointment is confirmed. Nothing more is to be done. {phone}'],
    'was-cancelled': ['Already cancelled', 'This appointment is cancelled. {phone}'],
    moved: ['Another time', 'This appointment was moved, so nothing was changed here. {phone}'],
    over: ['Nothing to do', 'This appointment has begun or is over.'],
    gone: ['Appointment not found', 'This appointment no longer exists. {phone}'],
    expired: ['This link has expired', 'The appointment has already started. {phone}'],
    unknown: ['This link is not valid', 'Check that the link is complete, or call the clinic.'],
    'too-late': ['Please call', 'It is too near to the appointment to cancel it here. Nothing was changed. {phone}'],
    'not-offered': ['Please call', 'Appointments can not be cancelled here. Nothing was changed. {phone}'],
    busy: ['One moment', 'Your answer is being passed on. Open the link again in a minute.'],
    limited: ['One moment', 'This link was opened too often. Try again in a few minutes.'],
    away: ['Please try again', 'The clinic could not be reached. Open the link again in a few minutes. {phone}'],
    refused: ['Please call', 'Your answer could not be passed on. {phone}'],
  },
  it: {
    ask: ['Il suo appuntamento', 'Possiamo aspettarla?'],
    'ask-again': ['Il suo appuntamento', 'La pagina era aperta da un po’. Per favore scelga di nuovo.'],
    confirmed: ['Grazie', 'Il suo appuntamento è confermato.'],
    cancelled: ['Disdetto', 'Il suo appuntamento è disdetto. {phone}'],
    'was-confirmed': ['Già confermato', 'Il suo appuntamento è confermato. Non deve fare altro. {phone}'],
    'was-cancelled': ['Già disdetto', 'Questo appuntamento è disdetto. {phone}'],
    moved: ['Un altro orario', 'Questo appuntamento è stato spostato: qui non è cambiato nulla. {phone}'],
    over: ['Nulla da fare', 'Questo appuntamento è iniziato o già passato.'],
    gone: ['Appuntamento non trovato', 'Questo appuntamento non esiste più. {phone}'],
    expired: ['Il link è scaduto', 'L’ora di questo appuntamento è arrivata. {phone}'],
    unknown: ['Il link non è valido', 'Controlli che l’indirizzo sia completo, oppure chiami lo studio.'],
    'too-late': ['Per favore chiami', 'È troppo tardi per disdire qui. Non è cambiato nulla. {phone}'],
    'not-offered': ['Per favore chiami', 'Qui non si può disdire. Non è cambiato nulla. {phone}'],
    busy: ['Un momento', 'La sua risposta è in corso. Riapra il link tra un minuto.'],
    limited: ['Un momento', 'Il link è stato aperto troppe volte. Riprovi tra qualche minuto.'],
    away: ['Per favore riprovi', 'Lo studio non è raggiungibile. Riapra il link tra qualche minuto. {phone}'],
    refused: ['Per favore chiami', 'Non è stato possibile passare la sua risposta. {phone}'],
  },
};

const CALL: Record<Language, (phone: string) => string> = {
  en: (phone) => `To reach the clinic: ${phone}.`,
  it: (phone) => `Per contattare lo studio: ${phone}.`,
};

const BUTTONS: Record<Language, Record<Answer, string>> = {
  en: { confirmed: 'I will come', cancelled: 'Cancel the appointment' },
  it: { confirmed: 'Confermo', cancelled: 'Disdico l’appuntamento' },
};

const STATUSES: Partial<Record<AnswerWord, number>> = {
  'ask-again': 400,
  unknown: 404,
  moved: 409,
  over: 409,
  'too-late': 409,
  'not-offered': 409,
  busy: 409,
  gone: 410,
  expired: 410,
  limited: 429,
  away: 503,
  refused: 503,
};

const STYLE = [
  'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:28rem;margin:8vh auto;padding:0 1.25rem;color:#1c1c1c;background:#fff}',
  'h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}',
  '.clinic{color:#555;margin:0 0 .25rem}',
  '.when{font-size:1.25rem;font-weight:600;margin:0 0 1rem}',
  'button{display:block;width:100%;font:inherit;padding:.8rem 1rem;margin:.8rem 0;border-radius:.5rem;cursor:pointer}',
  '.confirmed{border:1px solid #0b5d3b;background:#0b5d3b;color:#fff}',
  '.cancelled{border:1px solid #8a1f11;background:#fff;color:#8a1f11}',
].join('');

/** Hash of the page's style sheet for the Content-Security-Policy. */
const ANSWER_PAGE_STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

function answerStatus(says: AnswerWord): number {
  return STATUSES[says] ?? 200;
}

/**
 * Renders the page of a reminder's link: clinic name, day, time and buttons that work without scripts. Contains no patient data.
 * @param accepted the browser's languages (Accept-Language, RFC 9110 section 12.5.4)
 */
function answerPage({ says, about, form }: AnswerPage, accepted: string): string {
  const language = languageOf(accepted, about?.language ?? 'en');
  const [title, text] = TEXTS[language][says];
  const call = about?.phone == null ? '' : CALL[language](about.phone);
  const buttons = (form?.answers ?? []).map(
    (answer) => `<button class="${answer}" name="answer" value="${answer}">${BUTTONS[language][answer]}</button>`,
  );
  const proof = `<input type="hidden" name="proof" value="${escapeHtml(form?.proof ?? '')}">`;
  return [
    '<!doctype html>',
    `<html lang="${language}">`,
    `<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">`,
    `<title>${title}</title><style>${STYLE}</style></head>`,
    '<body>',
    about === null ? '' : `<p class="clinic">${escapeHtml(about.clinic)}</p>`,
    `<h1>${title}</h1>`,
    about === null || says === 'moved' ? '' : `<p class="when">${when(about, language)}</p>`,
    `<p>${escapeHtml(text.replace('{phone}', () => call).trim())}</p>`,
    buttons.length === 0 ? '' : `<form method="post">${proof}${buttons.join('')}</form>`,
    form === null || call === '' ? '' : `<p>${escapeHtml(call)}</p>`,
    '</body></html>',
    '',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function when({ startAt, zone }: NonNullable<AnswerPage['about']>, language: Language): string {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(LOCALES[language], { timeZone: zone, ...options }).format(startAt);
  const day = format({ weekday: 'long', day: 'numeric', month: 'long' }).replaceAll(',', '');
  const time = format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return language === 'it' ? `${day}, ore ${time}` : `${day}, ${time}`;
}

/** Path prefix of the links in reminders; short because text messages are billed by length. */
export const ANSWERS_PATH = '/r';
/** Path prefix of the callbacks: `/reminders/<tenant>/<channel>`. */
export const REMINDERS_PATH = '/reminders';
/** Enough for an answer and its proof. */
const BODY_BYTES = 1_024;
/** Longer than the timeout for requests to the clinic. */
const ANSWER_TIMEOUT_MS = 60 * SECOND_MS;
/** Value of Retry-After in seconds for a page that asks to wait. */
const RETRY_AFTER_SECONDS = 120;

const POLICY = [
  "default-src 'none'",
  `style-src ${ANSWER_PAGE_STYLE_SOURCE}`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join(';');

/** Adds the pages for patients to confirm or cancel. Only POST requests change data. */
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
      log.error({ error }, 'reminder page could not be rendered');
      return failed;
    });
    return send(reply, page, headers['accept-language']);
  });
  app.post<{ Params: { token: string } }>(`${ANSWERS_PATH}/:token`, options, async (request, reply) => {
    const { params, headers, body, caller } = request;
    const form = new URLSearchParams(typeof body === 'string' ? body : '');
    const input = { answer: form.get('answer') ?? '', proof: form.get('proof') ?? '' };
    const page = await verbs.takeAnswer(params.token, input, caller).catch((error: unknown) => {
      log.error({ error }, 'answer to a reminder could not be stored');
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
