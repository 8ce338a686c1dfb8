import { message, render } from '../messages/message.ts';
import type { Configuration, TargetConfiguration, TenantConfiguration } from './configuration.ts';
import { renderFaults } from './faults.ts';
import { closingOf, type OpenSecret } from './secret-reference.ts';

/** Renders a configuration for a terminal without secrets. Invalid tenants come last. */
export function renderConfigurationSummary(configuration: Configuration): string {
  const tenants = [...configuration.tenants.values()];
  const targetCount = tenants.reduce((sum, tenant) => sum + tenant.targets.size, 0);
  const counts = [counted(tenants.length, 'tenant'), counted(targetCount, 'target')];
  if (configuration.unusable.length > 0) counts.push(`${counted(configuration.unusable.length, 'tenant')} set aside`);
  const invalid = configuration.unusable.map((tenant) => `${tenant.id}: set aside, ${renderFaults(tenant.faults)}`);
  return [
    counts.join(', '),
    ...renderClients(configuration),
    ...tenants.map((tenant) => renderTenant(tenant, configuration.managed.has(tenant.id))),
    ...invalid,
  ].join('\n\n');
}

/** Renders the warning for a secret file that all users of the host can read. Null: of the settings. */
export function renderOpenSecret({ tenant, ...secret }: OpenSecret & { tenant: string | null }): string {
  const where = tenant === null ? secret.at : `${secret.at} of tenant ${tenant}`;
  return `warning: ${render(message('secret-readable', { place: where }))}\n  ${closingOf(secret)}`;
}

function renderClients({ settings }: Configuration): string[] {
  const clinics = [...settings.clinicClients].map(([id, client]) => {
    return `clinic client ${id}: ${client.baseUrl}\n  profile ${client.profile}, ${allowance(client.budget)}`;
  });
  const named = (what: string, clients: ReadonlyMap<string, { budget: Budget }>) =>
    [...clients].map(([id, { budget }]) => `${what} client ${id}: ${allowance(budget)}`);
  return [
    ...clinics,
    ...named('Google', settings.googleClients),
    ...named('Microsoft', settings.microsoftClients),
    ...named('HubSpot', settings.hubspotClients),
    ...named('Salesforce', settings.salesforceClients),
    ...named('OAuth', settings.oauthClients),
  ];
}

interface Budget {
  requestsPerMinute: number;
  burst: number;
}

function allowance(budget: Budget): string {
  return `${budget.requestsPerMinute} requests a minute, ${budget.burst} at once`;
}

function renderTenant(tenant: TenantConfiguration, isManaged: boolean): string {
  const words = [...(tenant.paused ? ['paused'] : []), ...(isManaged ? ['managed'] : [])];
  const head = `tenant ${tenant.id}: ${tenant.name}${words.length === 0 ? '' : ` (${words.join(', ')})`}`;
  const clinicId =
    tenant.clinic.tenantId === null ? 'the only clinic of the login' : `clinic ${tenant.clinic.tenantId}`;
  const clinic = `  ${tenant.language}, ${tenant.zone}; clinic client ${tenant.clinic.client}, ${clinicId}`;
  return [head, clinic, ...[...tenant.targets.values()].flatMap(renderTarget)].join('\n');
}

function renderTarget(target: TargetConfiguration): string[] {
  const head = `  target ${target.id}: ${target.connector} by ${target.connection}${target.paused ? ' (paused)' : ''}`;
  if (target.crm !== undefined) return [head, ...renderCrm(target.crm), `    first run: ${target.firstRun}`];
  const agendas = target.agendas === 'all' ? 'all agendas' : counted(target.agendas.length, 'agenda');
  const fields = target.fields.length === 0 ? 'no other fields' : target.fields.join(', ');
  return [
    head,
    `    ${agendas}, ${target.window.pastDays} days back and ${target.window.futureDays} ahead`,
    `    title ${target.title}, ${fields}; first run: ${target.firstRun}`,
  ];
}

function renderCrm({ stream, consents, mapping, sensitive }: NonNullable<TargetConfiguration['crm']>): string[] {
  const agreed = consents.length === 0 ? 'whether they agreed or not' : `who agreed to ${consents.join(', ')}`;
  const allowed = [...sensitive.keys()];
  const sensitivity = allowed.length === 0 ? 'nothing sensitive' : `sensitive: ${allowed.join(', ')}`;
  const whom = stream === 'patients' ? `patients ${agreed}` : `${stream} of the contacts' patients`;
  return [`    ${whom}`, `    properties: ${mapping.size}, ${sensitivity}`];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
