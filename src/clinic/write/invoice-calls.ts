import { retried } from '../../core/http/retry.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';
import type { ClinicContext } from '../http/call.ts';
import { addressOf, downloadPdf, type PdfDownload, send } from '../http/call.ts';
import { clinicError, saysOutOfSequence } from '../http/errors.ts';
import { segmentsOf } from '../read/reading.ts';
import { type ClinicRecord, createReadingCalls, type ResourceCalls } from '../read/reading-calls.ts';
import type { RecordOf } from '../schema/fields.ts';
import { reimbursement } from '../schema/shapes.ts';
import { invoiceDuplicate, sameDecimal } from './natural-keys.ts';
import { createResourceCalls, once, type ResourceTools, recordGone } from './resource-calls.ts';
import { badValue, compileWriter } from './writing.ts';

type Invoice = ClinicRecord<'invoices'>;
type Section = ClinicRecord<'sections'>;
/** A reimbursement of an invoice. */
export type Reimbursement = Partial<RecordOf<typeof reimbursement>>;

/**
 * Runs work exclusively for one section of a tenant, over all processes. The work's signal aborts if exclusivity is lost or the caller
 * gives up.
 */
export type SerialiseSection = <Value>(
  key: { tenantId: string; sectionId: string },
  work: (signal: AbortSignal) => Promise<Value>,
  signal: AbortSignal,
) => Promise<Value>;

/** Calls of specification section 4.9. */
export interface InvoiceCalls extends ResourceCalls<Invoice> {
  /**
   * Creates an invoice, one at a time in each section (specification section 8). After an answer "out of sequence", the section is read and
   * the invoice is sent again, at most six times in total. After an ambiguous failure, the section's last number shows whether the invoice
   * was created.
   * @throws MirrorError `conflict`, code `out-of-sequence`: at once if the invoice's date or number cannot be the next;
   *   `remote`, ambiguous, if the outcome is unknown; `contract`, code `bad-value`, without a section
   */
  create(tenantId: string, values: Partial<Invoice>, signal: AbortSignal): Promise<Invoice>;
  /** Returns the PDF of an invoice as a stream, or null. */
  pdf(tenantId: string, id: string, signal: AbortSignal): Promise<PdfDownload | null>;
  /**
   * Adds reimbursements in one call. After an ambiguous failure, the invoice's reimbursements show whether the call succeeded.
   * @returns the invoice after the change
   * @throws MirrorError `conflict`: code `record-gone`, or `conflict` if the invoice's state does not allow reimbursements; `remote`, code
   *   `fate-unknown`, ambiguous, if only some reimbursements were added
   */
  addReimbursements(
    tenantId: string,
    id: string,
    values: readonly Reimbursement[],
    signal: AbortSignal,
  ): Promise<Invoice>;
}

/** Retries of an invoice that is out of sequence. */
const SEQUENCE_RULES = { tries: 6, firstWaitMs: 50, longestWaitMs: 3_000 };

/** Prepares the calls under the context's profile. */
export function createInvoiceCalls(context: ClinicContext, serialise: SerialiseSection): InvoiceCalls {
  const { profile } = context;
  const invoices = createResourceCalls(context, 'invoices');
  const { list, read, write, written } = invoices;
  const createAlone = createInSequence(context, invoices);
  const numbers = profile.invoices.numbers.flatMap((name) => /^reimbursements\.(.*)$/.exec(name)?.[1] ?? []);
  const writeReimbursement = compileWriter(reimbursement, profile.reimbursement.fields, profile, { numbers });

  return {
    list,
    read,
    async create(tenantId, values, signal) {
      const { sectionId } = values;
      if (typeof sectionId !== 'string') return badValue('sectionId');
      write(values);
      return serialise({ tenantId, sectionId }, (alone) => createAlone(tenantId, sectionId, values, alone), signal);
    },
    pdf: (tenantId, id, signal) =>
      downloadPdf(context, {
        label: 'clinic.invoices.pdf',
        url: addressOf(context, segmentsOf(context.profile, { list: 'invoices', tenantId }, id, 'pdf')),
        signal,
      }),
    async addReimbursements(tenantId, id, values, signal) {
      const label = 'clinic.invoices.addReimbursements';
      const url = addressOf(context, segmentsOf(context.profile, { list: 'invoices', tenantId }, id, 'reimbursements'));
      const rows = values.map((each) => writeReimbursement(each));
      // A single reimbursement is sent as an object. The form for several is unspecified (docs/design/unproved.md).
      const [body = {}, ...others] = rows;
      const now = async () => {
        const lookup = await read(tenantId, id, signal);
        return 'found' in lookup ? lookup.found : null;
      };
      const before = await now();
      if (before === null) throw recordGone(label);
      const attempt = async () =>
        written(
          'addReimbursements',
          await send(context, { label, url, method: 'POST', body: others.length === 0 ? body : rows, signal }),
          { tenantId, id, signal },
        );
      return once(attempt, async () => {
        const after = await now();
        return after !== null && areAdded(values, before, after, label) ? after : null;
      });
    },
  };
}

