import { needsPerson, type Problem, SERVER_AWAY } from '../../model/problems.ts';
import { sentence } from '../../model/sentences.ts';

/** Sentences on what was the matter, by code. Of other codes the sentence says only that it passed. */
const SENTENCES: ReadonlyMap<string, string> = new Map([
  ['login-ended', sentence('the login has ended and a person must log in again')],
  ['not-connected', sentence('nobody has logged in yet')],
  ['tenant-not-allowed', sentence('the user of this login may not work in the clinic')],
  ['account-unconfirmed', sentence('nobody has said that its account is the right account')],
  ['login-refused-once', sentence('the provider refused the login once: retrying before that is believed')],
  ['login-ending', sentence('the login ends at a time that using it does not put off')],
  ['login-resting', sentence('the login could not be kept alive, and ends when it rests for longer')],
  ['rate-limited', sentence('the server limits requests: retrying')],
  ['client-rate-limited', sentence('the server limits requests of every clinic with this client: retrying')],
  ['file-refused', sentence('a changed file is refused, and what it held before goes on')],
  ['redis-late', sentence('Redis did not confirm the last decision in time: reminders wait')],
  ['configuration-superseded', sentence('a process with an older configuration waits until it has the files of today')],
  ['stale', sentence('the last cycle could not read all that it follows')],
  ['backlog-growing', sentence('more changes come than are written, so they wait longer with each cycle')],
  ['certificate-ending', sentence('its certificate ends soon')],
  ['secret-ending', sentence('its secret ends soon, and with it every login')],
  [SERVER_AWAY, sentence('it was away and answers again')],
  ['no-cycles', sentence('no cycle has ended since then')],
]);

/** A problem that has passed. Its text is made of its code: none is kept. */
export function overProblem(tenant: string | null, subject: string, code: string): Problem {
  return needsPerson(tenant, subject, code, SENTENCES.get(code) ?? sentence('this problem has passed'), null);
}
