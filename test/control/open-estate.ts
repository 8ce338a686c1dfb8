import type { ConnectionStatus, Estate } from '../../src/control/estate.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import type { TenantSetAside } from '../../src/settings/configuration.ts';

/** What a test chooses of an estate. */
export interface EstateChoice {
  tenants: readonly OpenTenant[];
  connections?: readonly ConnectionStatus[];
  setAside?: readonly TenantSetAside[];
}

/** An estate over open tenants that remembers whom it was asked to pull. */
export function openEstate(choice: EstateChoice): Estate & { pulled: string[] } {
  const pulled: string[] = [];
  return {
    tenants: new Map(choice.tenants.map((tenant) => [tenant.id, tenant])),
    outlines: new Map(
      choice.tenants.map(({ id, configuration: { formerly = null }, reminders, triggers }) => {
        const triggersEveryMinutes = triggers?.file.everyMinutes ?? null;
        return [id, { formerly, hasReminders: reminders !== null, triggersEveryMinutes }];
      }),
    ),
    setAside: choice.setAside ?? [],
    connections: async () => [...(choice.connections ?? [])],
    epoch: {
      view: async () => ({
        durability: 'durable',
        directory: 'kept',
        wentBackAt: null,
        wentBackTo: null,
        writesLostAt: null,
      }),
    },
    reloads: async () => [],
    removed: { parts: async () => new Map(), tenants: async () => new Map(), keepMs: 0 },
    pullNow: async (tenant) => void pulled.push(tenant),
    clock: () => choice.tenants[0]?.clock() ?? 0,
    pulled,
  };
}
