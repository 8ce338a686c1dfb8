import { OAuthError } from '../kit/oauth/words.ts';
import { ENTRA_WORDS } from './oauth-words.ts';

/** A claims challenge of continuous access evaluation. Only tokens requested with these claims are accepted. */
interface Challenge {
  /** The claim `nbf`, in seconds. */
  notBefore: number;
  /** A refresh with the claims is refused: the person must log in. */
  needsPerson: boolean;
}

/** Accounts and applications with an open challenge, and accounts that must sign in again. */
export class Challenges {
  readonly #now: () => number;
  readonly #challenges = new Map<string, Challenge>();
  /** Accounts whose refreshes are refused until they log in. */
  readonly #interactionRequired = new Set<string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  requireInteraction(account: string): void {
    this.#interactionRequired.add(account);
  }

  /** Every token of an account (or of an application, by its client id) that exists now is challenged. */
  challenge(who: string, needsPerson: boolean): void {
    const last = this.notBefore(who);
    this.#challenges.set(who, { notBefore: Math.max(last + 1, Math.floor(this.#now() / 1000)), needsPerson });
  }

  /** The claim `nbf`, in seconds, that a token needs at least; 0 without a challenge. */
  notBefore(who: string): number {
    return this.#challenges.get(who)?.notBefore ?? 0;
  }

  /** Removes the account's open requirements after a sign-in. */
  loggedIn(account: string): void {
    this.#interactionRequired.delete(account);
    const challenge = this.#challenges.get(account);
    if (challenge) challenge.needsPerson = false;
  }

  /**
   * Checks a refresh with these claims.
   * @throws OAuthError if the account must sign in first
   */
  checkRefresh(account: string, claims: string | null): void {
    if (this.#interactionRequired.has(account)) throw new OAuthError(ENTRA_WORDS.interaction);
    if (claims !== null && this.#challenges.get(account)?.needsPerson) throw new OAuthError(ENTRA_WORDS.challenged);
  }
}
