import type { Configuration, TargetConfiguration, TenantConfiguration } from './configuration.ts';
import { renderFaults } from './faults.ts';

/** What a configuration amounts to, as text for a terminal; tells no secret. Tenants that were set aside come last. */
export function renderConfigurationSummary(configuration: Configuration): string {
  const tenants = [...configuration.tenants.values()];
  const targetCount = tenants.reduce((sum, tenant) => sum + tenant.targets.size, 0);
  const counts = [counted(tenants.length, 'tenant'), counted(targetCount, 'target')];
  if (configuration.setAside.length > 0) counts.push(`${counted(configuration.setAside.length, 'tenant')} set aside`);
  const setAside = configuration.setAside.map((tenant) => `${tenant.id}: set aside, ${renderFaults(tenant.faults)}`);
  return [counts.join(', '), ...renderClients(configuration), ...tenants.map(renderTenant), ...setAside].join('\n\n');
}

function renderClients({ settings }: Configuration): string[] {
  const clinics = [...settings.clinicClients].map(([id, client]) => {
    return `clinic client ${id}: ${client.baseUrl}\n  profile ${client.profile}, ${allowance(client.budget)}`;
  });
  const googles = [...settings.googleClients].map(([id, client]) => `Google client ${id}: ${allowance(client.budget)}`);
  const microsofts = [...settings.microsoftClients].map(([id, client]) => {
    return `Microsoft client ${id}: ${allowance(client.budget)}`;
  });
  return [...clinics, ...googles, ...microsofts];
}

function allowance(budget: { requestsPerMinute: number; burst: number }): string {
  return `${budget.requestsPerMinute} requests a minute, ${budget.burst} at once`;
}

function renderTenant(tenant: TenantConfiguration): string {
  const head = `tenant ${tenant.id}: ${tenant.name}${tenant.paused ? ' (paused)' : ''}`;
  const clinicId =
    tenant.clinic.tenantId === null ? 'the only clinic of the login' : `clinic ${tenant.clinic.tenantId}`;
  const clinic = `  ${tenant.language}, ${tenant.zone}; clinic client ${tenant.clinic.client}, ${clinicId}`;
  return [head, clinic, ...[...tenant.targets.values()].flatMap(renderTarget)].join('\n');
}

function renderTarget(target: TargetConfiguration): string[] {
  const agendas = target.agendas === 'all' ? 'all agendas' : counted(target.agendas.length, 'agenda');
  const fields = target.fields.length === 0 ? 'no other fields' : target.fields.join(', ');
  return [
    `  target ${target.id}: ${target.connector} by ${target.connection}${target.paused ? ' (paused)' : ''}`,
    `    ${agendas}, ${target.window.pastDays} days back and ${target.window.futureDays} ahead`,
    `    title ${target.title}, ${fields}; first run: ${target.firstRun}`,
  ];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
