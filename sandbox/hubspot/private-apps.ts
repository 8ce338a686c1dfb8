import { randomUUID } from 'node:crypto';
import type { Caller } from './caller.ts';

/** An access token by OAuth is unreadable and long; a private app's has this form. */
const PREFIX = 'pat-eu1-';

/** Tokens of private apps: they have no end. */
export class PrivateApps {
  readonly #tokens = new Map<string, { clientId: string; scopes: readonly string[] }>();

  issue(scopes: readonly string[]): string {
    const token = `${PREFIX}${randomUUID()}`;
    this.#tokens.set(token, { clientId: token.slice(0, 16), scopes });
    return token;
  }

  find(token: string): Caller | undefined {
    const found = this.#tokens.get(token);
    return found && { kind: 'private', clientId: found.clientId, scopes: new Set(found.scopes) };
  }

  revoke(token: string): void {
    this.#tokens.delete(token);
  }

  /** Reduces the scopes of a private app, as an administrator does in the app's settings. */
  reduceScopes(token: string, scopes: readonly string[]): void {
    const found = this.#tokens.get(token);
    if (found) found.scopes = scopes;
  }
}
