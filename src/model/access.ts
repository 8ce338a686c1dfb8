import { MirrorError } from './errors.ts';

/** What an administrator may do, least first: look; decide, sync, connect; and what can't be taken back, or concerns who may do what. */
export const ACCESS_LEVELS = ['viewer', 'operator', 'owner'] as const;
/** Such a level. Each may do what those before it may. */
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** What somebody may do, and where. */
export interface AccessRights {
  level: AccessLevel;
  /** Tenants that they may see and work on; null for all. */
  tenants: ReadonlySet<string> | null;
}

/** Whether someone with these rights may see a tenant; null: what concerns none, or all. */
export function maySee({ tenants }: AccessRights, tenant: string | null): boolean {
  return tenants === null || (tenant !== null && tenants.has(tenant));
}

/**
 * How a tenant is configured concerns others: whose clinic it is, and which clients it shares.
 * @throws MirrorError `guard`, code `not-allowed`
 */
export function requireAllTenants({ tenants }: AccessRights): void {
  if (tenants === null) return;
  throw new MirrorError('whoever may see some tenants alone may not change how they are configured', {
    ...{ actor: 'guard', code: 'not-allowed', retry: 'never' },
    remedy: 'ask an owner of all tenants',
  });
}
