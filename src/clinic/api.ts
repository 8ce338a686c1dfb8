import { createAccountCalls } from './account-calls.ts';
import { createAppointmentCalls } from './appointment-calls.ts';
import { createAvailabilityCalls } from './availability-calls.ts';
import type { ClinicContext } from './context.ts';
import { createInvoiceCalls, type SerialiseSection } from './invoice-calls.ts';
import { createInvoiceResolver, type ResolvedInvoice } from './invoice-doctors.ts';
import { episodeTwin, patientTwin } from './natural-keys.ts';
import { createPriceListCalls } from './price-list-calls.ts';
import { createReportCalls } from './report-calls.ts';
import { type ClinicRecord, createResourceCalls, type ResourceCalls } from './resource-calls.ts';

/** The clinic API resource by resource, every operation of specification section 4. */
export type ClinicApi = ReturnType<typeof createClinicApi>;

/**
 * Opens the API of one clinic login. Scopes are those of specification section 2.1; a call without its scope throws
 * `authorization`, code `missing-claim`, one that the user may not make `insufficient-permissions`.
 * @param serialise lets one invoice at a time be created in each section, over all processes
 */
export function createClinicApi(context: ClinicContext, serialise: SerialiseSection) {
  const account = createAccountCalls(context);
  const patients = createResourceCalls(context, 'patients', { twinOf: patientTwin });
  const episodes = createResourceCalls(context, 'episodes', { twinOf: episodeTwin });
  const resolve = createInvoiceResolver(episodes.read, context.clock);
  return {
    /** Who is connected. No scope. */
    userInfo: { read: account.userInfo },
    /** Any user with access to the tenant. */
    tenantInfo: { read: account.tenantInfo },
    /** Scope `patients`. */
    patients: { ...reading(patients), create: patients.create, update: patients.update },
    /** Scope `agenda`. */
    agendas: reading(createResourceCalls(context, 'agendas')),
    /** Scope `agenda`. */
    appointments: createAppointmentCalls(context),
    /** Scope `agenda`. */
    availabilities: createAvailabilityCalls(context),
    /** Scope `treatments`. */
    treatments: reading(createResourceCalls(context, 'treatments')),
    /** Scope `treatments`. */
    priceLists: createPriceListCalls(context),
    /** Scope `episodes`. */
    episodes: {
      ...reading(episodes),
      create: episodes.create,
      update: episodes.update,
      remove: episodes.remove,
    },
    /** Scope `medicalreports`. */
    medicalReports: createReportCalls(context),
    /** Scope `invoices`. */
    invoices: {
      ...createInvoiceCalls(context, serialise),
      /** The doctors behind an invoice's lines; scope `episodes` too. Links that lead nowhere are told, not thrown. */
      resolve: (tenantId: string, invoice: ClinicRecord<'invoices'>, signal: AbortSignal): Promise<ResolvedInvoice> =>
        resolve(tenantId, invoice, signal),
    },
    /** Any user with access to the tenant. */
    locations: reading(createResourceCalls(context, 'locations')),
    /** Numbering series; scope `invoices`. */
    sections: { list: createResourceCalls(context, 'sections').list },
    /** Scope `invoices`. */
    issuers: reading(createResourceCalls(context, 'issuers')),
  };
}

function reading<Model>({ list, read }: ResourceCalls<Model>): ResourceCalls<Model> {
  return { list, read };
}
