import { randomUUID } from 'node:crypto';
import type { Caller } from './caller.ts';

/** Prefix of a private app's token. OAuth access tokens are long random strings without this prefix. */
const PREFIX = 'pat-eu1-';

/** Tokens of private apps, which never expire. */
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
