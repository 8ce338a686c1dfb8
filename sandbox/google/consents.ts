/** Which scopes each account agreed to, by client, until it ends its consent. */
export class Consents {
  readonly #scopes = new Map<string, Map<string, Set<string>>>();

  /** undefined: the account has not agreed to anything of this client. */
  scopes(account: string, clientId: string): string[] | undefined {
    const found = this.#scopes.get(account)?.get(clientId);
    return found && [...found];
  }

  add(account: string, clientId: string, scopes: readonly string[]): void {
    const clients = this.#scopes.get(account) ?? new Map<string, Set<string>>();
    clients.set(clientId, new Set([...(clients.get(clientId) ?? []), ...scopes]));
    this.#scopes.set(account, clients);
  }

  /** Ends the account's consent to one client, or to all. */
  end(account: string, clientId?: string): void {
    if (clientId === undefined) this.#scopes.delete(account);
    else this.#scopes.get(account)?.delete(clientId);
  }
}
