import type { LoginLinkDescription } from '../control/logins.ts';
import type { FeedAnswer } from '../features/feeds/feeds.ts';
import type { AnswerPage, PostedAnswer } from '../features/reminders/answers.ts';
import type { Problem } from '../model/problems.ts';

/** Something without which the daemon can't do its work now. Constant words, ids and codes only. */
export interface NotReady {
  /** What isn't ready, such as `redis`. */
  what: string;
  /** Why, such as `no answer`. */
  why: string;
}

/**
 * How a person's login ended:
 * - `connected`: the login is stored and will be used;
 * - `unconfirmed`: it is stored, and will be used once an operator says that the account is the right one;
 * - `denied`: the person said no at the other side;
 * - `expired`: the link is unknown, was used already, or is too old;
 * - `other-browser`: it was begun in another browser than the one that came back;
 * - `missing-permissions`: the login works, but a permission that is needed was not given;
 * - `wrong-account`: somebody logged in who may not be used here, such as a user whom the clinic system doesn't know;
 * - `failed`: the other side could not be asked, or answered what we don't understand.
 */
export type LoginOutcome =
  | 'connected'
  | 'unconfirmed'
  | 'denied'
  | 'expired'
  | 'other-browser'
  | 'missing-permissions'
  | 'wrong-account'
  | 'interrupted'
  | 'provider-failed'
  | 'not-set-up'
  | 'failed';

/** The end of a login, as the page shows it. */
export interface LoginResult {
  outcome: LoginOutcome;
  /** Language of the tenant, `en` when the tenant can't be told. */
  language: 'it' | 'en';
}

/** A login that a browser has begun here. */
export interface BegunLogin {
  /** Where the browser goes on; its `state` names the login. */
  url: URL;
  /** What the browser keeps until it comes back: no other one can end the login. */
  browserKey: string;
  language: LoginResult['language'];
}

/** What somebody posted below `/notifications`. Header names are in lower case. */
export interface PostedNotification {
  connector: string;
  subscriptionId: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** A request to the callback address of a reminder channel. Header names are in lower case. */
export interface ChannelReport {
  tenant: string;
  channel: string;
  method: string;
  /** As it came, with its question mark; empty without one. */
  query: string;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** What the port for operators asks of the daemon. */
export interface OperatorVerbs {
  /** What isn't ready; nothing when all is. Asked often, so it must be cheap. */
  readiness(signal: AbortSignal): Promise<readonly NotReady[]>;
  /** What is the matter, as `status` tells it, for whoever may know. */
  problems(): Promise<readonly Problem[]>;
  /** The metrics in Prometheus' text format 0.0.4. */
  metrics(): Promise<string>;
}

/** What the port for the outside asks of the daemon. */
export interface PublicVerbs {
  /** Tells what stands behind a link of a login, and uses nothing up; null when it is good for nothing. @param ticket what stands in the link */
  describeLogin(ticket: string): Promise<LoginLinkDescription | null>;
  /** Begins a login by a link, which is good for one call; guarding that is the verb's own matter. @param ticket what stands in the link */
  beginLogin(ticket: string): Promise<BegunLogin | LoginResult>;
  /**
   * Ends a login that a person began, once.
   * @param callback.url the whole address that the browser came to; it holds a code, so it is never logged
   * @param callback.browserKey what the browser kept; empty when it kept nothing
   */
  completeLogin(callback: { url: string; browserKey: string }): Promise<LoginResult>;
  /**
   * Takes a vendor's notification. Anybody can post one: what is not genuine is ignored, and nothing of it may be logged.
   * @returns a text to answer with, or null for a bare acknowledgement
   */
  takeNotification(posted: PostedNotification): Promise<string | null>;
  /**
   * Takes what a reminder channel's other side reports. Anybody can post here, and nothing of it may be logged.
   * @returns the status to answer with
   */
  takeReminderCallback(report: ChannelReport): Promise<number>;
  /**
   * A feed, for whoever knows its address.
   * @param token as the address has it
   * @param caller the client that the request comes from, for limits
   * @param cachedTag what the caller has already; null for nothing
   */
  showFeed(token: string, caller: string, cachedTag: string | null): Promise<FeedAnswer>;
  /**
   * The page behind a reminder's link. Anybody can open one, programs that check links too: nothing changes.
   * @param caller the client that the request comes from, for limits
   */
  showAnswer(token: string, caller: string): Promise<AnswerPage>;
  /** Carries out what a patient chose on such a page. */
  takeAnswer(token: string, answer: PostedAnswer, caller: string): Promise<AnswerPage>;
}
