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
