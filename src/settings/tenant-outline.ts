import type { CalendarUse, TargetConfiguration, TenantConfiguration, TenantOutline } from './configuration.ts';
import { knownOutlines } from './crm-expressions.ts';

function expressionsOf(crm: TargetConfiguration['crm']): string[] {
  return [...(crm?.mapping.values() ?? [])].flatMap(({ expression }) => expression ?? []);
}

/** The outline of a whole configuration. */
export function outlineOf(tenant: TenantConfiguration, calendars: readonly CalendarUse[], hash: string): TenantOutline {
  const { id, name, zone, paused, formerly = null, clinic, targets, connections, reminders, triggers } = tenant;
  const all = [...targets.values()];
  return {
    id,
    name,
    zone,
    paused,
    formerly,
    clinic: { client: clinic.client, tenantId: clinic.tenantId, calendars },
    targets: all.map((target) => ({ id: target.id, formerly: target.formerly ?? null })),
    connections: [...connections.keys()],
    hasReminders: reminders !== undefined,
    triggersEveryMinutes: triggers?.everyMinutes ?? null,
    sensitive: all.flatMap((target) =>
      [...(target.crm?.sensitive ?? [])].map(([field, reason]) => ({ target: target.id, field, reason })),
    ),
    expressions: knownOutlines(all.flatMap(({ crm }) => expressionsOf(crm))),
    hash,
  };
}
