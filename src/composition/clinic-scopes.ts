import type { TriggerEvent } from '../model/triggers.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import { compileMapping } from '../sync/mapping/compile.ts';
import { channelModule, needsPatient } from './reminders.ts';

/** Scopes that the clinic login needs: for what the tenant's targets show, for its reminders and triggers, and what the operator wants. */
export function clinicScopes(tenant: TenantConfiguration, prefix: string): string[] {
  const targets = [...tenant.targets.values()];
  const scopes = ['openid', 'offline_access', `${prefix}agenda`];
  const rules = [...(tenant.reminders?.rules.values() ?? [])];
  const namesTreatments = [...targets, ...rules].some(({ treatments }) => treatments !== 'all');
  if (namesTreatments || targets.some(({ fields }) => fields.includes('treatment'))) scopes.push(`${prefix}treatments`);
  const showsNames = targets.some(({ title }) => title === 'initials' || title === 'full');
  if (showsNames || remindsPatients(tenant)) scopes.push(`${prefix}patients`);
  const ofCrms = targets.flatMap((target) => scopesOfCrm(target, tenant.zone));
  scopes.push(...[...ofCrms, ...scopesOfTriggers(tenant), ...tenant.clinic.scopes].map((scope) => `${prefix}${scope}`));
  return [...new Set(scopes)];
}

/** What a target in a CRM reads beside appointments. */
function scopesOfCrm({ crm }: TargetConfiguration, zone: string): string[] {
  if (crm === undefined) return [];
  const { needs } = compileMapping(crm, zone, neverEvaluated);
  const scopes = ['patients'];
  if (crm.stream === 'invoices' || needs.invoices) scopes.push('invoices');
  if (needs.doctors) scopes.push('episodes');
  if (needs.treatment) scopes.push('treatments');
  return scopes;
}

const SCOPE_OF_EVENT: Readonly<Record<TriggerEvent, string>> = {
  'report.available': 'medicalreports',
  'invoice.issued': 'invoices',
  'appointment.booked': 'agenda',
  'appointment.moved': 'agenda',
  'appointment.cancelled': 'agenda',
};

/** The lists that receivers are told of. */
function scopesOfTriggers({ triggers }: TenantConfiguration): string[] {
  const endpoints = [...(triggers?.endpoints.values() ?? [])];
  return endpoints.flatMap(({ events }) => events.map((event) => SCOPE_OF_EVENT[event]));
}

async function neverEvaluated(): Promise<never> {
  throw new Error('a mapping was only to be looked at');
}

/** Whether a channel of reminders needs what stands with the patient. */
function remindsPatients({ reminders }: TenantConfiguration): boolean {
  const channels = [...(reminders?.channels.values() ?? [])];
  return channels.some((channel) => needsPatient(channelModule(channel.kind), channel));
}
