import type { Problem } from '../../core/model/problems.ts';
import type { FeedAnswer } from '../../features/feeds/feeds.ts';
import type { AnswerPage, PostedAnswer } from '../../features/reminders/answers.ts';
import type { LoginLinkDescription } from '../control/logins.ts';

/** A missing precondition of the daemon's work. Constant words, ids and codes only. */
export interface NotReady {
  /** Missing component, such as `redis`. */
  what: string;
  /** Reason, such as `no answer`. */
  why: string;
  /** Code of the problem; absent during the start. */
  code?: string;
}

/**
 * Result of a user's connection:
 * - `connected`: stored and in use;
 * - `unconfirmed`: stored, and used after an operator confirms the account;
 * - `denied`: the user refused at the vendor;
 * - `expired`: the link is unknown, used or too old;
 * - `other-browser`: started in another browser;
 * - `missing-permissions`: connected, but a required permission is missing;
 * - `wrong-account`: the account is not allowed, for example unknown to the clinic system;
 * - `failed`: the vendor is unreachable, or its answer is unknown.
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

/** Result of a connection for the page. */
export interface LoginResult {
  outcome: LoginOutcome;
  /** The tenant's language; `en` if the tenant is unknown. */
  language: 'it' | 'en';
}

/** A connection that a browser started. */
export interface BegunLogin {
  /** URL of the provider; its `state` identifies the connection. */
  url: URL;
  /** Secret of this browser: only this browser can finish the connection. */
  browserKey: string;
  language: LoginResult['language'];
}

/** A POST request below `/notifications`. Header names are in lower case. */
export interface PostedNotification {
  connector: string;
  subscriptionId: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** A callback request for a reminder channel. Header names are in lower case. */
export interface ChannelReport {
  tenant: string;
  channel: string;
  method: string;
  /** Raw query with its question mark; empty if absent. */
  query: string;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** Verbs for the operators' port. */
export interface OperatorVerbs {
  /** Lists missing preconditions; empty when ready. Called often, so it must be cheap. */
  readiness(signal: AbortSignal): Promise<readonly NotReady[]>;
  /** Lists the problems as in `status`, for authorised callers. */
  problems(): Promise<readonly Problem[]>;
  /** Returns the metrics in Prometheus' text format 0.0.4. */
  metrics(): Promise<string>;
}

/** Verbs for the public port. */
export interface PublicVerbs {
  /** Describes a connection link without consuming it; null for an invalid link. @param ticket secret part of the link */
  describeLogin(ticket: string): Promise<LoginLinkDescription | null>;
  /** Starts a connection by a single-use link. The verb enforces the single use. @param ticket secret part of the link */
  beginLogin(ticket: string): Promise<BegunLogin | LoginResult>;
  /**
   * Finishes a connection, once.
   * @param callback.url the whole callback URL; contains a code, so never log it
   * @param callback.browserKey the browser's secret; empty if missing
   */
  completeLogin(callback: { url: string; browserKey: string }): Promise<LoginResult>;
  /**
   * Processes a vendor's notification. Anyone can post one: false ones are ignored, and the content must never be logged.
   * @returns a text for the answer, or null for a plain acknowledgement
   */
  takeNotification(posted: PostedNotification): Promise<string | null>;
  /**
   * Processes a report from a reminder channel's vendor. Anyone can post one, and the content must never be logged.
   * @returns the status of the answer
   */
  takeReminderCallback(report: ChannelReport): Promise<number>;
  /**
   * Returns a feed for a caller with the secret URL.
   * @param token secret part of the URL
   * @param caller the client for rate limits
   * @param cachedTag the caller's cached version; null for none
   */
  showFeed(token: string, caller: string, cachedTag: string | null): Promise<FeedAnswer>;
  /**
   * Returns the page of a reminder's link without any change, because link checkers also open links.
   * @param caller the client for rate limits
   */
  showAnswer(token: string, caller: string): Promise<AnswerPage>;
  /** Carries out a patient's choice on the page. */
  takeAnswer(token: string, answer: PostedAnswer, caller: string): Promise<AnswerPage>;
}
