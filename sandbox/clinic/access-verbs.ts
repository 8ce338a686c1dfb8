import type { Account, Accounts, Membership, Permission } from './authorization/accounts.ts';
import type { Clients } from './authorization/clients.ts';
import type { TokenStore } from './authorization/token-store.ts';

/** What happens to users and applications. Each throws RangeError when the user does not exist. */
export interface AccessVerbs {
  /** A disabled user cannot log in, and their tokens stop working at once. */
  disableUser(username: string): void;
  enableUser(username: string): void;
  /** A changed role ends the user's refresh tokens (specification, section 5.6). */
  changeRole(username: string, tenantId: string, role: string, permissions: readonly Permission[]): void;
  /** Changes what a user may do in a tenant; their tokens stay. A tenant that was not theirs becomes so. */
  setPermissions(username: string, tenantId: string, permissions: readonly Permission[]): void;
  /** The tenant is gone from the user's userinfo and is a foreign one to them; their tokens stay. */
  leaveTenant(username: string, tenantId: string): void;
  /**
   * Leaves a client's tokens of a user only these scopes (with the prefix): at once those that are out, and what a refresh
   * gives from then on.
   */
  reduceScopes(username: string, clientId: string, scopes: readonly string[]): void;
  /** Simulates a user's revocation of an application's access. */
  revokeAccess(username: string, clientId: string): void;
  /** What a service administrator does: the client is unknown from now on. */
  revokeClient(clientId: string): void;
}

export interface AccessParts {
  accounts: Accounts;
  clients: Clients;
  tokens: TokenStore;
}

export function createAccessVerbs({ accounts, clients, tokens }: AccessParts): AccessVerbs {
  function setDisabled(username: string, disabled: boolean): void {
    const account = accounts.byUsername(username);
    accounts.add({ ...account, disabled });
    if (disabled) tokens.revokeGrants((grant) => grant.accountId === account.sub);
  }

  /** `change` gives the membership of the tenant again; undefined ends it. */
  function changeMembership(
    username: string,
    tenantId: string,
    change: (current: Membership | undefined) => Membership | undefined,
  ): Account {
    const account = accounts.byUsername(username);
    const others = account.memberships.filter((membership) => membership.tenantId !== tenantId);
    const changed = change(account.memberships.find((membership) => membership.tenantId === tenantId));
    accounts.add({ ...account, memberships: changed === undefined ? others : [...others, changed] });
    return account;
  }

  function changeRole(username: string, tenantId: string, role: string, permissions: readonly Permission[]): void {
    const { sub } = changeMembership(username, tenantId, () => ({ tenantId, role, permissions }));
    tokens.revokeGrants((grant) => grant.accountId === sub);
  }

  function setPermissions(username: string, tenantId: string, permissions: readonly Permission[]): void {
    changeMembership(username, tenantId, (current) => ({ tenantId, role: current?.role ?? 'FrontDesk', permissions }));
  }

  function revokeAccess(username: string, clientId: string): void {
    const { sub } = accounts.byUsername(username);
    tokens.revokeGrants((grant) => grant.accountId === sub && grant.clientId === clientId);
  }

  function revokeClient(clientId: string): void {
    clients.revoke(clientId);
    tokens.revokeGrants((grant) => grant.clientId === clientId);
  }

  return {
    disableUser: (username) => setDisabled(username, true),
    enableUser: (username) => setDisabled(username, false),
    changeRole,
    setPermissions,
    leaveTenant: (username, tenantId) => void changeMembership(username, tenantId, () => undefined),
    reduceScopes: (username, clientId, scopes) =>
      tokens.reduceScopes({ accountId: accounts.byUsername(username).sub, clientId }, new Set(scopes)),
    revokeAccess,
    revokeClient,
  };
}
