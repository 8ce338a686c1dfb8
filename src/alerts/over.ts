import { type Code, message, type Text } from '../messages/message.ts';
import { needsPerson, type Problem, SERVER_AWAY } from '../model/problems.ts';

/** Codes whose sentence says what was the matter whatever it was about. Of others the sentence says only that it passed. */
const CONSTANT = [
  ...(['login-ended', 'not-connected', 'tenant-not-allowed', 'account-unconfirmed', 'login-refused-once'] as const),
  ...(['login-ending', 'login-resting', 'rate-limited', 'client-rate-limited', 'file-refused', 'redis-late'] as const),
  ...(['configuration-superseded', 'stale', 'backlog-growing', 'certificate-ending', 'secret-ending'] as const),
  'no-cycles',
] as const satisfies readonly Code[];

/** A problem that has passed. Its text is made of its code: none is kept. */
export function overProblem(tenant: string | null, subject: Text, code: string): Problem {
  const constant = CONSTANT.find((each) => each === code) ?? 'problem-over';
  return needsPerson(tenant, subject, code, message(code === SERVER_AWAY ? 'server-back' : constant), null);
}
