import type { ClinicContext } from './http/context.ts';
import { createInvoiceResolver, type ResolvedInvoice } from './read/invoices.ts';
import {
  type ClinicRecord,
  createAvailabilityCalls,
  createPriceListCalls,
  createReadingCalls,
} from './read/reading-calls.ts';
import { createAccountCalls } from './read/users.ts';
import { createAppointmentCalls } from './write/appointment-calls.ts';
import { createInvoiceCalls, type SerialiseSection } from './write/invoice-calls.ts';
import { episodeDuplicate, patientDuplicate } from './write/natural-keys.ts';
import { createReportCalls } from './write/report-calls.ts';
import { createResourceCalls } from './write/resource-calls.ts';

/** The clinic API resource by resource, every operation of specification section 4. */
export type ClinicApi = ReturnType<typeof createClinicApi>;

/**
 * Opens the API of one clinic login. Scopes are those of specification section 2.1; a call without its scope throws
 * `authorization`, code `missing-claim`, one that the user may not make `insufficient-permissions`.
 * @param serialise lets one invoice at a time be created in each section, over all processes
 */
export function createClinicApi(context: ClinicContext, serialise: SerialiseSection) {
  const account = createAccountCalls(context);
  const patients = createResourceCalls(context, 'patients', { twinOf: patientDuplicate });
  const episodes = createResourceCalls(context, 'episodes', { twinOf: episodeDuplicate });
  const resolve = createInvoiceResolver(episodes.read, context.clock);
  return {
    /** Who is connected. No scope. */
    userInfo: { read: account.userInfo },
    /** Any user with access to the tenant. */
    tenantInfo: { read: account.tenantInfo },
    /** Scope `patients`. */
    patients: { list: patients.list, read: patients.read, create: patients.create, update: patients.update },
    /** Scope `agenda`. */
    agendas: createReadingCalls(context, 'agendas'),
    /** Scope `agenda`. */
    appointments: createAppointmentCalls(context),
    /** Scope `agenda`. */
    availabilities: createAvailabilityCalls(context),
    /** Scope `treatments`. */
    treatments: createReadingCalls(context, 'treatments'),
    /** Scope `treatments`. */
    priceLists: createPriceListCalls(context),
    /** Scope `episodes`. */
    episodes: {
      list: episodes.list,
      read: episodes.read,
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
    locations: createReadingCalls(context, 'locations'),
    /** Numbering series; scope `invoices`. */
    sections: { list: createReadingCalls(context, 'sections').list },
    /** Scope `invoices`. */
    issuers: createReadingCalls(context, 'issuers'),
  };
}
