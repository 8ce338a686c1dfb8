import type { Invoice } from '../../model/records.ts';
import type { Lookup, Snapshot } from '../../model/snapshots.ts';
import type { ClinicContext } from '../http/context.ts';
import { createInvoiceDoctorNames } from './invoice-doctor-names.ts';
import { createInvoiceResolver } from './invoice-doctors.ts';
import { type ClinicRecord, createReadingCalls } from './reading-calls.ts';
import { readWhole } from './whole.ts';

/** Which invoices are wanted, and how much of them. */
export interface InvoiceQuery {
  /** Names of the doctors behind the lines: a call for each episode, at first, where links changed and after six hours. */
  withDoctors: boolean;
  /** Doctors are looked up for invoices of this date and later, `YYYY-MM-DD`; others have none. */
  doctorsFrom: string;
}

/** Invoices as a stream: without lines, whose texts tell what was done. */
export interface InvoiceReader {
  /** Every invoice; partial when the end of the list was not proved. Scope `invoices`; with doctors, `episodes` too. */
  readInvoices(tenantId: string, query: InvoiceQuery, signal: AbortSignal): Promise<Snapshot<Invoice>>;
  /** One invoice, with its doctors when they are wanted. */
  readInvoice(
    tenantId: string,
    id: string,
    query: Pick<InvoiceQuery, 'withDoctors'>,
    signal: AbortSignal,
  ): Promise<Lookup<Invoice>>;
}

/** Prepares the reader under the context's profile. */
export function createInvoiceReader(context: ClinicContext): InvoiceReader {
  const invoices = createReadingCalls(context, 'invoices');
  const resolve = createInvoiceResolver(createReadingCalls(context, 'episodes').read, context.clock);
  const names = createInvoiceDoctorNames(resolve, context.clock);

  async function invoiceOf(
    tenantId: string,
    record: ClinicRecord<'invoices'>,
    withDoctors: boolean,
    signal: AbortSignal,
  ): Promise<Invoice> {
    return { ...withoutLines(record), doctors: withDoctors ? await names.of(tenantId, record, signal) : [] };
  }

  return {
    async readInvoices(tenantId, { withDoctors, doctorsFrom }, signal) {
      const listed = await readWhole((read) => invoices.list(tenantId, [], read), signal);
      const records = new Map<string, Invoice>();
      for (const [id, record] of listed.records) {
        const wanted = withDoctors && record.issueDate !== null && record.issueDate >= doctorsFrom;
        records.set(id, await invoiceOf(tenantId, record, wanted, signal));
      }
      if (listed.completeness === 'complete') names.keepOnly(records);
      return { ...listed, records };
    },
    async readInvoice(tenantId, id, { withDoctors }, signal) {
      const answer = await invoices.read(tenantId, id, signal);
      return 'found' in answer ? { found: await invoiceOf(tenantId, answer.found, withDoctors, signal) } : answer;
    },
  };
}

function withoutLines(record: ClinicRecord<'invoices'>): Omit<Invoice, 'doctors'> {
  const { id, patientId, number, documentType, status, issueDate, currency, totalAmount, paidAmount } = record;
  return { id, patientId, number, documentType, status, issueDate, currency, totalAmount, paidAmount };
}
