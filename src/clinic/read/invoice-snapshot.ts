import type { Invoice } from '../../model/records.ts';
import type { Lookup, Snapshot } from '../../model/snapshots.ts';
import type { ClinicContext } from '../http/context.ts';
import type { RowMapper } from '../http/rows.ts';
import { invoice } from '../schema/billing.ts';
import type { Shape } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { createInvoiceDoctorNames } from './invoice-doctor-names.ts';
import { createInvoiceResolver, type LinkedInvoice } from './invoice-doctors.ts';
import { createReadingCalls } from './reading-calls.ts';
import { compileFields, compileRows } from './records.ts';
import { withTombstones } from './tombstones.ts';
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
  const invoices = createReadingCalls(context, 'invoices', context.compiled.of(compileInvoiceRows));
  const resolve = createInvoiceResolver(createReadingCalls(context, 'episodes').read, context.clock);
  const names = createInvoiceDoctorNames(resolve, context.clock);

  async function invoiceOf(
    tenantId: string,
    listed: ListedInvoice,
    withDoctors: boolean,
    signal: AbortSignal,
  ): Promise<Invoice> {
    const { items: _lines, ...told } = listed;
    return { ...told, doctors: withDoctors ? await names.of(tenantId, listed, signal) : [] };
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

/** What is read of a list: lines as far as they lead to doctors. */
type ListedInvoice = Omit<Invoice, 'doctors'> & LinkedInvoice;

const { linkedPractices } = invoice.items.shape;
const LISTED = { ...invoice, items: { ...invoice.items, shape: { linkedPractices } } } satisfies Shape;

function compileInvoiceRows(profile: ClinicProfile): RowMapper<ListedInvoice> {
  const { fields, words } = profile.invoices;
  const read = compileFields(LISTED, fields, profile, words);
  const map = compileRows(read.id, (row) => ({
    id: read.id(row),
    patientId: read.patientId(row),
    number: read.number(row),
    documentType: read.documentType(row),
    status: read.status(row),
    issueDate: read.issueDate(row),
    currency: read.currency(row),
    totalAmount: read.totalAmount(row),
    paidAmount: read.paidAmount(row),
    items: read.items(row),
  }));
  return withTombstones(profile.invoices, map);
}
