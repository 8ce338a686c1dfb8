import { type Code, type Message, message, type Text } from '../../messages/message.ts';
import { needsPerson, type Problem, SERVER_AWAY } from '../../model/problems.ts';

/** Codes whose sentence says what was the matter whatever it was about. Of others the sentence says only that it passed. */
const CONSTANT = [
  ...(['login-ended', 'not-connected', 'tenant-not-allowed', 'account-unconfirmed', 'login-refused-once'] as const),
  ...(['login-ending', 'login-resting', 'rate-limited', 'client-rate-limited', 'file-refused', 'redis-late'] as const),
  ...(['configuration-superseded', 'stale', 'backlog-growing', 'certificate-ending', 'secret-ending'] as const),
  'no-cycles',
] as const satisfies readonly Code[];

const PASSED = message('problem-over');
const SENTENCES: ReadonlyMap<string, Message> = new Map([
  ...CONSTANT.map((code) => [code, message(code)] as const),
  [SERVER_AWAY, message('server-back')],
]);

/** A problem that has passed. Its text is made of its code: none is kept. */
export function overProblem(tenant: string | null, subject: Text, code: string): Problem {
  return needsPerson({ tenant, subject, code, sentence: SENTENCES.get(code) ?? PASSED, next: null });
}