/** Creates the next invoice of a section. The caller must have exclusive access to the section. */
function createInSequence(
  context: ClinicContext,
  { list, write, written }: Pick<ResourceTools<Invoice, Partial<Invoice>>, 'list' | 'write' | 'written'>,
) {
  const { profile } = context;
  const sections = createReadingCalls(context, 'sections');

  async function sectionOf(tenantId: string, id: string, signal: AbortSignal): Promise<Section | null> {
    for await (const { records } of sections.list(tenantId, [], signal)) {
      const found = records.find((section) => section.id === id);
      if (found !== undefined) return found;
    }
    return null;
  }

  /** Sends an invoice once; null if it is out of sequence. */
  async function post(tenantId: string, values: Partial<Invoice>, signal: AbortSignal): Promise<Invoice | null> {
    const label = 'clinic.invoices.create';
    const url = addressOf(context, segmentsOf(context.profile, { list: 'invoices', tenantId }));
    const answer = await send(context, {
      label,
      url,
      method: 'POST',
      body: write(values),
      signal,
      accepts: (each) => saysOutOfSequence(each, profile),
    });
    return saysOutOfSequence(answer, profile) ? null : written('create', answer, { tenantId, id: null, signal });
  }

  return async function createAlone(
    tenantId: string,
    sectionId: string,
    values: Partial<Invoice>,
    signal: AbortSignal,
  ) {
    const section = () => sectionOf(tenantId, sectionId, signal);
    const attempt = async () => {
      const before = await section();
      if (before !== null && cannotBeNext(values, before)) throw outOfSequence('never');
      const find =
        before === null || before.lastNumber === null
          ? null
          : () => invoiceDuplicate(values, before, { section, invoices: () => list(tenantId, [], signal) });
      const made = await once(() => post(tenantId, values, signal), find);
      if (made !== null) return made;
      throw outOfSequence(typeof values.number === 'string' ? 'never' : 'later');
    };
    const waitMsAfter = (error: Error) =>
      error instanceof MirrorError && error.code === 'out-of-sequence' && error.retry !== 'never' ? 0 : null;
    return retried(attempt, { rules: SEQUENCE_RULES, waitMsAfter, signal });
  };
}

/** Returns whether the date is before the section's last date. A retry cannot succeed then. */
function cannotBeNext({ issueDate }: Partial<Invoice>, { lastDate }: Section): boolean {
  return typeof issueDate === 'string' && lastDate !== null && issueDate < lastDate;
}

/** @throws MirrorError `remote`, code `fate-unknown`, if only some reimbursements were added */
function areAdded(values: readonly Reimbursement[], before: Invoice, after: Invoice, label: string): boolean {
  const gained = values.map((each) => timesIn(after, each) - timesIn(before, each));
  const wanted = values.map((each) => values.filter((other) => isSame(other, each)).length);
  if (gained.every((count) => count <= 0)) return false;
  if (gained.every((count, index) => count >= (wanted[index] ?? 0))) return true;
  const remedy = message('clinic.reimbursements-partial.remedy');
  throw clinicError('fate-unknown', message('clinic.reimbursements-partial', { label }), { remedy });
}

function timesIn({ reimbursements }: Invoice, one: Reimbursement): number {
  return reimbursements.filter((each) => isSame(each, one)).length;
}

function isSame(one: Reimbursement, other: Reimbursement): boolean {
  const { amount = null, date = null, reference = null } = one;
  return (
    sameDecimal(amount, other.amount ?? null) &&
    date === (other.date ?? null) &&
    reference === (other.reference ?? null)
  );
}

/** @param retry whether the invoice may succeed after other invoices of the section */
function outOfSequence(retry: 'later' | 'never'): MirrorError {
  return clinicError('out-of-sequence', message('clinic.out-of-sequence'), {
    retry,
  });
}
