import { createHmac, randomBytes } from 'node:crypto';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { acceptForms } from '../kit/app.ts';
import { SandboxKit } from '../kit/kit.ts';
import { listen } from '../kit/listen.ts';
import { addAdminRoutes } from './admin-routes.ts';
import type { Message, SignedRequest, SmsSandbox, SmsSandboxOptions } from './types.ts';

const E164 = /^\+[1-9]\d{6,14}$/;
const LONGEST_BODY = 1_600;
const LONGEST_VALIDITY_SECONDS = 36_000;
const STOP = new Set(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'OPTOUT', 'REVOKE']);
const START = new Set(['START', 'UNSTOP', 'YES']);

/** Starts the sandbox on loopback. Throws when the port is taken. */
export async function startSmsSandbox(options: SmsSandboxOptions = {}): Promise<SmsSandbox> {
  const account = newAccount(options);
  const kit = new SandboxKit({
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    faultBody: (status) => errorBody(status, status === 429 ? 20_429 : 20_500, 'fault injected by the sandbox'),
  });
  const app = fastify();
  acceptForms(app);
  kit.install(app);
  app.post<{ Params: { sid: string } }>('/2010-04-01/Accounts/:sid/Messages.json', async (request, reply) => {
    const answer = accept(account, request);
    if ('message' in answer) kit.counts.add(`sms:${answer.message.to}`);
    return 'message' in answer
      ? reply.code(201).send(resource(account, answer.message))
      : refuse(reply, answer.status, answer.code, answer.text);
  });
  addAdminRoutes(app, () => sandbox);
  const server = await listen(app, options.port);
  const sandbox: SmsSandbox = {
    ...server,
    accountSid: account.accountSid,
    authToken: account.authToken,
    messagingServiceSid: account.messagingServiceSid,
    from: account.senders[0] ?? '',
    faults: kit.faults,
    counts: kit.counts,
    recording: kit.recording,
    messages: (to) => account.messages.filter((message) => to === undefined || message.to === to),
    clear: () => void account.messages.splice(0),
    report: (sid, status, errorCode) => report(account, sid, status, errorCode ?? null),
    reply: (from, text, address) => takeReply(account, from, text, address),
    post: async ({ url, headers, body }) => (await fetch(url, { method: 'POST', headers, body })).status,
  };
  return sandbox;
}

type Account = ReturnType<typeof newAccount>;
type Refused = { status: number; code: number; text: string };

function newAccount({ senders = ['+15005550006'] }: SmsSandboxOptions) {
  return {
    accountSid: `AC${hex()}`,
    authToken: hex(),
    messagingServiceSid: `MG${hex()}`,
    senders,
    messages: [] as Message[],
    optedOut: new Set<string>(),
  };
}

function hex(): string {
  return randomBytes(16).toString('hex');
}

function accept(account: Account, request: FastifyRequest<{ Params: { sid: string } }>) {
  const login = Buffer.from(`${account.accountSid}:${account.authToken}`).toString('base64');
  if (request.headers.authorization !== `Basic ${login}`) return refused(401, 20_003, 'Authenticate');
  if (request.params.sid !== account.accountSid) return refused(404, 20_404, 'The requested resource was not found');
  const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
  const problem = problemOf(account, form);
  if (problem !== null) return problem;
  const message: Message = {
    sid: `SM${hex()}`,
    to: form.get('To') ?? '',
    from: form.get('From'),
    messagingServiceSid: form.get('MessagingServiceSid'),
    body: form.get('Body') ?? '',
    validitySeconds: form.has('ValidityPeriod') ? Number(form.get('ValidityPeriod')) : null,
    statusCallback: form.get('StatusCallback'),
    status: 'queued',
    errorCode: null,
  };
  account.messages.push(message);
  return { message };
}

/** What the API refuses, with its codes (https://www.twilio.com/docs/api/errors). */
function problemOf(account: Account, form: URLSearchParams): Refused | null {
  const [to, from, service] = [form.get('To') ?? '', form.get('From'), form.get('MessagingServiceSid')];
  const body = form.get('Body') ?? '';
  if (!E164.test(to)) return refused(400, 21_211, "The 'To' number is not a valid phone number.");
  if (from === null && service === null) return refused(400, 21_603, "A 'From' phone number is required.");
  if (from !== null && !account.senders.includes(from)) return refused(400, 21_606, "The 'From' number is not yours.");
  if (service !== null && service !== account.messagingServiceSid)
    return refused(400, 21_701, 'The messaging service was not found.');
  if (body === '') return refused(400, 21_602, 'Message body is required.');
  if (body.length > LONGEST_BODY) return refused(400, 21_617, 'The concatenated message body exceeds 1600 characters.');
  const validity = Number(form.get('ValidityPeriod') ?? 1);
  if (!Number.isInteger(validity) || validity < 1 || validity > LONGEST_VALIDITY_SECONDS) {
    return refused(400, 21_621, 'The validity period is out of range.');
  }
  if (account.optedOut.has(to)) return refused(400, 21_610, 'Attempt to send to unsubscribed recipient');
  return null;
}

function refused(status: number, code: number, text: string): Refused {
  return { status, code, text };
}

function refuse(reply: FastifyReply, status: number, code: number, text: string): FastifyReply {
  return reply.code(status).send(errorBody(status, code, text));
}

function errorBody(status: number, code: number, message: string) {
  return { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status };
}

function resource({ accountSid }: Account, message: Message) {
  return {
    sid: message.sid,
    account_sid: accountSid,
    to: message.to,
    from: message.from,
    messaging_service_sid: message.messagingServiceSid,
    body: message.body,
    status: message.status,
    error_code: message.errorCode,
    error_message: null,
    direction: 'outbound-api',
    num_segments: '1',
  };
}

function report(account: Account, sid: string, status: Message['status'], errorCode: number | null) {
  const message = account.messages.find((each) => each.sid === sid);
  if (message === undefined) throw new Error(`The sandbox has no message ${sid}`);
  Object.assign(message, { status, errorCode });
  if (message.statusCallback === null) return null;
  const form = new URLSearchParams({
    MessageSid: sid,
    SmsSid: sid,
    MessageStatus: status,
    SmsStatus: status,
    To: message.to,
    From: message.from ?? '',
    AccountSid: account.accountSid,
    ApiVersion: '2010-04-01',
    ...(errorCode === null ? {} : { ErrorCode: String(errorCode) }),
  });
  return signed(account, message.statusCallback, form);
}

function takeReply(account: Account, from: string, text: string, address: string): SignedRequest {
  const word = text.trim().toUpperCase();
  if (STOP.has(word)) account.optedOut.add(from);
  if (START.has(word)) account.optedOut.delete(from);
  const sid = `SM${hex()}`;
  const form = new URLSearchParams({
    MessageSid: sid,
    SmsMessageSid: sid,
    SmsStatus: 'received',
    AccountSid: account.accountSid,
    From: from,
    To: account.senders[0] ?? '',
    Body: text,
    NumMedia: '0',
    NumSegments: '1',
    ApiVersion: '2010-04-01',
  });
  return signed(account, address, form);
}

/** https://www.twilio.com/docs/usage/security#validating-requests */
function signed({ authToken }: Account, url: string, form: URLSearchParams): SignedRequest {
  const sorted = [...form].sort(([one], [other]) => (one < other ? -1 : 1));
  const signature = createHmac('sha1', authToken).update(url);
  for (const [name, value] of sorted) signature.update(name).update(value);
  return {
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
      'x-twilio-signature': signature.digest('base64'),
      'user-agent': 'TwilioProxy/1.1',
    },
    body: form.toString(),
  };
}
